#include "api/c/host_launch.h"
#include "runtime/program/available_memory.h"
#include "runtime/program/byte_count.h"
#include "runtime/program/memory_budget.h"

#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <type_traits>

namespace attnc::api {

namespace {

constexpr std::size_t workspaceAlign = 256;

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
using HostBlock = std::unique_ptr<void, Free>;

/// Linux gives out more than there is, and ends the process when it is written to; so large blocks
/// are compared with what there is. To ask takes about as long as to write some hundred KiB.
Result<HostBlock> allocateWorkspace(std::int64_t bytes) {
  constexpr std::int64_t large = 16 << 20;
  if (bytes >= large)
    if (std::optional<std::uint64_t> available = availableHostMemory();
        available && static_cast<std::uint64_t>(bytes) > *available)
      return environmentError(fmt::format("{} of host memory are available",
                                          bytesText(static_cast<double>(*available))));
  // Its bytes are a multiple of the alignment.
  HostBlock block(std::aligned_alloc(workspaceAlign, static_cast<std::size_t>(bytes)));
  if (!block)
    return environmentError("the system gives none");
  return block;
}

/// An argument as the 64-bit word that CpuExecutable takes. No program for the cpu has tensor maps.
std::uint64_t wordOf(const ArgValue &value) {
  std::uint64_t word = 0;
  std::visit(
      [&](const auto &v) {
        if constexpr (!std::is_same_v<decltype(v), const TensorMapArg &>)
          std::memcpy(&word, static_cast<const void *>(&v), sizeof v);
      },
      value);
  return word;
}

} // namespace

Result<HostPlan> planOnHost(const Manifest &manifest, Binding binding) {
  Result<const VariantDecl *> variant = chooseVariant(manifest, binding);
  if (!variant)
    return variant.error();
  Result<Workspace> workspace = planWorkspace(manifest, **variant, binding);
  if (!workspace)
    return workspace.error();
  return HostPlan{std::move(binding), *variant, *std::move(workspace)};
}

Status launchOnHost(const CompiledProgram &compiled, const HostPlan &plan, void *workspace) {
  const Manifest &manifest = compiled.manifest();
  HostBlock own;
  if (!workspace && plan.workspace.bytes > 0) {
    Result<HostBlock> taken = allocateWorkspace(plan.workspace.bytes);
    if (!taken)
      return noMemoryFor(manifest, plan.workspace, plan.binding.scope, taken.error());
    own = *std::move(taken);
    workspace = own.get();
  }
  Result<std::vector<KernelCall>> calls =
      evaluate(manifest, *plan.variant, plan.binding, plan.workspace, workspace);
  if (!calls)
    return calls.error();
  for (const KernelCall &call : *calls) {
    if (!guardHolds(call))
      continue;
    clearCounters(call);
    std::vector<std::uint64_t> words;
    for (const ArgValue &value : call.args)
      words.push_back(wordOf(value));
    // Kernels and nests both stand in program order.
    auto nest = static_cast<unsigned>(manifest.findKernel(call.kernel) - manifest.kernels.data());
    compiled.compilation.cpu->run(nest, words);
  }
  return {};
}

} // namespace attnc::api
