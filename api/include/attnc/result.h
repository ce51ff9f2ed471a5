#pragma once

/// Errors as values: what every function of attnc that can fail returns. C++17, the standard
/// library alone; a part of the installed interface (attnc.hpp).
///
/// attnc throws nothing across its borders. An `Error` says what is wrong (`message`, which names
/// the tensors, dims, files or calls concerned) and what the caller can do (`remedy`, may be
/// empty). `Result<T>` holds a T or an Error; `Status` is the Result of a function without a value.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace attnc {

enum class ErrorKind {
  InvalidArgument, ///< the caller's tensors, sizes, params, options or files do not fit
  Spec,            ///< the spec has errors; the message has their places
  Environment,     ///< the machine lacks something: no NVRTC, no GPU, no memory, no permission
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

namespace detail {

/// The end of a program that takes a value where there is an error, or the other way round: with
/// the reason, also in release builds.
[[noreturn]] inline void misused(const char *what, const std::string &message) {
  std::fprintf(stderr, "attnc: %s %s\n", what, message.c_str());
  std::abort();
}

} // namespace detail

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; where not ok() the program ends with the error's text.
  T &operator*() & { return value(); }
  const T &operator*() const & { return const_cast<Result *>(this)->value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &const_cast<Result *>(this)->value(); }

  /// The error; only where not ok().
  const Error &error() const {
    if (const Error *error = std::get_if<1>(&state))
      return *error;
    detail::misused("a Result that holds a value was asked for", "its error");
  }

private:
  T &value() {
    if (T *value = std::get_if<0>(&state))
      return *value;
    detail::misused("the value of a Result was used that holds an error:", error().text());
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
  /// The error; only where not ok().
  const Error &error() const {
    if (const Error *error = std::get_if<1>(&state))
      return *error;
    detail::misused("a Status of success was asked for", "its error");
  }

private:
  std::variant<std::monostate, Error> state;
};

using Status = Result<void>;

} // namespace attnc
