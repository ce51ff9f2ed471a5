// The kernels of a program for the target "cpu", loaded in this process.
#ifndef ATTNC_COMPILER_DRIVER_IMAGES_HOST_CODE_H
#define ATTNC_COMPILER_DRIVER_IMAGES_HOST_CODE_H

#include "attnc/result.h"
#include "compiler/codegen/cpu/cpu_target.h"
#include "runtime/program/program.h"
#include <memory>

namespace attnc::driver {

/// Loads the program's object; its kernels are numbered as in the manifest. Errors
/// (InvalidArgument): the program has no object, one for a processor that can do what this one
/// cannot, or one that does not load.
Result<std::shared_ptr<const cpu::CpuExecutable>> loadForHost(const Program &program);

} // namespace attnc::driver

#endif
