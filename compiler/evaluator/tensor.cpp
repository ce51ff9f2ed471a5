#include "compiler/evaluator/tensor.h"

#include <thread>

using namespace mlir;

namespace attnc::evaluator {

int64_t Array::size() const { return product(shape); }

llvm::Error Memory::take(uint64_t bytes) {
  if ((used += bytes) <= limit)
    return llvm::Error::success();
  used -= bytes;
  return llvm::createStringError(
      "the reference needs %llu MiB for one more array beside the %llu MiB in use, and its limit "
      "is %llu MiB: evaluate smaller extents, or sample a dim",
      static_cast<unsigned long long>(bytes >> 20),
      static_cast<unsigned long long>(used.load() >> 20),
      static_cast<unsigned long long>(limit >> 20));
}

int64_t product(ArrayRef<int64_t> extents) {
  int64_t n = 1;
  for (int64_t extent : extents)
    n *= extent;
  return n;
}

int64_t Tensor::size() const { return product(shape); }

int64_t Tensor::strideOf(StringAttr dim) const {
  for (auto [d, stride] : llvm::zip_equal(dims, strides))
    if (d == dim)
      return stride;
  return 0;
}

Extents rowMajor(ArrayRef<int64_t> shape) {
  Extents strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

llvm::Expected<Tensor> makeTensor(Memory &memory, ArrayRef<StringAttr> dims,
                                  ArrayRef<int64_t> shape, ElementKind kind) {
  // In floating point: the number of elements itself may exceed 64 bits.
  double wanted = 16;
  for (int64_t extent : shape)
    wanted *= static_cast<double>(extent);
  if (wanted > 0x1p60)
    return llvm::createStringError("the reference cannot hold an array of 2^60 bytes or more");
  uint64_t count = product(shape);
  if (llvm::Error error = memory.take(16 * count))
    return error;
  Tensor tensor;
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.strides = rowMajor(shape);
  tensor.kind = kind;
  tensor.storage.reset(new Storage{memory, 16 * count, {}, {}, std::vector<double>(count), {}});
  if (kind == ElementKind::Real)
    tensor.storage->value.resize(count);
  else
    tensor.storage->integer.resize(count);
  tensor.value = tensor.storage->value.data();
  tensor.integer = tensor.storage->integer.data();
  tensor.error = tensor.storage->error.data();
  return tensor;
}

llvm::Error addGross(Tensor &tensor) {
  Storage &storage = *tensor.storage;
  uint64_t bytes = 8 * storage.value.size();
  if (llvm::Error error = storage.memory.take(bytes))
    return error;
  storage.bytes += bytes;
  storage.gross.resize(storage.value.size());
  tensor.gross = storage.gross.data();
  return llvm::Error::success();
}

void dropZeroErrors(Tensor &tensor) {
  std::vector<double> &error = tensor.storage->error;
  if (llvm::any_of(error, [](double e) { return e != 0; }))
    return;
  uint64_t bytes = 8 * error.size();
  std::vector<double>().swap(error);
  tensor.error = nullptr;
  tensor.storage->bytes -= bytes;
  tensor.storage->memory.release(bytes);
}

std::vector<int64_t> offsetsOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  std::vector<int64_t> offsets{0};
  for (auto [extent, stride] : llvm::zip_equal(shape, strides)) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * extent);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < extent; ++i)
        next.push_back(offset + i * stride);
    offsets.swap(next);
  }
  return offsets;
}

ElementKind kindOf(Type element) {
  if (element.isInteger(1))
    return ElementKind::Bool;
  return isa<IntegerType>(element) ? ElementKind::Whole : ElementKind::Real;
}

void parallelFor(int64_t count, int64_t grain, unsigned threads,
                 llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t pieces = (count + grain - 1) / grain;
  int64_t workers = std::min<int64_t>(threads, pieces);
  if (workers <= 1) {
    if (count > 0)
      body(0, count);
    return;
  }
  auto bound = [&](int64_t w) { return std::min(count, pieces * w / workers * grain); };
  std::vector<std::thread> running;
  for (int64_t w = 1; w < workers; ++w)
    running.emplace_back([&, w] { body(bound(w), bound(w + 1)); });
  body(0, bound(1));
  for (std::thread &thread : running)
    thread.join();
}

} // namespace attnc::evaluator
