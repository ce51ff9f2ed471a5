#pragma once

/// From a Binding to kernel calls: the choice of a variant, the workspace, and the evaluation of
/// grids and arguments. Independent of where the kernels run; the GPU and the CPU launch what comes
/// out.

#include "attnc/result.h"
#include "runtime/program/bind.h"
#include "runtime/program/manifest.h"
#include "runtime/program/tensor_map.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attnc {

/// An address that is known once tensors and a workspace are: `offset` bytes behind the start of
/// the tensor in slot `base` (inputs are numbered, then outputs), or of the workspace.
struct Place {
  static constexpr std::size_t workspace = SIZE_MAX;
  std::size_t base = workspace;
  std::int64_t offset = 0;

  friend bool operator==(const Place &, const Place &) = default;
};

/// The slot of an input or output; Place::workspace for others.
std::size_t slotOf(const Manifest &manifest, std::string_view tensor);

/// A tensor map whose base is still open; without a place, of a tensor without elements.
struct PlannedMap {
  TensorMapArg map;
  std::optional<Place> place;
};

/// An argument of which only an address is still open.
using PlannedArg = std::variant<Place, std::int64_t, std::int32_t, float, double, PlannedMap>;

/// A KernelCall of which only addresses are still open.
struct PlannedCall {
  std::string kernel;
  std::array<std::int64_t, 3> grid;
  std::int64_t sharedBytes = 0;
  std::vector<PlannedArg> args;
  std::vector<std::size_t> counters = {};
  std::optional<Place> guard = {};
  bool beside = false; ///< as LaunchDecl; the call before it is that of the launch before
};

/// An argument as a kernel receives it; a tensor map as what it says, encoded when it is launched.
using ArgValue = std::variant<void *, std::int64_t, std::int32_t, float, double, TensorMapArg>;

struct KernelCall {
  std::string kernel;               ///< name in the manifest
  std::array<std::int64_t, 3> grid; ///< blocks in x, y, z; each at least 1
  std::int64_t sharedBytes = 0;     ///< dynamic shared memory of a block
  std::vector<ArgValue> args;
  /// Of the args, the addresses of counters, which are 0 when the kernel starts and when it ends.
  std::vector<std::size_t> counters = {};
  bool beside = false; ///< as PlannedCall
  /// The address of the i32 without which the call does nothing (LaunchDecl::guard); null if there
  /// is none. Whoever launches for the target cpu reads it right before.
  const void *guard = nullptr;
};

/// The address of a place, given those of tensors by slot, and of the workspace.
void *addressOf(const Place &place, std::span<void *const> tensors, void *workspace);

/// The addresses of the binding's tensors by slot; null for those that it lacks.
std::vector<void *> addressesOf(const Manifest &manifest, const Binding &binding);

/// Where the intermediates and counters of a variant lie in one allocation: intermediates at
/// multiples of 256 bytes, the counters of all launches side by side behind them.
struct Workspace {
  std::int64_t bytes = 0;
  std::map<std::string, std::int64_t> offsets; ///< of intermediates
  std::vector<std::int64_t> counters = {};     ///< in the order of calls and arguments
};

/// The first variant whose `when` and `aligned` hold and whose intermediates are within the memory
/// budget; if those of all are beyond it, the one that needs least. Error: there is none; where
/// alignment alone is in the way, it is what checkAlignment says for the last variant whose `when`
/// holds.
Result<const VariantDecl *> chooseVariant(const Manifest &manifest, const Binding &binding);

/// The workspace for the intermediates and counters that `variant` uses. Error (InvalidArgument):
/// the intermediates take more than the binding's memory budget, nothing has been allocated then; a
/// loop of too many passes.
Result<Workspace> planWorkspace(const Manifest &manifest, const VariantDecl &variant,
                                const Binding &binding);

/// The kernel calls of `variant`, in order, those of loops once for each pass, with a workspace
/// that planWorkspace has planned. Launches with an empty grid are left out. Depends on the
/// addresses of tensors only where tensor maps need them aligned.
Result<std::vector<PlannedCall>> planCalls(const Manifest &manifest, const VariantDecl &variant,
                                           const Binding &binding, const Workspace &workspace);

/// planCalls with the addresses of the binding's tensors and of a workspace at `base`, which is
/// aligned to 256 bytes.
Result<std::vector<KernelCall>> evaluate(const Manifest &manifest, const VariantDecl &variant,
                                         const Binding &binding, const Workspace &workspace,
                                         void *base);

/// Sets the counters of a call to 0, where they lie in host memory.
void clearCounters(const KernelCall &call);

/// Whether the counters of a call stand at 0, as a kernel leaves them, where they lie in host
/// memory.
bool leavesCountersClear(const KernelCall &call);

/// Whether the call does something, where its guard lies in host memory.
bool guardHolds(const KernelCall &call);

/// Whether CUDA can launch the call: x up to 2^31 - 1 blocks, y and z up to 65535.
Status checkCudaGrid(std::string_view kernel, const std::array<std::int64_t, 3> &grid);

} // namespace attnc
