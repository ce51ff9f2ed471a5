/// The C++ interface of attnc: docs/cpp-api.md.
///
///   compile or Jit::compile   spec, options       -> Program   in host memory, no GPU needed
///   Program::loadOn           number of the GPU   -> Loaded    its kernels on one device
///   Loaded::bind              tensors, params     -> Plan      everything checked
///   Plan::launch              stream, workspace                asynchronous, again and again
///
/// C++17 and the standard library alone, inline over the functions of attnc_c.h: any compiler and
/// any standard library can be used, whichever attnc itself was built with.
///
/// Errors. What can fail returns a Result or a Status; then nothing was launched. attnc throws
/// nothing; the containers that hold arguments and answers may throw std::bad_alloc.
///
/// Ownership. Programs, plans and the like are handles: copies share what stands behind them, each
/// keeps alive what it needs, and they may go in any order. Memory of tensors is the caller's.
///
/// Threads. Handles may be used from several threads at the same time, but not assigned or
/// destroyed while another thread uses that same handle.
///
/// Units. Extents and strides are counted in elements, memory in bytes, times in seconds.
#pragma once

#include "attnc/jit.h"
#include "attnc/launch.h"

#include <string_view>

namespace attnc {

/// The version of the library that was loaded, "0.1.0".
inline std::string_view version() { return attnc_version(); }

} // namespace attnc
