// Under which key the cache on disk knows a program.
#ifndef ATTNC_COMPILER_JIT_PROGRAM_KEY_H
#define ATTNC_COMPILER_JIT_PROGRAM_KEY_H

#include "compiler/driver/compile.h"
#include <string>

namespace attnc {

/// 64 hexadecimal digits that stand for the spec and everything else that the program depends on:
/// docs/cache.md has the table. Programs with equal keys are interchangeable.
std::string programKey(const Spec &spec, const driver::CompileOptions &options);

} // namespace attnc

#endif
