// The spec that a command works on: from a file, from stdin or from the library.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_SPEC_OPTIONS_H
#define ATTNC_TOOLS_ATTNC_INPUT_SPEC_OPTIONS_H

#include "compiler/frontend/frontend.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/program/program.h"
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnc::cli {

/// A checked spec with the context that it lives in.
struct LoadedSpec {
  std::string fileName, text; // as read
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Spec> spec; // destroyed before its context
  /// With gradients: the spec and these as one program, what a run of both means. Else null.
  std::unique_ptr<Spec> whole;
  /// Of a program file, which is compiled already; `spec` is the one that it was made from.
  std::optional<Program> program;

  Diagnostics warnings; ///< what was found in it

  /// What a run is compared with, and takes its inputs from.
  const Spec &meaning() const { return whole ? *whole : *spec; }
};

/// What the command line changes in a spec.
struct SpecChanges {
  std::vector<std::string> set; ///< assignments of --set
  /// Of each --grad: inputs and params, with commas between; "all" stands for every input of reals.
  /// Each is of the program with the gradients of those before it.
  std::vector<std::string> grad = {};
};

/// Adds --set, and --grad, to a command.
void addSpecChanges(CLI::App &app, SpecChanges &changes);

/// Reads and checks a spec: a .json file, a .mlir file with one attn.program, "-" for stdin, or the
/// name of a spec of the library. Warnings go to stderr. Failures: Usage where there is no such
/// file or where it is a program file, and for a gradient that there is not; Environment where it
/// may not be read; SpecErrors.
LoadedSpec loadSpec(const std::string &argument, const SpecChanges &changes);

/// The same, and program files too. Failures of these: Usage for one that is damaged or lacks its
/// spec, and where `changes` would change it.
LoadedSpec loadSpecOrProgram(const std::string &argument, const SpecChanges &changes);

/// An option that may be given several times, with one value each.
CLI::Option *addRepeatable(CLI::App &app, const std::string &name, std::vector<std::string> &values,
                           const std::string &help);

/// The help of the argument SPEC.
extern const char *const specHelp;

} // namespace attnc::cli

#endif
