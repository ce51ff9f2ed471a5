#include "compiler/evaluator/float64/read.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

int64_t extentOf(const Space &space, StringAttr dim) {
  return space.shape[llvm::find(space.dims, dim) - space.dims.begin()];
}

bool isView(const Subscript &subscript, const Space &result) {
  return subscript.dim && !subscript.sample && extentOf(result, subscript.dim) <= subscript.extent;
}

/// The same elements under other strides; axes that one dim subscripts twice give a diagonal.
Tensor viewOf(const Tensor &source, ArrayRef<Subscript> subscripts, const Space &result) {
  Tensor view = source;
  view.dims = result.dims;
  view.shape = result.shape;
  view.strides.assign(result.dims.size(), 0);
  for (const Subscript &subscript : subscripts)
    view.strides[llvm::find(result.dims, subscript.dim) - result.dims.begin()] +=
        subscript.sourceStride;
  return view;
}

struct OutsideRead {
  size_t axis;
  int64_t index;
};

class Gather {
public:
  Gather(const Tensor &source, ArrayRef<Subscript> subscripts, const Space &result,
         std::optional<double> otherwise)
      : source(source), subscripts(subscripts), result(result), otherwise(otherwise) {
    for (const Subscript &subscript : subscripts) {
      Extents strides;
      for (StringAttr dim : result.dims)
        strides.push_back(subscript.dim ? dim == subscript.dim : subscript.index.strideOf(dim));
      strideLists.push_back(std::move(strides));
    }
  }

  /// Fills the elements [begin, end); the first read outside that has no other value, if any.
  std::optional<OutsideRead> run(Storage &out, int64_t begin, int64_t end) const {
    // Where each axis' subscript lies: the position along its dim, or an offset into its index.
    SmallVector<int64_t, 6> places(subscripts.size(), 0);
    Extents position(result.shape.size(), 0);
    int64_t rest = begin;
    for (size_t axis = result.shape.size(); axis-- > 0; rest /= result.shape[axis]) {
      position[axis] = rest % result.shape[axis];
      move(places, axis, position[axis]);
    }
    for (int64_t at = begin; at < end; ++at) {
      if (std::optional<OutsideRead> outside = readOne(out, at, places))
        return outside;
      for (size_t axis = result.shape.size(); axis-- > 0;) {
        move(places, axis, 1);
        if (++position[axis] < result.shape[axis])
          break;
        move(places, axis, -position[axis]);
        position[axis] = 0;
      }
    }
    return std::nullopt;
  }

private:
  void move(SmallVectorImpl<int64_t> &places, size_t dim, int64_t by) const {
    for (auto [place, strides] : llvm::zip_equal(places, strideLists))
      place += strides[dim] * by;
  }

  std::optional<OutsideRead> readOne(Storage &out, int64_t at, ArrayRef<int64_t> places) const {
    int64_t offset = 0;
    bool inside = true, doubtful = false;
    for (auto [axis, subscript] : llvm::enumerate(subscripts)) {
      int64_t index = places[axis];
      if (!subscript.dim) {
        doubtful |= subscript.index.error && subscript.index.error[index] > 0;
        index = subscript.index.integer[index];
      } else if (subscript.sample) {
        index = (*subscript.sample)[index];
      }
      if (index < 0 || index >= subscript.extent) {
        if (!otherwise)
          return OutsideRead{axis, index};
        inside = false;
      } else {
        offset += index * subscript.sourceStride;
      }
    }
    if (source.kind == ElementKind::Real)
      out.value[at] = inside ? source.value[offset] : *otherwise;
    else
      out.integer[at] = inside ? source.integer[offset] : truncated({*otherwise, 0}).value;
    if (doubtful || (inside && source.error))
      out.error[at] = doubtful ? kUnknown : source.error[offset];
    return std::nullopt;
  }

  const Tensor &source;
  ArrayRef<Subscript> subscripts;
  const Space &result;
  std::optional<double> otherwise;
  std::vector<Extents> strideLists; // for each subscript, its stride along each dim of the result
};

} // namespace

llvm::Expected<Tensor> readAt(Workplace work, const Tensor &source, ArrayRef<Subscript> subscripts,
                              const Space &result, std::optional<double> otherwise) {
  if (llvm::all_of(subscripts, [&](const Subscript &s) { return isView(s, result); }))
    return viewOf(source, subscripts, result);
  llvm::Expected<Tensor> out = makeTensor(work.memory, result.dims, result.shape, source.kind);
  if (!out)
    return out;
  Gather gather(source, subscripts, result, otherwise);
  std::atomic<bool> failed = false;
  OutsideRead first{};
  parallelFor(result.size(), kChunk, work.threads, [&](int64_t begin, int64_t end) {
    std::optional<OutsideRead> outside = gather.run(*out->storage, begin, end);
    if (outside && !failed.exchange(true))
      first = *outside;
  });
  if (failed)
    return llvm::createStringError(
        "reads index %lld of axis %zu, whose extent is %lld, and it has no value for that",
        static_cast<long long>(first.index), first.axis,
        static_cast<long long>(subscripts[first.axis].extent));
  dropZeroErrors(*out);
  out->narrowUnit = source.narrowUnit;
  out->narrowFloor = source.narrowFloor;
  out->isRead = source.isRead;
  return out;
}

} // namespace attnc::evaluator
