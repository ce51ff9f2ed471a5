// The states of a pass while folds join it, and what is said of them.
#ifndef ATTNC_COMPILER_TRANSFORMS_FUSION_PASS_STATES_H
#define ATTNC_COMPILER_TRANSFORMS_FUSION_PASS_STATES_H

#include "compiler/transforms/algebra/terms.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/fusion/partition.h"

namespace attnc {

/// "i, j"
std::string listDims(llvm::ArrayRef<mlir::StringAttr> dims);

/// The place of `loc`, and the name of `value` with `suffix` if it has one.
mlir::Location namedAfter(mlir::Value value, llvm::StringRef suffix, mlir::Location loc);

/// Replaces a fold that a pass computes by other states.
void replaceFold(red::FoldOp fold, mlir::Value value);

/// Makes states, each once: one that the pass has already is used again.
class PassStates {
public:
  PassStates(attn::ProgramOp program, Pass &pass) : program(program), pass(pass) {}

  /// The running maximum of an exponent.
  mlir::Value runningMax(mlir::OpBuilder &b, mlir::Value exponent);
  mlir::Value makeState(mlir::OpBuilder &b, red::FoldKind kind, llvm::ArrayRef<mlir::Value> factors,
                        mlir::Value exponent, mlir::Value reference, mlir::Location loc);
  /// The moment of `sum` about `centre` whose lower ones are given.
  mlir::Value makeMoment(mlir::OpBuilder &b, red::FoldOp sum, mlir::Value base, mlir::Value centre,
                         llvm::ArrayRef<mlir::Value> lower, mlir::Location loc);
  /// 1 for each element of the stream.
  mlir::Value ones(mlir::OpBuilder &b, red::FoldOp fold);

  /// Says by which rule the pass computes `fold`; once.
  void record(derivation::Rule rule, red::FoldOp fold,
              std::map<std::string, std::string> details = {});
  void recordState(red::FoldOp fold);
  void recordCut(red::FoldOp fold, const Refusal &why);

  /// Why a fold over the same dims, but with other parallel dims than the pass, cannot join it.
  static Refusal whyApart(red::FoldOp fold, llvm::ArrayRef<mlir::StringAttr> own,
                          llvm::ArrayRef<mlir::StringAttr> ofPass);

  /// Why a fold that waits for `last` cannot join this pass, which ends before that begins.
  Refusal whyLate(red::FoldOp fold, const Pass &last);

  /// Why a fold that takes results of this pass and is over other dims cannot join it.
  Refusal whyApart(red::FoldOp fold);

  attn::ProgramOp program;
  Pass &pass;
  red::FoldOp joined; ///< the sum that states are made for, if what it cancels along is theirs, too

private:
  attn::ArrayType stateType(mlir::OpBuilder &b, llvm::ArrayRef<mlir::Value> arrays);
  mlir::Value known(red::FoldOp state);
};

} // namespace attnc

#endif
