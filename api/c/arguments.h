// The arguments of a call as C passes them, turned into a request to bind.
#ifndef ATTNC_API_C_ARGUMENTS_H
#define ATTNC_API_C_ARGUMENTS_H

#include "attnc_c.h"
#include "runtime/program/bind.h"

namespace attnc::api {

/// Sorts tensors into inputs and outputs, by name or by position, and takes from the outputs the
/// extents of dims that no input carries. All tensors are said to be on `device`. InvalidArgument:
/// what is malformed in itself; whether it fits the program is for `bind` to say.
Result<BindRequest> readArguments(const Manifest &manifest, const attnc_arguments *arguments,
                                  const Device &device);

} // namespace attnc::api

#endif
