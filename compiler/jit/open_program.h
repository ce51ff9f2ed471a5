// From a stored program to something that runs, and back.
#ifndef ATTNC_COMPILER_JIT_OPEN_PROGRAM_H
#define ATTNC_COMPILER_JIT_OPEN_PROGRAM_H

#include "compiler/driver/compile.h"

namespace attnc {

/// What a compilation would have given, but for the records of its passes and nests: its kernels
/// loaded (target cpu), its texts, and what waits for its first use, which `images` compiles then;
/// null: that is an error of the launch that needs it. Errors: as of driver::loadForHost.
Result<driver::Compilation> openProgram(Program program,
                                        std::shared_ptr<const ImageCompiler> images);

/// Compiles what waits for its first use. Thread-safe. Errors: those of compiling.
Status warmUp(const driver::Compilation &compilation);

/// The program with its texts, and all that waits for its first use left waiting.
Program storable(const driver::Compilation &compilation);

/// The program with its texts, and nothing that waits: what a file holds. Errors: those of
/// compiling, and those of `watch`, which may be null.
Result<Program> completed(const driver::Compilation &compilation,
                          driver::CompileWatch *watch = nullptr);

} // namespace attnc

#endif
