#pragma once

/// Errors as values: what every function of the runtime that can fail returns.
///
/// Nothing in the runtime throws across its borders. An `Error` says what is wrong (`message`,
/// which names the tensors, dims, files or calls concerned) and what the caller can do (`remedy`,
/// may be empty). `Result<T>` holds a T or an Error; `Status` is the Result of a function without a
/// value.

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace attnc {

enum class ErrorKind {
  InvalidArgument, ///< the caller's tensors, sizes, params or files do not fit
  Environment,     ///< the machine lacks something: no NVRTC, no GPU, no permission
  Compilation,     ///< NVRTC or ptxas refused generated code
  Internal,        ///< a defect of attnc itself
};

struct Error {
  ErrorKind kind = ErrorKind::Internal;
  std::string message;
  std::string remedy;

  /// Message and, on a second line, the remedy if there is one.
  std::string text() const { return remedy.empty() ? message : message + "\n  " + remedy; }
};

inline Error invalidArgument(std::string message, std::string remedy = {}) {
  return {ErrorKind::InvalidArgument, std::move(message), std::move(remedy)};
}
inline Error environmentError(std::string message, std::string remedy = {}) {
  return {ErrorKind::Environment, std::move(message), std::move(remedy)};
}
inline Error compilationError(std::string message, std::string remedy = {}) {
  return {ErrorKind::Compilation, std::move(message), std::move(remedy)};
}
inline Error internalError(std::string message, std::string remedy = {}) {
  return {ErrorKind::Internal, std::move(message), std::move(remedy)};
}

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; only where ok().
  T &operator*() & { return value(); }
  const T &operator*() const & { return const_cast<Result *>(this)->value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &const_cast<Result *>(this)->value(); }

  /// The error; only where not ok().
  const Error &error() const {
    assert(!ok() && "no error in a Result that holds a value");
    return *std::get_if<1>(&state);
  }

private:
  T &value() {
    assert(ok() && "the value of a Result was used without a check");
    return *std::get_if<0>(&state);
  }

  std::variant<T, Error> state;
};

template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : state(std::move(error)) {}

  static Result success() { return {}; }

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error &error() const {
    assert(!ok() && "no error in a Status of success");
    return *std::get_if<1>(&state);
  }

private:
  std::variant<std::monostate, Error> state;
};

using Status = Result<void>;

} // namespace attnc
