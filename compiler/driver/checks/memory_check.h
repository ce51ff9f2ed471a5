// Whether there is memory for a run, before anything is made for it.
#ifndef ATTNC_COMPILER_DRIVER_CHECKS_MEMORY_CHECK_H
#define ATTNC_COMPILER_DRIVER_CHECKS_MEMORY_CHECK_H

#include "attnc/result.h"
#include "runtime/cuda/driver.h"
#include "runtime/program/manifest.h"
#include <map>
#include <string>

namespace attnc::driver {

/// Whether what goes between kernels fits the manifest's memory budget, and whether this machine
/// has the memory to make, run and compare the tensors of `manifest` at these extents of its
/// dynamic dims. They run on `device`, or in host memory if it is null. Errors: InvalidArgument for
/// the budget, as planWorkspace; Environment: what is needed, what there is, and which tensors that
/// is.
Status checkMemory(const Manifest &manifest, const std::map<std::string, int64_t> &extents,
                   const CudaDevice *device);

} // namespace attnc::driver

#endif
