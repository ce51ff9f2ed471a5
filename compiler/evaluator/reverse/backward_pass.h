// The sweep back over a program's ops: each hands the adjoint of its result on to its operands.
#ifndef ATTNC_COMPILER_EVALUATOR_REVERSE_BACKWARD_PASS_H
#define ATTNC_COMPILER_EVALUATOR_REVERSE_BACKWARD_PASS_H

#include "compiler/evaluator/reverse/adjoints.h"

namespace attnc::evaluator {

class BackwardPass {
public:
  BackwardPass(attn::ProgramOp program, const ArrayValues &values, Adjoints &adjoints)
      : program(program), values(values), adjoints(adjoints) {}

  /// From the outputs, whose adjoints are `cotangents`, to the inputs and params. Fails on an op
  /// without a derivative and on the limit of memory.
  llvm::Error run(const std::map<std::string, Array> &cotangents);

private:
  llvm::Error passOutput(attn::OutputOp output, const Array &cotangent);
  llvm::Error passOn(mlir::Operation &op, const Tensor &g);
  llvm::Error passMap(attn::MapOp map, const Tensor &g);
  llvm::Error passSum(attn::ReduceOp reduce, const Tensor &g);
  llvm::Error passReduce(attn::ReduceOp reduce, const Tensor &g);
  llvm::Error passSoftmax(attn::SoftmaxOp softmax, const Tensor &g);
  llvm::Error passRead(attn::ReadOp read, const Tensor &g);

  /// Adds `gradient` to the row of `adjoint` that begins at `row`.
  void addRow(const Tensor &adjoint, int64_t row, llvm::ArrayRef<int64_t> elements,
              llvm::ArrayRef<double> gradient);

  attn::ProgramOp program;
  const ArrayValues &values;
  Adjoints &adjoints;
};

} // namespace attnc::evaluator

#endif
