// What stands behind the opaque handles of attnc_c.h, and the border between their errors and ours.
#ifndef ATTNC_API_C_HANDLES_H
#define ATTNC_API_C_HANDLES_H

#include "attnc/result.h"
#include "attnc_c.h"
#include "compiler/driver/compile.h"
#include "compiler/jit/fatal_error.h"
#include "runtime/program/loaded_program.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace attnc::api {

/// A compiled spec, with the arrays that C's structs point into.
struct CompiledProgram {
  driver::Compilation compilation;
  std::string manifestText, warnings;
  double seconds = 0;                          ///< from the text of the spec, or to read it
  int32_t origin = ATTNC_FROM_COMPILER;        ///< one of ATTNC_FROM_*
  std::vector<std::vector<const char *>> dims; ///< of each tensor
  std::vector<const DimDecl *> ownDims;        ///< without those computed for use inside
  /// Those beside "forward", with their names. They share code with this program, and do not need
  /// it to live.
  std::vector<std::pair<std::string, std::shared_ptr<const CompiledProgram>>> entries;

  const Manifest &manifest() const { return compilation.program.manifest; }
  bool onCpu() const { return compilation.target == "cpu"; }
  /// Inputs, then outputs; null beyond them.
  const TensorDecl *tensor(std::size_t index) const {
    const std::vector<TensorDecl> &inputs = manifest().inputs, &outputs = manifest().outputs;
    if (index < inputs.size())
      return &inputs[index];
    index -= inputs.size();
    return index < outputs.size() ? &outputs[index] : nullptr;
  }
};

class HostProgram;

} // namespace attnc::api

struct attnc_error {
  int32_t kind;
  std::string message, remedy;
};

struct attnc_program {
  std::shared_ptr<const attnc::api::CompiledProgram> compiled;
};

struct attnc_loaded {
  std::shared_ptr<const attnc::api::CompiledProgram> compiled;
  std::shared_ptr<const attnc::LoadedProgram> gpu;     ///< null for the target cpu
  std::shared_ptr<const attnc::api::HostProgram> host; ///< null for a GPU
};

struct attnc_plan {
  attnc_loaded loaded;
  std::shared_ptr<const attnc::LoadedProgram::Prepared> gpu; ///< null for the target cpu
  std::shared_ptr<const attnc::CallLayout> host;             ///< null for a GPU
  std::vector<void *> tensors;                               ///< of the target cpu, by slot

  const attnc::CallLayout &layout() const {
    return host ? *host : attnc::LoadedProgram::planOf(attnc::LoadedProgram::layoutOf(*gpu));
  }
};

namespace attnc::api {

using ErrorPtr = std::unique_ptr<attnc_error>;

/// The error of C for one of ours.
ErrorPtr toC(const Error &error);

/// Null for success.
inline ErrorPtr toC(const Status &status) { return status ? nullptr : toC(status.error()); }

/// An error that needs no memory; attnc_error_destroy leaves it alone.
attnc_error *outOfMemory() noexcept;

/// What a function of C returns: the error that `body` returns or that it throws. A fatal error of
/// LLVM is an internal one; then `body` has been left without its destructors (runContained).
template <typename Body> attnc_error *atBorder(Body &&body) noexcept {
  try {
    try {
      attnc_error *error = nullptr;
      Status contained = runContained([&] { error = ErrorPtr(body()).release(); });
      return contained ? error : toC(contained).release();
    } catch (const std::bad_alloc &) {
      return toC(environmentError("out of memory")).release();
    } catch (const std::exception &exception) {
      return toC(internalError(exception.what(), "report this with the spec")).release();
    }
  } catch (...) { // not even the error could be made
    return outOfMemory();
  }
}

/// A struct that the caller has filled, whose fields beyond its `struct_size` are zero.
template <typename T> Result<T> readStruct(const T *given, const char *type) {
  T value = {};
  if (!given || given->struct_size < sizeof given->struct_size)
    return invalidArgument(std::string(type) + " is missing or has no struct_size",
                           "set struct_size to sizeof(" + std::string(type) + ")");
  std::memcpy(&value, given, std::min(given->struct_size, sizeof value));
  return value;
}

/// Fills the fields that the caller's struct has.
template <typename T> Status writeStruct(T value, T *out, const char *type) {
  Result<T> asked = readStruct(static_cast<const T *>(out), type);
  if (!asked)
    return asked.error();
  value.struct_size = asked->struct_size;
  std::memcpy(out, &value, std::min(asked->struct_size, sizeof value));
  return {};
}

} // namespace attnc::api

#endif
