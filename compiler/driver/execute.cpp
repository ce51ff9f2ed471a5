#include "compiler/driver/execute.h"
#include "compiler/driver/cpu_executor.h"
#include "compiler/driver/cuda_executor.h"

#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <fstream>
#include <limits>

namespace attnc::driver {

namespace {

/// Bytes that Linux thinks can be allocated without swapping; nothing where it does not say.
std::optional<uint64_t> availableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  uint64_t kibibytes = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemAvailable:")
      return kibibytes << 10;
    std::getline(file, unit);
  }
  return std::nullopt;
}

/// The extents of all dims, where they can be computed from those of the dynamic ones.
Scope allSizes(const Manifest &manifest, const std::map<std::string, int64_t> &extents) {
  Scope scope;
  scope.sizes = extents;
  for (const DimDecl &dim : manifest.dims)
    if (dim.extent)
      if (Result<int64_t> extent = evaluateInteger(*dim.extent, scope); extent.ok())
        scope.sizes[dim.name] = *extent;
  return scope;
}

/// Elements of `tensor`, in floating point because the product may exceed 64 bits.
double elementsOf(const TensorDecl &tensor, const Scope &scope) {
  double count = 1;
  for (const std::string &dim : tensor.dims)
    if (auto found = scope.sizes.find(dim); found != scope.sizes.end())
      count *= static_cast<double>(found->second);
  return count;
}

} // namespace

std::map<std::string, int64_t> extraSizes(const Manifest &manifest, const RunRequest &request) {
  std::map<std::string, int64_t> extra;
  for (const DimDecl &dim : manifest.dims) {
    bool carried = llvm::any_of(manifest.inputs, [&](const TensorDecl &input) {
      return llvm::is_contained(input.dims, dim.name);
    });
    auto given = request.extents.find(dim.name);
    if (!carried && !dim.extent && given != request.extents.end())
      extra.insert(*given);
  }
  return extra;
}

Result<Scope> sizesOf(const Manifest &manifest, const RunRequest &request) {
  std::map<std::string, TensorRef> refs;
  for (const auto &[name, tensor] : request.inputs)
    refs[name] = TensorRef::contiguous(const_cast<std::byte *>(tensor.data.data()), tensor.dtype,
                                       tensor.shape);
  return resolveSizes(manifest, refs, extraSizes(manifest, request));
}

Status checkHostMemory(const Manifest &manifest, const std::map<std::string, int64_t> &extents) {
  // An input lives as float64, as given and in guarded memory; an output as float64 with its bound,
  // and twice as stored.
  Scope scope = allSizes(manifest, extents);
  double needed = 0;
  for (const TensorDecl &input : manifest.inputs)
    needed += elementsOf(input, scope) * (8 + 2.0 * dtypeSize(input.dtype));
  for (const TensorDecl &output : manifest.outputs)
    needed += elementsOf(output, scope) * (24 + 2.0 * dtypeSize(output.dtype));
  if (manifest.target == "cpu")
    for (const TensorDecl &tensor : manifest.intermediates)
      needed += elementsOf(tensor, scope) * dtypeSize(tensor.dtype);
  std::optional<uint64_t> available = availableMemory();
  if (!available || needed <= static_cast<double>(*available))
    return Status::success();
  constexpr double gib = 1 << 30;
  return environmentError(fmt::format("this shape needs about {:.1f} GiB of memory; {:.1f} GiB are "
                                      "available",
                                      needed / gib, *available / gib),
                          "use a smaller --shape");
}

Result<std::unique_ptr<Executor>> makeExecutor(const Compilation &compilation,
                                               std::shared_ptr<const CudaDevice> device) {
  if (compilation.target == "cpu")
    return makeCpuExecutor(compilation);
  if (!device)
    return environmentError(
        fmt::format("the target {} needs a GPU to run, and there is none", compilation.target),
        "use --target cpu, or see `attnc doctor`");
  return makeCudaExecutor(compilation, std::move(device));
}

} // namespace attnc::driver
