// What POST /v1/compile asks for.
#ifndef ATTNC_TOOLS_ATTNCD_WORKERS_COMPILE_REQUEST_H
#define ATTNC_TOOLS_ATTNCD_WORKERS_COMPILE_REQUEST_H

#include "compiler/driver/compile.h"

#include <string>
#include <string_view>

namespace attnc::service {

/// What the JSON of a request may have.
inline constexpr std::size_t maxRequestBytes = std::size_t(2) << 20;

/// A request whose members are of the right kind and size. The spec is not parsed yet, and the
/// schedule is only an object.
struct CompileRequest {
  std::string build; ///< that the client expects; empty: any
  std::string name;  ///< of the text, in diagnostics
  std::string text;  ///< of the spec
  Overrides overrides;
  std::string target; ///< one that there is, and not "cpu"
  nlohmann::json schedule;
  schedule::TuningDatabase tuned;
  std::optional<std::int64_t> memoryBudget;
  bool keepTexts = true;

  /// For compileProgram; without images, and with pointers into this.
  driver::CompileOptions options() const;
};

/// Reads the JSON of a request (docs/service.md has its members). Any bytes are safe. Error
/// (InvalidArgument): what is wrong with which member.
Result<CompileRequest> readCompileRequest(std::string_view json);

} // namespace attnc::service

#endif
