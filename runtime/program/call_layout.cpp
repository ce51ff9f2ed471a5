#include "runtime/program/call_layout.h"

#include "runtime/program/disjoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace attnc {

namespace {

constexpr std::int64_t mapAlign = 16;

/// The value in the low bytes: the machine is little-endian, as GPUs are.
template <typename T> std::uint64_t wordOf(T value) {
  std::uint64_t word = 0;
  static_assert(sizeof value <= sizeof word);
  std::memcpy(&word, &value, sizeof value);
  return word;
}

void addPatch(CallLayout &layout, CallLayout::Patch patch) {
  const std::vector<std::int64_t> &counters = layout.workspace.counters; // behind intermediates
  if (patch.place.base == Place::workspace && !counters.empty() &&
      patch.place.offset >= counters.front()) {
    patch.place.offset -= counters.front();
    layout.ofCounters.push_back(patch);
    return;
  }
  (patch.place.base == Place::workspace ? layout.ofWorkspace : layout.ofTensors).push_back(patch);
}

void addArgument(CallLayout &layout, PlannedArg &arg) {
  CallLayout::Argument where{std::holds_alternative<PlannedMap>(arg), layout.words.size()};
  std::visit(
      [&](auto &value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, PlannedMap>) {
          where.index = layout.maps.size();
          layout.maps.push_back(std::move(value.map));
          if (value.place)
            addPatch(layout, {true, where.index, *value.place});
        } else if constexpr (std::is_same_v<Value, Place>) {
          layout.words.push_back(0);
          addPatch(layout, {false, where.index, value});
        } else {
          layout.words.push_back(wordOf(value));
        }
      },
      arg);
  layout.arguments.push_back(where);
}

void addCall(CallLayout &layout, PlannedCall &planned) {
  const Manifest &manifest = *layout.manifest;
  CallLayout::Call call;
  call.kernel =
      static_cast<std::size_t>(manifest.findKernel(planned.kernel) - manifest.kernels.data());
  call.grid = planned.grid;
  call.sharedBytes = planned.sharedBytes;
  call.first = layout.arguments.size();
  call.arguments = planned.args.size();
  call.guard = planned.guard;
  call.beside = planned.beside;
  layout.hasBeside |= call.beside;
  for (PlannedArg &arg : planned.args)
    addArgument(layout, arg);
  layout.calls.push_back(call);
}

bool hasMapOf(const VariantDecl &variant, const std::string &tensor) {
  for (const LaunchDecl &launch : variant.launches)
    for (const ArgDecl &arg : launch.args)
      if (arg.kind == ArgKind::TensorMap && arg.name == tensor)
        return true;
  return false;
}

void addSlots(CallLayout &layout, const Binding &binding) {
  for (const auto *group : {&layout.manifest->inputs, &layout.manifest->outputs})
    for (const TensorDecl &decl : *group) {
      const TensorRef &tensor = binding.tensors.at(decl.name);
      CallLayout::Slot slot;
      slot.span = *spanBytes(tensor);
      slot.align = std::max(static_cast<std::int64_t>(dtypeSize(decl.dtype)), decl.align);
      if (auto wanted = layout.variant->aligned.find(decl.name);
          wanted != layout.variant->aligned.end())
        slot.align = std::max(slot.align, wanted->second);
      if (hasMapOf(*layout.variant, decl.name))
        slot.align = std::max(slot.align, mapAlign);
      slot.isOutput = group == &layout.manifest->outputs;
      layout.slots.push_back(slot);
      layout.tensors.push_back(tensor);
    }
}

const TensorDecl &declOf(const Manifest &manifest, std::size_t slot) {
  return slot < manifest.inputs.size() ? manifest.inputs[slot]
                                       : manifest.outputs[slot - manifest.inputs.size()];
}

bool rangesMeet(std::uintptr_t a, std::int64_t bytesA, std::uintptr_t b, std::int64_t bytesB) {
  return a < b ? b - a < static_cast<std::uintptr_t>(bytesA)
               : a - b < static_cast<std::uintptr_t>(bytesB);
}

/// Whether it is plain that the addresses are fit. False does not say that they are not: views may
/// interleave.
bool areFit(const CallLayout &layout, std::span<void *const> tensors) {
  auto address = [&](std::size_t slot) { return reinterpret_cast<std::uintptr_t>(tensors[slot]); };
  const std::vector<CallLayout::Slot> &slots = layout.slots;
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].span == 0)
      continue;
    if (address(slot) == 0 ||
        (address(slot) & (static_cast<std::uintptr_t>(slots[slot].align) - 1)) != 0)
      return false;
    if (slots[slot].isOutput) // all inputs, and the outputs before it, have smaller numbers
      for (std::size_t other = 0; other < slot; ++other)
        if (slots[other].span != 0 &&
            rangesMeet(address(slot), slots[slot].span, address(other), slots[other].span))
          return false;
  }
  return true;
}

} // namespace

Result<CallLayout> planLayout(const Manifest &manifest, const Binding &binding) {
  CallLayout layout;
  layout.manifest = &manifest;
  layout.scope = binding.scope;
  Result<const VariantDecl *> variant = chooseVariant(manifest, binding);
  if (!variant)
    return variant.error();
  layout.variant = *variant;
  Result<Workspace> workspace = planWorkspace(manifest, **variant, binding);
  if (!workspace)
    return workspace.error();
  layout.workspace = *std::move(workspace);
  Result<std::vector<PlannedCall>> calls =
      planCalls(manifest, **variant, binding, layout.workspace);
  if (!calls)
    return calls.error();
  for (PlannedCall &call : *calls)
    addCall(layout, call);
  addSlots(layout, binding);
  return layout;
}

Status checkAddresses(const CallLayout &layout, std::span<void *const> tensors) {
  if (areFit(layout, tensors))
    return {};
  std::vector<TensorRef> placed = layout.tensors;
  for (std::size_t slot = 0; slot < placed.size(); ++slot) {
    placed[slot].data = tensors[slot];
    const TensorDecl &decl = declOf(*layout.manifest, slot);
    if (layout.slots[slot].span != 0 && !tensors[slot])
      return nullData(decl);
    if (Status status = checkAlignment(decl, placed[slot], layout.slots[slot].align); !status)
      return status;
  }
  return checkAliasing(*layout.manifest, placed);
}

void patchWords(std::span<const CallLayout::Patch> patches, std::span<void *const> tensors,
                void *workspace, std::span<std::uint64_t> words) {
  for (const CallLayout::Patch &patch : patches)
    if (!patch.isMap)
      words[patch.index] =
          reinterpret_cast<std::uintptr_t>(addressOf(patch.place, tensors, workspace));
}

} // namespace attnc
