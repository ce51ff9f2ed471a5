#include "tools/attnc/output/failure.h"
#include "tools/attnc/output/terminal.h"

#include <fmt/format.h>

namespace attnc::cli {

const char *const reportLine =
    "this is a defect of attnc: please report it with the command line, the spec and the output of "
    "`attnc doctor`";

Failure::Failure(ExitCode code, std::string message, std::string remedy)
    : std::runtime_error(std::move(message)), exitCode(code), remedy(std::move(remedy)) {}

Failure::Failure(Diagnostics diagnostics) : Failure(SpecErrors, std::move(diagnostics)) {}

Failure::Failure(ExitCode code, Diagnostics diagnostics)
    : std::runtime_error("a file has errors"), exitCode(code), diagnostics(std::move(diagnostics)) {
}

void Failure::print(bool colour) const {
  if (!diagnostics.all().empty()) {
    diagnostics.render(llvm::errs(), colour);
    return;
  }
  llvm::errs() << styled("error:", Style::Red, colour) << ' ' << what() << '\n';
  if (!remedy.empty())
    llvm::errs() << "  " << remedy << '\n';
  if (exitCode == Internal)
    llvm::errs() << "  " << reportLine << '\n';
}

nlohmann::ordered_json Failure::toJson() const {
  nlohmann::ordered_json json;
  json["ok"] = false;
  json["exit"] = static_cast<int>(exitCode);
  if (!diagnostics.all().empty())
    json["diagnostics"] = nlohmann::ordered_json(diagnostics.toJson());
  else
    json["error"] = {{"message", what()}, {"remedy", remedy}};
  return json;
}

ExitCode exitCodeOf(const Error &error, ExitCode argument) {
  switch (error.kind) {
  case ErrorKind::InvalidArgument:
    return argument;
  case ErrorKind::Spec:
    return SpecErrors;
  case ErrorKind::Environment:
    return Environment;
  case ErrorKind::Compilation: // of code that we have generated
  case ErrorKind::Internal:
    return Internal;
  }
  return Internal;
}

} // namespace attnc::cli
