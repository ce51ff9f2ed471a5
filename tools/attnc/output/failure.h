// How a command ends: exit codes, and the exception that ends it early.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_FAILURE_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_FAILURE_H

#include "attnc/result.h"
#include "compiler/frontend/text/diagnostics.h"
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace attnc::cli {

/// What scripts rely on.
enum ExitCode {
  Done = 0,
  CheckFailed = 1,
  Usage = 2,
  SpecErrors = 3,
  Environment = 4,
  Internal = 5
};

/// How to report a defect of ours.
extern const char *const reportLine;

/// Ends a command: thrown inside this tool only, and caught by main, which prints it.
class Failure : public std::runtime_error {
public:
  Failure(ExitCode code, std::string message, std::string remedy = {});
  /// The findings about a spec; they are printed as they are.
  explicit Failure(Diagnostics diagnostics);
  /// The findings about another file; they are printed as they are.
  Failure(ExitCode code, Diagnostics diagnostics);

  ExitCode code() const { return exitCode; }
  /// To stderr; with a line on how to report it if the defect is ours.
  void print(bool colour) const;
  nlohmann::ordered_json toJson() const;

private:
  ExitCode exitCode;
  std::string remedy;
  Diagnostics diagnostics;
};

/// The exit code of an error; `argument` is that of InvalidArgument.
ExitCode exitCodeOf(const Error &error, ExitCode argument);

/// The value of `result`, or a Failure.
template <typename T> T orFail(Result<T> result, ExitCode argument = Usage) {
  if (!result)
    throw Failure(exitCodeOf(result.error(), argument), result.error().message,
                  result.error().remedy);
  return std::move(*result);
}
inline void orFail(Status status, ExitCode argument = Usage) {
  if (!status)
    throw Failure(exitCodeOf(status.error(), argument), status.error().message,
                  status.error().remedy);
}

} // namespace attnc::cli

#endif
