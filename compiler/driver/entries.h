// Several programs as the entry points of one.
#ifndef ATTNC_COMPILER_DRIVER_ENTRIES_H
#define ATTNC_COMPILER_DRIVER_ENTRIES_H

#include "attnc/result.h"
#include "runtime/program/program.h"

namespace attnc::driver {

/// The name of the entry point that a program with gradients has beside "forward".
inline constexpr const char *backwardEntry = "backward";

/// Adds `other` to `whole` as the entry point `name`, with its images and sources, under other
/// names where `whole` has these.
void addEntry(Program &whole, const std::string &name, Program other);

/// What the names of an entry point's texts begin with in the whole program: "backward.".
std::string textPrefix(const std::string &entry);

/// An entry point beside "forward" as a program of its own: its images under the names that they
/// have in `whole`, their sources, and its texts. Error (InvalidArgument): there is none of this
/// name.
Result<Program> entryOf(const Program &whole, const std::string &name);

} // namespace attnc::driver

#endif
