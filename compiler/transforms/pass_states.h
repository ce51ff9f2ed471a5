// The states of a pass while folds join it, and what is said of them.
#ifndef ATTNC_COMPILER_TRANSFORMS_PASS_STATES_H
#define ATTNC_COMPILER_TRANSFORMS_PASS_STATES_H

#include "compiler/transforms/partition.h"
#include "compiler/transforms/terms.h"

namespace attnc {

/// "i, j"
std::string listDims(llvm::ArrayRef<mlir::StringAttr> dims);

/// The spec's name of a value.
std::string nameOf(mlir::Value value, llvm::StringRef otherwise);

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

  /// Says how the pass was derived; once.
  void note(std::string text);
  void noteState(red::FoldOp fold);
  void noteTerm(red::FoldOp fold, const Term &term, mlir::Value exponent, mlir::Value reference);

  attn::ProgramOp program;
  Pass &pass;

private:
  attn::ArrayType stateType(mlir::OpBuilder &b, llvm::ArrayRef<mlir::Value> arrays);
  mlir::Value known(red::FoldOp state);
};

} // namespace attnc

#endif
