#pragma once

/// A call whose addresses are still open. Everything else is computed once for a layout: which
/// variant runs, its grids, the values of its arguments, where in the workspace things lie. What
/// depends on addresses alone is cheap and is done at each call.

#include "attnc/result.h"
#include "runtime/program/bind.h"
#include "runtime/program/launch.h"
#include "runtime/program/manifest.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnc {

/// Immutable once planned, so several threads may use it at the same time. Tensors are told by
/// their slots: the inputs of the manifest, then its outputs.
struct CallLayout {
  /// A kernel launch: its arguments are `arguments[first]` and those after it.
  struct Call {
    std::size_t kernel = 0; ///< number in the manifest
    std::array<std::int64_t, 3> grid = {1, 1, 1};
    std::int64_t sharedBytes = 0;
    std::size_t first = 0;
    std::size_t arguments = 0;
    std::optional<Place> guard = {};
    bool beside = false; ///< as PlannedCall
  };
  /// Where the value of an argument is: a word, or a tensor map.
  struct Argument {
    bool isMap = false;
    std::size_t index = 0; ///< in `words` or in `maps`
  };
  /// A word or the base of a map that is an address.
  struct Patch {
    bool isMap = false;
    std::size_t index = 0;
    Place place;
  };
  /// What an address must be like to have this layout.
  struct Slot {
    std::int64_t span = 0;  ///< bytes; 0 for an empty tensor, whose address may be anything
    std::int64_t align = 1; ///< bytes
    bool isOutput = false;
  };

  const Manifest *manifest = nullptr; ///< outlives the layout
  const VariantDecl *variant = nullptr;
  Scope scope;
  std::vector<TensorRef> tensors; ///< by slot; their data are those with which it was planned
  std::vector<Slot> slots;
  Workspace workspace;
  std::vector<Call> calls;
  std::vector<Argument> arguments;
  std::vector<std::uint64_t> words; ///< values in their low bytes; addresses are 0
  std::vector<TensorMapArg> maps;   ///< without bases
  std::vector<Patch> ofTensors, ofWorkspace; ///< the latter of intermediates
  /// Places from the first counter on, wherever counters are.
  std::vector<Patch> ofCounters;
  /// Some calls run beside others. Where several threads launch on one stream, these may be those of
  /// another launch, which must not have the same counters.
  bool hasBeside = false;
};

/// The layout of a binding. Errors: those of chooseVariant, planWorkspace and planCalls.
Result<CallLayout> planLayout(const Manifest &manifest, const Binding &binding);

/// Whether a call may use the layout with tensors at these addresses, one for each slot: whether
/// they are there, aligned as the chosen variant needs, and no output overlaps another tensor.
/// Errors are those of `bind`. Makes no text where there is none.
Status checkAddresses(const CallLayout &layout, std::span<void *const> tensors);

/// Puts the addresses of `patches` into a copy of the layout's words; maps are left alone.
void patchWords(std::span<const CallLayout::Patch> patches, std::span<void *const> tensors,
                void *workspace, std::span<std::uint64_t> words);

} // namespace attnc
