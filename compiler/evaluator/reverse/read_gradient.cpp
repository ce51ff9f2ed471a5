#include "compiler/evaluator/reverse/read_gradient.h"

#include <optional>

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// An axis with the stride of its selector along each dim of the result.
struct Axis {
  const AxisSelector &selector;
  Extents strides;

  Axis(const AxisSelector &selector, const Space &result) : selector(selector) {
    for (StringAttr dim : result.dims)
      strides.push_back(selector.dim ? dim == selector.dim : selector.index.strideOf(dim));
  }

  /// The index along the axis at a position of the result.
  int64_t at(ArrayRef<int64_t> position) const {
    int64_t place = 0;
    for (auto [stride, index] : llvm::zip_equal(strides, position))
      place += stride * index;
    return selector.dim ? place : selector.index.integer[place];
  }
};

/// Where the element is that is read at a position, or nothing if that is outside.
std::optional<int64_t> offsetAt(ArrayRef<Axis> axes, ArrayRef<int64_t> position) {
  int64_t offset = 0;
  for (const Axis &axis : axes) {
    int64_t index = axis.at(position);
    if (index < 0 || index >= axis.selector.extent)
      return std::nullopt;
    offset = offset * axis.selector.extent + index;
  }
  return offset;
}

/// The next position in row-major order.
void advance(Extents &position, ArrayRef<int64_t> shape) {
  for (size_t axis = shape.size(); axis-- > 0; position[axis] = 0)
    if (++position[axis] < shape[axis])
      return;
}

} // namespace

void addReadGradient(ArrayRef<AxisSelector> selectors, const Space &result, ArrayRef<double> g,
                     MutableArrayRef<double> sums) {
  SmallVector<Axis> axes;
  for (const AxisSelector &selector : selectors)
    axes.emplace_back(selector, result);
  Extents position(result.shape.size(), 0);
  for (double adjoint : g) {
    if (std::optional<int64_t> offset = offsetAt(axes, position))
      sums[*offset] += adjoint;
    advance(position, result.shape);
  }
}

} // namespace attnc::evaluator
