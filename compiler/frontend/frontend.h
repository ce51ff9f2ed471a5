// The frontend: the text of a spec becomes a program of the attn dialect.
#ifndef ATTNC_COMPILER_FRONTEND_FRONTEND_H
#define ATTNC_COMPILER_FRONTEND_FRONTEND_H

#include "compiler/frontend/text/diagnostics.h"
#include "compiler/frontend/text/spec_bases.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// Files above this size are refused before they are parsed: no spec is that long.
constexpr size_t maxSpecBytes = 1 << 20;

/// What the command line sets: `--set d=64` (a static extent), `--set T=f16` (a named type),
/// `--set w=128` (a let that is a number).
struct Overrides {
  std::map<std::string, std::string> values;
};

/// A spec that has been checked.
struct Spec {
  /// Holds exactly one attn.program, verified.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string name;
  std::string doc;
  /// The spec's `schedule` object: hints, not checked here. An empty object if there are none.
  nlohmann::json schedule = nlohmann::json::object();
  /// Where that object stands: a diagnostic about it, without its message.
  Diagnostic schedulePlace;
  /// The spec's `reference` object: {"shape": {dim: extent}} for the dynamic dims, or {}.
  nlohmann::json reference = nlohmann::json::object();
  /// Inputs and params whose gradients are asked for: then a compilation has a backward program
  /// beside the forward one (compiler/driver/gradient.h).
  std::vector<std::string> grad;
  /// Whether the forward program stores nothing for the backward one.
  bool savesLess = false;
  /// What it was parsed from, for who has it compiled elsewhere: the file's name without its
  /// folder, its text, and what was set. No text: it was a .mlir file, or extends a file.
  std::string fileName, text;
  Overrides overrides;
};

/// Parses the text of a spec (JSON with comments). `fileName` is used in locations, and by `bases`.
/// Returns nothing if there are errors; every finding, warnings included, is added to
/// `diagnostics`. Any bytes are accepted as text: what is wrong with them is reported, nothing is
/// thrown.
std::optional<Spec> parseSpec(mlir::MLIRContext &context, llvm::StringRef fileName,
                              llvm::StringRef text, const Overrides &overrides,
                              Diagnostics &diagnostics, const SpecBases &bases = {});

/// The text of a spec with all that it extends written out. Nothing on errors.
std::optional<nlohmann::ordered_json> wholeSpec(llvm::StringRef fileName, llvm::StringRef text,
                                                const SpecBases &bases, Diagnostics &diagnostics);

/// Parses a `.mlir` file that holds one attn.program. Its overrides, schedule, reference and grad
/// do not exist; name and doc are the program's. Errors as for parseSpec.
std::optional<Spec> parseAttnFile(mlir::MLIRContext &context, llvm::StringRef fileName,
                                  llvm::StringRef text, Diagnostics &diagnostics);

} // namespace attnc

#endif
