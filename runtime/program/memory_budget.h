#pragma once

/// What goes through memory between kernels: how many bytes at a shape, which value, why; and
/// whether the caller allows it.

#include "attnc/result.h"
#include "runtime/program/launch.h"

#include <string>
#include <vector>

namespace attnc {

/// A value in the workspace. Aligned copies of inputs and outputs count as values.
struct StoredValue {
  const TensorDecl *tensor = nullptr;
  std::int64_t bytes = 0; ///< with the padding of its rows
};

/// The intermediates that lie in `workspace`, the largest first.
std::vector<StoredValue> storedValues(const Manifest &manifest, const Workspace &workspace,
                                      const Scope &scope);

/// One indented line for each of the largest values: its name, type, bytes, place in the spec and
/// why it is stored, as far as the manifest knows; each line begins with a line feed. Empty if
/// there are none.
std::string describe(const std::vector<StoredValue> &values);

/// The extents that the caller chooses, "b=2, i=300", not those that follow from them; words where
/// there are none.
std::string shapeText(const Manifest &manifest, const Scope &scope);

/// Whether the values in `workspace` fit the binding's memory budget. The error (InvalidArgument)
/// has their bytes, the shape, the budget, and what `describe` says.
Status checkMemoryBudget(const Manifest &manifest, const Workspace &workspace,
                         const Binding &binding);

/// The error for a workspace that there is no memory for: `cause` with what lies in it.
Error noMemoryFor(const Manifest &manifest, const Workspace &workspace, const Scope &scope,
                  const Error &cause);

} // namespace attnc
