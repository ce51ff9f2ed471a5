// Compilation by a service: for machines without NVRTC.
#ifndef ATTNC_COMPILER_JIT_REMOTE_COMPILE_H
#define ATTNC_COMPILER_JIT_REMOTE_COMPILE_H

#include "compiler/driver/compile.h"
#include "runtime/cache/remote_tier.h"

namespace attnc {

/// What POST /v1/compile takes (docs/service.md): the text of the spec, and all of `options` that
/// its program depends on.
std::string compileRequest(const Spec &spec, const driver::CompileOptions &options);

/// Whether it is a GPU's program, and there is no NVRTC here.
bool lacksNvrtc(const driver::CompileOptions &options);

/// The bytes of the program (serializeProgram), with nothing that waits for its first use. The text
/// of `spec` is not empty: a service compiles specs alone, no .mlir files. Nothing: no service can
/// do it; `unreached` says why. Errors: those of the compilation there.
std::optional<Result<std::string>> compileElsewhere(const Spec &spec,
                                                    const driver::CompileOptions &options,
                                                    cache::RemoteTier &remote, Error &unreached);

} // namespace attnc

#endif
