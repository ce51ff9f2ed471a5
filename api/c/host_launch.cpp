#include "api/c/host_launch.h"
#include "compiler/driver/execution/cpu_executor.h"
#include "runtime/program/available_memory.h"
#include "runtime/program/byte_count.h"
#include "runtime/program/memory_budget.h"

#include <cstdlib>
#include <fmt/format.h>
#include <optional>

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

} // namespace

Result<std::shared_ptr<const CallLayout>> HostProgram::layoutOf(const Binding &binding,
                                                                const LayoutKey *key) const {
  Result<CallLayout> planned = planLayout(compiled->manifest(), binding);
  if (!planned)
    return planned.error();
  auto layout = std::make_shared<const CallLayout>(*std::move(planned));
  if (key)
    layouts.remember(*key, layout);
  return layout;
}

Status HostProgram::launch(const CallLayout &layout, std::span<void *const> tensors,
                           void *workspace) const {
  HostBlock own;
  if (!workspace && layout.workspace.bytes > 0) {
    Result<HostBlock> taken = allocateWorkspace(layout.workspace.bytes);
    if (!taken)
      return noMemoryFor(compiled->manifest(), layout.workspace, layout.scope, taken.error());
    own = *std::move(taken);
    workspace = own.get();
  }
  driver::runCalls(*compiled->compilation.cpu, layout, {tensors.data(), tensors.size()}, workspace);
  return {};
}

} // namespace attnc::api
