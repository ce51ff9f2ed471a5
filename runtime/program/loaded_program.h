#pragma once

/// A Program whose kernels are loaded on a GPU, ready to launch.

#include "attnc/result.h"
#include "runtime/cuda/driver.h"
#include "runtime/program/bind.h"
#include "runtime/program/launch.h"
#include "runtime/program/program.h"

#include <map>
#include <memory>

namespace attnc {

class LoadedProgram {
public:
  /// Loads every kernel: its cubin where that fits the GPU, else its PTX. Opts in to shared memory
  /// where a kernel's amount is constant; other amounts are opted in to at launch.
  static Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const CudaDevice> device,
                                                     const Program &program);

  const Manifest &manifest() const { return plan; }
  const CudaDevice &device() const { return *gpu; }

  /// Registers, spills and shared memory of kernel `name`, as loaded.
  Result<CudaFunction::Attributes> attributes(const std::string &name) const;

  /// Launches the variant that fits, asynchronously, on `stream` (a CUstream of this device; null
  /// for the default stream). The tensors must stay valid until the stream has done the work. The
  /// workspace is allocated and freed in the stream's order, so calls on several streams and
  /// threads may overlap.
  Status launch(const Binding &binding, CuHandle stream) const;

private:
  LoadedProgram() = default;
  Status loadKernel(const Program &program, const KernelDecl &kernel,
                    std::map<std::string, CudaModule> &modules);
  Status launchCalls(const VariantDecl &variant, const Binding &binding, const Workspace &workspace,
                     void *base, CuHandle stream) const;

  std::shared_ptr<const CudaDevice> gpu;
  Manifest plan;
  std::map<std::string, CudaFunction> functions;
};

} // namespace attnc
