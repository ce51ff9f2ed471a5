#include "compiler/driver/checks/memory_check.h"
#include "compiler/driver/execution/interpreter_executor.h"
#include "runtime/program/available_memory.h"
#include "runtime/program/byte_count.h"
#include "runtime/program/memory_budget.h"

#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace attnc::driver {

namespace {

/// The extents of all dims, where they can be computed from those of the dynamic ones, in whatever
/// order they are declared.
Scope allSizes(const Manifest &manifest, const std::map<std::string, int64_t> &extents,
               const CudaDevice *device) {
  Scope scope;
  scope.multiprocessors = device ? device->properties().multiprocessors
                                 : InterpreterOptions().multiprocessors; // where it matters
  scope.sizes = extents;
  size_t known = 0;
  do {
    known = scope.sizes.size();
    for (const DimDecl &dim : manifest.dims)
      if (dim.extent)
        if (Result<int64_t> extent = evaluateInteger(*dim.extent, scope); extent.ok())
          scope.sizes[dim.name] = *extent;
  } while (scope.sizes.size() != known);
  return scope;
}

/// What a run's tensors take: in floating point, because a product may exceed 64 bits.
class Needs {
public:
  Needs(const Manifest &manifest, const Scope &scope) : scope(scope) {
    for (const TensorDecl &input : manifest.inputs)
      add(inputs, input);
    for (const TensorDecl &output : manifest.outputs)
      add(outputs, output);
  }

  /// Bytes of inputs and outputs as the kernels see them.
  double bytes() const { return sum(inputs, 0, 1) + sum(outputs, 0, 1); }
  /// In host memory an input lives as float64, as given and in guarded memory; an output as float64
  /// with its bound, and twice as stored.
  double hostBytes() const { return sum(inputs, 8, 2) + sum(outputs, 24, 2); }
  std::string text() const {
    return fmt::format("{} of inputs and {} of outputs", bytesText(sum(inputs, 0, 1)),
                       bytesText(sum(outputs, 0, 1)));
  }

private:
  struct Tensor {
    double elements, size;
  };

  void add(std::vector<Tensor> &group, const TensorDecl &decl) const {
    double count = 1;
    for (const std::string &dim : decl.dims)
      if (auto found = scope.sizes.find(dim); found != scope.sizes.end())
        count *= static_cast<double>(found->second);
    group.push_back({count, static_cast<double>(dtypeSize(decl.dtype))});
  }

  static double sum(llvm::ArrayRef<Tensor> group, double perElement, double copies) {
    double bytes = 0;
    for (const Tensor &tensor : group)
      bytes += tensor.elements * (perElement + copies * tensor.size);
    return bytes;
  }

  const Scope &scope;
  std::vector<Tensor> inputs, outputs;
};

/// The workspace for tensors that are C-contiguous and aligned, as those of a run are.
Result<Workspace> planFor(const Manifest &manifest, const Scope &scope) {
  Binding binding{scope, {}, manifest.memoryBudget};
  for (const auto *group : {&manifest.inputs, &manifest.outputs})
    for (const TensorDecl &decl : *group) {
      Result<std::vector<int64_t>> shape = shapeOf(decl, scope);
      if (!shape)
        return shape.error();
      binding.tensors[decl.name] = TensorRef::contiguous(nullptr, decl.dtype, *shape);
    }
  if (manifest.variants.empty()) // what the evaluator runs has none
    return Workspace();
  Result<const VariantDecl *> variant = chooseVariant(manifest, binding);
  return variant ? planWorkspace(manifest, **variant, binding) : variant.error();
}

} // namespace

Status checkMemory(const Manifest &manifest, const std::map<std::string, int64_t> &extents,
                   const CudaDevice *device) {
  Scope scope = allSizes(manifest, extents, device);
  Result<Workspace> workspace = planFor(manifest, scope);
  if (!workspace)
    return workspace.error();
  Needs needs(manifest, scope);
  auto stored = static_cast<double>(workspace->bytes);
  std::vector<StoredValue> values = storedValues(manifest, *workspace, scope);
  auto compare = [&](double needed, const std::optional<uint64_t> &available,
                     const std::string &where) {
    if (!available || needed <= static_cast<double>(*available))
      return Status::success();
    std::string between =
        values.empty() ? "" : fmt::format(", {} between kernels", bytesText(stored));
    return Status(environmentError(
        fmt::format("a run at {} needs about {} of memory{}; {} are available. It has {}{}{}",
                    shapeText(manifest, scope), bytesText(needed), where,
                    bytesText(static_cast<double>(*available)), needs.text(), between,
                    describe(values)),
        "use a smaller --shape"));
  };
  if (device)
    if (Status enough = compare(needs.bytes() + stored, device->freeMemory(),
                                " on " + device->properties().name);
        !enough)
      return enough;
  return compare(needs.hostBytes() + (device ? 0 : stored), availableHostMemory(), "");
}

} // namespace attnc::driver
