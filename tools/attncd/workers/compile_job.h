// One job of a worker.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_COMPILE_JOB_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_COMPILE_JOB_H

#include "compiler/driver/compile_watch.h"
#include "runtime/cache/store.h"
#include "runtime/cuda/image_compiler.h"
#include "tools/attncd/workers/compiler.h"

#include <string_view>

namespace attnc::service {

struct JobLimits {
  driver::CompileLimits compile;
  std::uint64_t outputBytes = cache::maxEntryBytes; ///< of the program as a file
};

/// Where a worker's programs come from and are kept; `store` may be null.
struct JobPlace {
  std::shared_ptr<cache::Store> store;
  std::shared_ptr<const ImageCompiler> images;
};

/// Compiles what the JSON of a request asks for, or takes it from the store: a program that waits
/// for nothing, under the key that it has for a client without NVRTC. `progress` is told of stages,
/// "parsing" first. Whatever becomes of it is in the answer; std::bad_alloc passes through.
CompileAnswer compileJob(std::string_view request, const JobLimits &limits, const JobPlace &place,
                         const driver::CompileWatch::Progress &progress);

} // namespace attnc::service

#endif
