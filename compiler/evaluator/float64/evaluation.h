// One evaluation of a program: the arrays that are alive, and how each op makes one.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_EVALUATION_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_EVALUATION_H

#include "compiler/evaluator/float64/contraction.h"
#include "compiler/evaluator/float64/domain_check.h"
#include "compiler/evaluator/tolerance/perturbation.h"
#include "dialects/Red/Red.h"

namespace attnc::evaluator {

/// Evaluates the ops of a program in order. A map that only reductions (or one map over the same
/// dims) use is not stored but expanded where it is used; an array is freed after its last use.
class Evaluation final : ArraySource {
public:
  Evaluation(attn::ProgramOp program, const EvalInputs &inputs, const EvalOptions &options,
             std::map<std::string, int64_t> extents,
             std::optional<Perturbation> perturbation = std::nullopt);

  llvm::Expected<Outputs> run();

private:
  using Result = llvm::Expected<Tensor>;

  llvm::Error evaluateBlock(mlir::Block &block);
  llvm::Error evaluateOp(mlir::Operation &op);
  llvm::Error evaluateNest(red::NestOp nest);
  llvm::Error evaluateDomain(red::NestOp nest);
  /// Checks what `op`, in the body of a nest with a domain, contributes, against that domain.
  llvm::Error checkDomain(mlir::Operation &op);
  llvm::Error checkState(red::FoldOp fold);
  llvm::Error checkFullTiles(attn::MapOp map);
  llvm::Error checkArithmetic(attn::RequireOp require);
  llvm::Error checkRequire(attn::RequireOp require);
  llvm::Error storeOutput(attn::OutputOp output);

  Result compute(mlir::Operation &op);
  Result computeParam(attn::ParamOp param);
  Result computeIndex(attn::IndexOp index);
  Result computeRead(attn::ReadOp read);
  Result computePack(red::PackOp pack);
  Result computeMap(attn::MapOp map, mlir::Value scalar);
  std::vector<NarrowFactor> narrowFactorsOf(attn::MapOp map) const;
  Result computeReduce(attn::ReduceOp reduce);
  Result computeSoftmax(attn::SoftmaxOp softmax);
  Result computeFold(red::FoldOp fold);
  Result reduceValue(mlir::Value operand, attn::ReduceKind kind, const Space &kept,
                     const Space &reduced);
  Result scalar(ElementKind kind, double value);

  /// The factors of a map's product as arrays, or nothing if one of them spans the whole `space`
  /// and would have to be stored.
  llvm::Expected<std::optional<std::vector<Tensor>>> factorsOf(attn::MapOp map, const Space &space);

  /// The factor of `fold` that is a 16-bit operand of tensor cores, as scheduled, if f32 is
  /// emulated: the other factors are then rounded to its type.
  std::optional<size_t> narrowPartner(red::FoldOp fold, llvm::ArrayRef<Tensor> factors) const;

  bool isExpanded(attn::MapOp map) const;
  const Tensor &tensor(mlir::Value value) const override;
  attn::MapOp expanded(mlir::Value value) const override;
  const DimSet &reducedBefore(mlir::Value value) const override { return reducedDims.of(value); }
  const Tensor *contestOf(mlir::Value extremum, mlir::Value of) const override;
  /// Finds where an extremum of floats that is compared with its own elements is contested.
  llvm::Error findContest(attn::ReduceOp extremum, const Space &kept, const Space &reduced);
  llvm::Expected<ScalarProgram> programOf(mlir::Value array);

  /// The space of `dims`; the extent of a sampled dim is the number of its samples.
  Space spaceOf(llvm::ArrayRef<mlir::StringAttr> dims) const;
  llvm::Expected<Space> reducedSpace(mlir::Operation *op, mlir::ArrayAttr dims) const;
  const std::vector<int64_t> *sampleOf(mlir::StringAttr dim) const;

  /// Counts one use less; after the last one the array is freed.
  void release(mlir::Value value);

  attn::ProgramOp program;
  const EvalInputs &inputs;
  const EvalOptions &options;
  std::map<std::string, int64_t> extents;
  std::optional<Perturbation> perturbation;
  uint64_t computed = 0; // arrays so far
  Memory memory;
  Workplace work;
  std::optional<DomainCheck> domain; // of the nest that is being evaluated
  mutable ReducedDims reducedDims;
  llvm::DenseMap<mlir::Value, Tensor> arrays;
  llvm::DenseMap<mlir::Value, Tensor> contests; // of the extrema that findContest has met
  llvm::DenseMap<mlir::Value, unsigned> remainingUses;
  llvm::DenseMap<mlir::Value, unsigned> expandedDepth; // of the maps that are not stored
  Outputs outputs;
};

} // namespace attnc::evaluator

#endif
