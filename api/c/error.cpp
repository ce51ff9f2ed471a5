#include "api/c/handles.h"

namespace attnc::api {

static int32_t kindOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::InvalidArgument:
    return ATTNC_ERROR_INVALID_ARGUMENT;
  case ErrorKind::Spec:
    return ATTNC_ERROR_SPEC;
  case ErrorKind::Environment:
    return ATTNC_ERROR_ENVIRONMENT;
  case ErrorKind::Compilation:
    return ATTNC_ERROR_COMPILATION;
  case ErrorKind::Internal:
    return ATTNC_ERROR_INTERNAL;
  }
  return ATTNC_ERROR_INTERNAL;
}

ErrorPtr toC(const Error &error) {
  return ErrorPtr(new attnc_error{kindOf(error.kind), error.message, error.remedy});
}

attnc_error *outOfMemory() noexcept {
  // Texts as short as these are held in the strings themselves.
  static attnc_error error{ATTNC_ERROR_ENVIRONMENT, "out of memory", ""};
  return &error;
}

} // namespace attnc::api

int32_t attnc_abi_version(void) { return ATTNC_ABI_VERSION; }
const char *attnc_version(void) { return ATTNC_VERSION; }

int32_t attnc_error_kind(const attnc_error *error) { return error->kind; }
const char *attnc_error_message(const attnc_error *error) { return error->message.c_str(); }
const char *attnc_error_remedy(const attnc_error *error) { return error->remedy.c_str(); }

void attnc_error_destroy(attnc_error *error) {
  if (error != attnc::api::outOfMemory())
    delete error;
}
