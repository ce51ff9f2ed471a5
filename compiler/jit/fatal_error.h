// Fatal errors of LLVM, which would end the process.
#ifndef ATTNC_COMPILER_JIT_FATAL_ERROR_H
#define ATTNC_COMPILER_JIT_FATAL_ERROR_H

#include "attnc/result.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace attnc {

/// Runs `body`, and returns an error if LLVM gave up in it: Internal with its reason, or
/// Environment if it got no memory. What `body` throws passes through. May be nested; each thread
/// has its own.
///
/// LLVM has no way back, so `body` is left where it is, by longjmp and not by an exception: no
/// destructor runs, as those of a half-done compilation (a session of the JIT is one) would reach
/// for what LLVM has given up. Hence its memory leaks, and a lock that it holds stays locked:
/// `body` takes none that others wait for, and makes nothing that is used when it has failed.
/// Threads that it starts are not covered: a fatal error there, or outside of any body, ends the
/// process, as LLVM does by itself. So do a stack that overflows, and llvm_unreachable, which is
/// not checked in the LLVM that we link.
Status runContained(llvm::function_ref<void()> body);

/// Whether LLVM has given up in this process: what it has left behind is of unknown state, so who
/// can start another process does.
bool llvmGaveUp();

} // namespace attnc

#endif
