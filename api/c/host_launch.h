// Running a program of the target "cpu" on the caller's memory.
#ifndef ATTNC_API_C_HOST_LAUNCH_H
#define ATTNC_API_C_HOST_LAUNCH_H

#include "api/c/handles.h"
#include "runtime/program/call_layout.h"
#include "runtime/program/layout_cache.h"
#include <span>

namespace attnc::api {

/// A program of the target "cpu" with the layouts of its calls. Thread-safe.
class HostProgram {
public:
  explicit HostProgram(std::shared_ptr<const CompiledProgram> compiled)
      : compiled(std::move(compiled)) {}

  /// The layout remembered under `key`, or null.
  std::shared_ptr<const CallLayout> find(const LayoutKey &key) const { return layouts.find(key); }

  /// The layout of a binding, remembered under `key` if there is one. Errors: those of planLayout.
  Result<std::shared_ptr<const CallLayout>> layoutOf(const Binding &binding,
                                                     const LayoutKey *key) const;

  /// Runs all kernels on tensors by slot, which have passed checkAddresses, and returns when they
  /// are done. `workspace` has the layout's bytes, aligned to 256; null: they are allocated.
  Status launch(const CallLayout &layout, std::span<void *const> tensors, void *workspace) const;

private:
  std::shared_ptr<const CompiledProgram> compiled;
  mutable LayoutCache<CallLayout> layouts;
};

} // namespace attnc::api

#endif
