// The offsets of a strided array's elements, in the order of a walk.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_CURSOR_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_CURSOR_H

#include "compiler/evaluator/tensor.h"

namespace attnc::evaluator {

/// Walks the offsets of a strided array under a box of points, a run of the innermost dim at a
/// time.
class Cursor {
public:
  Cursor(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, int64_t start)
      : shape(shape), strides(strides), position(shape.size()) {
    for (size_t axis = shape.size(); axis-- > 0; start /= shape[axis]) {
      position[axis] = start % shape[axis];
      offset += position[axis] * strides[axis];
    }
  }

  /// Calls `body(done, offset, stride, count)` for runs that make up the next `count` elements.
  template <class Body> void runs(int64_t count, Body body) {
    if (shape.empty())
      return body(int64_t(0), offset, int64_t(0), count);
    size_t last = shape.size() - 1;
    for (int64_t done = 0; done < count;) {
      int64_t run = std::min(count - done, shape[last] - position[last]);
      body(done, offset, strides[last], run);
      done += run;
      advance(run);
    }
  }

private:
  void advance(int64_t run) {
    size_t axis = shape.size() - 1;
    position[axis] += run;
    offset += run * strides[axis];
    while (position[axis] == shape[axis] && axis > 0) {
      offset -= position[axis] * strides[axis];
      position[axis] = 0;
      --axis;
      ++position[axis];
      offset += strides[axis];
    }
  }

  llvm::ArrayRef<int64_t> shape, strides;
  Extents position;
  int64_t offset = 0;
};

/// Copies a run of `count` elements that lie `stride` apart.
template <class T> void copyRun(T *to, const T *from, int64_t stride, int64_t count) {
  if (stride == 1)
    std::copy_n(from, count, to);
  else if (stride == 0)
    std::fill_n(to, count, *from);
  else
    for (int64_t i = 0; i < count; ++i)
      to[i] = from[i * stride];
}

} // namespace attnc::evaluator

#endif
