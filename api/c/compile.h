// What the functions of C that compile have in common.
#ifndef ATTNC_API_C_COMPILE_H
#define ATTNC_API_C_COMPILE_H

#include "api/c/handles.h"
#include "compiler/frontend/frontend.h"
#include <chrono>
#include <optional>

namespace attnc::api {

/// attnc_compile_options as C++ values.
struct Options {
  std::string target;
  Overrides overrides;
  nlohmann::json schedule;
  bool keepTexts = false, noCache = false, allowMlir = false;
};

Result<Options> readOptions(const attnc_compile_options *given);

/// A spec to compile.
struct SpecInput {
  std::string name; ///< stands for it in errors
  llvm::StringRef text;
  SpecBases bases; ///< what it may extend
};

/// Compiles a spec, or takes its program from the cache on disk.
ErrorPtr compileText(const SpecInput &input, const Options &options,
                     std::shared_ptr<const CompiledProgram> &program);

/// At most one byte more than a spec may have: then compileText says that it is too long. Error
/// (Environment): it cannot be read.
Result<std::string> readSpecFile(const char *path);

/// Takes the backward program out of a compilation that has one: as one of its own, which needs
/// nothing of `whole` but shares with it what is compiled on first use. Their counts and times are
/// those of both, which were made together.
std::optional<driver::Compilation> takeBackward(driver::Compilation &whole);

/// A compilation and its entry points, with what C's structs point into; `start` is when it began.
/// Without `keepTexts` the texts that nobody has asked for are dropped.
std::shared_ptr<CompiledProgram> describe(driver::Compilation compilation, bool keepTexts,
                                          int32_t origin,
                                          std::chrono::steady_clock::time_point start);

} // namespace attnc::api

#endif
