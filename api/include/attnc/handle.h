#pragma once

/// What the C++ interface keeps of the C one: owners of its handles, and its errors as values.

#include "attnc/result.h"
#include "attnc_c.h"

#include <memory>

namespace attnc::detail {

struct Destroy {
  void operator()(attnc_error *error) const { attnc_error_destroy(error); }
  void operator()(attnc_program *program) const { attnc_program_destroy(program); }
  void operator()(attnc_loaded *loaded) const { attnc_loaded_destroy(loaded); }
  void operator()(attnc_plan *plan) const { attnc_plan_destroy(plan); }
  void operator()(attnc_jit *jit) const { attnc_jit_destroy(jit); }
};

/// Handles are immutable, so copies of an owner share one.
template <typename T> std::shared_ptr<T> own(T *handle) {
  return std::shared_ptr<T>(handle, Destroy());
}

inline ErrorKind kindOf(std::int32_t kind) {
  switch (kind) {
  case ATTNC_ERROR_INVALID_ARGUMENT:
    return ErrorKind::InvalidArgument;
  case ATTNC_ERROR_SPEC:
    return ErrorKind::Spec;
  case ATTNC_ERROR_ENVIRONMENT:
    return ErrorKind::Environment;
  case ATTNC_ERROR_COMPILATION:
    return ErrorKind::Compilation;
  default:
    return ErrorKind::Internal;
  }
}

/// What a call returned; destroys the C error.
inline Status toStatus(attnc_error *returned) {
  if (!returned)
    return {};
  std::unique_ptr<attnc_error, Destroy> error(returned);
  return Error{kindOf(attnc_error_kind(returned)), attnc_error_message(returned),
               attnc_error_remedy(returned)};
}

/// A call that fails only where attnc has a defect.
inline void expect(attnc_error *returned) {
  if (Status status = toStatus(returned); !status)
    misused("a query of a program failed:", status.error().text());
}

/// A struct of C whose fields are zero and whose size is set.
template <typename T> T sized() {
  T value = {};
  value.struct_size = sizeof value;
  return value;
}

} // namespace attnc::detail
