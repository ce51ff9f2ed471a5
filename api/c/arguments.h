// The arguments of a call as C passes them, turned into a request to bind, or into a key.
#ifndef ATTNC_API_C_ARGUMENTS_H
#define ATTNC_API_C_ARGUMENTS_H

#include "attnc_c.h"
#include "runtime/program/bind.h"
#include "runtime/program/layout_cache.h"

namespace attnc::api {

/// A call by slot: inputs, then outputs.
struct SlottedCall {
  LayoutKey key;
  std::vector<void *> tensors; ///< addresses
};

/// The arguments of a call in words, without any check of whether they fit the program: a call that
/// was checked before has the same words as one that may be made again. False where they are not
/// even that far in order; readArguments says what is wrong. Makes no text.
bool readSlots(const Manifest &manifest, const attnc_arguments *arguments, SlottedCall &call);

/// Sorts tensors into inputs and outputs, by name or by position, and takes from the outputs the
/// extents of dims that no input carries. All tensors are said to be on `device`. InvalidArgument:
/// what is malformed in itself; whether it fits the program is for `bind` to say.
Result<BindRequest> readArguments(const Manifest &manifest, const attnc_arguments *arguments,
                                  const Device &device);

} // namespace attnc::api

#endif
