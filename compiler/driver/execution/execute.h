// Running a compiled program on tensors in host memory, on the processor or on a GPU.
#ifndef ATTNC_COMPILER_DRIVER_EXECUTION_EXECUTE_H
#define ATTNC_COMPILER_DRIVER_EXECUTION_EXECUTE_H

#include "attnc/result.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/execution/tensor_layout.h"
#include "runtime/cuda/driver.h"
#include "runtime/program/bind.h"
#include "runtime/program/manifest.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attnc::driver {

/// A C-contiguous tensor in host memory.
struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  int64_t elements() const { return static_cast<int64_t>(data.size() / dtypeSize(dtype)); }
};

struct RunRequest {
  std::map<std::string, HostTensor> inputs;
  std::map<std::string, Scalar> params; ///< those that are passed; the others take their default
  /// Extents by dim. Only those of dims that no input carries are looked at.
  std::map<std::string, int64_t> extents;
  TensorLayout layout; ///< of inputs and outputs in the memory where the kernels run
  unsigned warmup = 0; ///< runs that are not timed
  unsigned repeat = 1; ///< runs that are timed, at least 1
};

struct RunResult {
  std::map<std::string, HostTensor> outputs;
  /// Median time of one run, kernels only: no copies between host and device.
  double milliseconds = 0;
};

/// Runs one compiled program. Safe to use from several threads.
///
/// Tensors lie between guard zones, and inputs' guards, outputs and (on the processor) the
/// workspace hold bytes 0xFF before a run, a NaN in every float type. So a read outside an input
/// poisons the result, an element that no kernel stores stays a NaN, and a write outside an output
/// is found and is an Internal error that names the tensor. The same holds for what a layout leaves
/// between the rows.
class Executor {
public:
  virtual ~Executor() = default;

  const Manifest &manifest() const { return plan; }
  /// Where the tensors lie during a run; null for host memory.
  virtual const CudaDevice *device() const { return nullptr; }

  /// Errors: InvalidArgument where tensors, sizes or params do not fit the program; Environment
  /// where memory does not suffice or the GPU fails.
  virtual Result<RunResult> run(const RunRequest &request) const = 0;

protected:
  explicit Executor(Manifest plan) : plan(std::move(plan)) {}

  Manifest plan;
};

/// The executor for the target of `compilation`. `device` is used for GPU targets only, and must be
/// given for them.
Result<std::unique_ptr<Executor>> makeExecutor(const Compilation &compilation,
                                               std::shared_ptr<const CudaDevice> device);

/// The sizes of a run: those that the inputs carry and, from `request.extents`, the others.
Result<Scope> sizesOf(const Manifest &manifest, const RunRequest &request);

/// The extents in `request` of dynamic dims that no input carries.
std::map<std::string, int64_t> extraSizes(const Manifest &manifest, const RunRequest &request);

} // namespace attnc::driver

#endif
