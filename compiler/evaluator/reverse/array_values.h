// The arrays of a program in float64, all of them kept.
#ifndef ATTNC_COMPILER_EVALUATOR_REVERSE_ARRAY_VALUES_H
#define ATTNC_COMPILER_EVALUATOR_REVERSE_ARRAY_VALUES_H

#include "compiler/evaluator/float64/reduction.h"

namespace attnc::evaluator {

/// Evaluates the ops of a program in order, without bounds of errors, and keeps what they compute.
/// A map that one sum, or one map over the same dims, uses alone is not stored but expanded there.
class ArrayValues {
public:
  /// `inputs` and `memory` outlive the values.
  ArrayValues(attn::ProgramOp program, const EvalInputs &inputs,
              std::map<std::string, int64_t> extents, Memory &memory);

  /// Computes all arrays. Errors: as evaluate, and ops that are not of attn.
  llvm::Error compute();

  const Tensor &tensor(mlir::Value array) const { return arrays.find(array)->second; }
  /// The map that computes `array` if it is to be expanded in place, or null.
  attn::MapOp expanded(mlir::Value array) const;
  Space spaceOf(llvm::ArrayRef<mlir::StringAttr> dims) const;
  /// What is left of the dims of `array` without `reduced`, and `reduced` itself.
  std::pair<Space, Space> keptAndReduced(mlir::Value array, mlir::ArrayAttr reduced) const;

private:
  using Result = llvm::Expected<Tensor>;

  llvm::Error computeOp(mlir::Operation &op);
  llvm::Error checkRequire(attn::RequireOp require);
  Result valueOf(mlir::Operation &op);
  Result scalar(ElementKind kind, double value);
  Result paramValue(attn::ParamOp param);
  Result indexValue(attn::IndexOp index);
  Result readValue(attn::ReadOp read);
  Result mapValue(attn::MapOp map);
  Result reduceValue(attn::ReduceOp reduce);
  Result sumValue(attn::ReduceOp reduce);
  Result softmaxValue(attn::SoftmaxOp softmax);
  bool isExpanded(attn::MapOp map) const;

  attn::ProgramOp program;
  const EvalInputs &inputs;
  std::map<std::string, int64_t> extents;
  Memory &memory;
  llvm::DenseMap<mlir::Value, Tensor> arrays;
  llvm::DenseMap<mlir::Value, unsigned> expandedDepth; // of the maps that are not stored
};

/// A fresh tensor of zeros over `space`, without room for errors.
llvm::Expected<Tensor> makeZeros(Memory &memory, const Space &space, ElementKind kind);

/// True of sums and means of reals, which walk the elements of their operand once and keep none.
bool isSum(attn::ReduceOp reduce);

/// Where the rows of `array` begin and where their elements lie beyond that.
struct RowOffsets {
  RowOffsets(const Tensor &array, const Space &kept, const Space &reduced);
  std::vector<int64_t> rows, elements;
};

/// The elements of the row of `from` that begins at `row`.
template <class T>
void gatherRow(const T *from, int64_t row, llvm::ArrayRef<int64_t> elements, std::vector<T> &to) {
  to.resize(elements.size());
  for (auto [element, offset] : llvm::zip_equal(to, elements))
    element = from[row + offset];
}

} // namespace attnc::evaluator

#endif
