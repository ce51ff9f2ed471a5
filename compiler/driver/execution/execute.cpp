#include "compiler/driver/execution/execute.h"
#include "compiler/driver/execution/cpu_executor.h"
#include "compiler/driver/execution/cuda_executor.h"
#include "compiler/driver/execution/gradient_executor.h"

#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace attnc::driver {

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

static Result<std::unique_ptr<Executor>> makeOne(const Compilation &compilation,
                                                 std::shared_ptr<const CudaDevice> device) {
  if (compilation.target == "cpu")
    return makeCpuExecutor(compilation);
  if (!device)
    return environmentError(
        fmt::format("the target {} needs a GPU to run, and there is none", compilation.target),
        "use --target cpu, or see `attnc doctor`");
  return makeCudaExecutor(compilation, std::move(device));
}

Result<std::unique_ptr<Executor>> makeExecutor(const Compilation &compilation,
                                               std::shared_ptr<const CudaDevice> device) {
  return withBackward(compilation, [&](const Compilation &one) { return makeOne(one, device); });
}

} // namespace attnc::driver
