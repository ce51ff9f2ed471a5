// Running a program of the target "cpu" on the caller's memory.
#ifndef ATTNC_API_C_HOST_LAUNCH_H
#define ATTNC_API_C_HOST_LAUNCH_H

#include "api/c/handles.h"

namespace attnc::api {

/// A binding with the variant that serves it and the workspace that this needs.
struct HostPlan {
  Binding binding;
  const VariantDecl *variant = nullptr; ///< of the program's manifest
  Workspace workspace;
};

Result<HostPlan> planOnHost(const Manifest &manifest, Binding binding);

/// Runs all kernels and returns when they are done. `workspace` has the plan's bytes, aligned to
/// 256; null: they are allocated.
Status launchOnHost(const CompiledProgram &compiled, const HostPlan &plan, void *workspace);

} // namespace attnc::api

#endif
