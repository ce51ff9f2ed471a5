// A spec to a program, through the cache on disk.
#ifndef ATTNC_COMPILER_JIT_COMPILE_PROGRAM_H
#define ATTNC_COMPILER_JIT_COMPILE_PROGRAM_H

#include "compiler/driver/compile.h"
#include "runtime/cache/store.h"

namespace attnc {

/// A compilation, and where it came from.
struct ReadyProgram {
  driver::Compilation compilation;
  /// Made: by the compiler; else it has no records of passes and nests.
  cache::Source source = cache::Source::Made;
  double seconds = 0; ///< to compile it, or to read and open it
};

/// Compiles a spec to machine code, or takes it from `store` (null: compiles), where several
/// processes that ask for the same program wait for one that compiles it. What is compiled on first
/// use (driver::SplitVariant::OnFirstUse) waits there too. `options` are not for a stage before
/// machine code, and keep no IR of passes. Errors: those of driver::compile. Thread-safe.
Result<ReadyProgram> compileProgram(const Spec &spec, driver::CompileOptions options,
                                    cache::Store *store);

} // namespace attnc

#endif
