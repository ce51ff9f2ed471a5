#include "tools/attnc/input/tensor_files.h"
#include "tools/attnc/output/failure.h"
#include "tools/attnc/output/terminal.h"

#include <filesystem>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

/// Converts element by element; an integer must keep its value.
driver::HostTensor convert(const std::string &input, const NpyArray &array, DType dtype) {
  driver::HostTensor tensor{dtype, array.shape, {}};
  size_t from = dtypeSize(array.dtype), to = dtypeSize(dtype);
  tensor.data.resize(array.elements() * to);
  for (int64_t i = 0; i < array.elements(); ++i) {
    double value = loadElement(array.dtype, array.data.data() + i * from);
    storeElement(dtype, value, tensor.data.data() + i * to);
    if (!isFloat(dtype) && loadElement(dtype, tensor.data.data() + i * to) != value)
      throw Failure(
          Usage, fmt::format("--input {}: {} does not fit in {}", input, value, dtypeName(dtype)));
  }
  return tensor;
}

} // namespace

driver::HostTensor readTensor(const std::string &input, const std::string &path, DType dtype) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) || std::filesystem::is_directory(path, error))
    throw Failure(Usage, fmt::format("--input {}: there is no file '{}'", input, path));
  NpyArray array = orFail(readNpy(path));
  if (array.dtype == dtype)
    return {dtype, std::move(array.shape), std::move(array.data)};
  if (isFloat(array.dtype) != isFloat(dtype))
    throw Failure(Usage,
                  fmt::format("--input {}: {} holds {}, and the spec says {}", input, path,
                              dtypeName(array.dtype), dtypeName(dtype)),
                  "convert the array, or change the type in the spec (--set for a named type)");
  note(fmt::format("input {} is converted from {} to {}", input, dtypeName(array.dtype),
                   dtypeName(dtype)));
  return convert(input, array, dtype);
}

void writeTensor(const std::string &output, const std::string &path,
                 const driver::HostTensor &tensor) {
  orFail(writeNpy({tensor.dtype, tensor.shape, tensor.data}, path), Environment);
  if (tensor.dtype == DType::BF16)
    note(fmt::format("{} holds {} as uint16, the bits of bf16: NumPy has no bf16", path, output));
}

} // namespace attnc::cli
