// The tensors of one run in guarded host memory.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_HOST_MEMORY_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_HOST_MEMORY_H

#include "compiler/driver/execution/execute.h"
#include "compiler/driver/execution/guarded_memory.h"
#include "runtime/program/launch.h"

namespace attnc::driver {

/// Inputs, outputs and the workspace of a run.
class HostMemory {
public:
  /// Allocates inputs and outputs, copies the inputs, and describes both for `bind`. Errors: those
  /// of sizesOf and of the allocation.
  Result<BindRequest> allocate(const Manifest &manifest, const RunRequest &request);
  /// The launches of the variant that serves what is bound, on a workspace that this allocates.
  struct Plan {
    std::vector<KernelCall> calls;
    Workspace workspace;
    std::byte *base = nullptr; ///< of the workspace
  };
  Result<Plan> plan(const Manifest &manifest, const Binding &binding);

  /// A workspace, aligned to 256 bytes, in place of the one before.
  Result<void *> allocateWorkspace(size_t bytes);

  /// Poisons outputs and workspace.
  void poison() const;
  /// Error (Internal): a guard zone, or what is between the rows of an output, has been written.
  /// Here and below `bound` is what allocate has returned.
  Status checkGuards(const BindRequest &bound) const;
  /// What the outputs hold now.
  std::map<std::string, HostTensor> readOutputs(const BindRequest &bound) const;

private:
  std::map<std::string, GuardedHostMemory> inputs, outputs;
  GuardedHostMemory workspace;
  TensorLayout layout;
};

} // namespace attnc::driver

#endif
