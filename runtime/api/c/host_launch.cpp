#include "runtime/api/c/host_launch.h"

#include <cstdlib>
#include <type_traits>

namespace attnc::api {

namespace {

constexpr std::size_t workspaceAlign = 256;

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};

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
  std::unique_ptr<void, Free> own;
  if (!workspace && plan.workspace.bytes > 0) {
    // Its bytes are a multiple of the alignment.
    own.reset(std::aligned_alloc(workspaceAlign, static_cast<std::size_t>(plan.workspace.bytes)));
    if (!own)
      return environmentError("no memory for a workspace of " +
                              std::to_string(plan.workspace.bytes) + " bytes");
    workspace = own.get();
  }
  Result<std::vector<KernelCall>> calls =
      evaluate(manifest, *plan.variant, plan.binding, plan.workspace, workspace);
  if (!calls)
    return calls.error();
  for (const KernelCall &call : *calls) {
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
