#pragma once

/// How to compile a spec.

#include "attnc/handle.h"

#include <string>
#include <vector>

namespace attnc {

/// Options{"sm_90a", {"d=128", "e=128"}}.
struct Options {
  /// "cpu", "sm_80", "sm_90a", ...; there is no default.
  std::string target;
  /// "name=value": static extents, named types, integer lets.
  std::vector<std::string> set = {};
  /// A JSON object with overrides of the schedule (docs/schedules.md); empty for attnc's choice.
  std::string schedule = {};
  /// Keep the IR and the generated code for Program::text, and compile at once what launches may
  /// need later.
  bool keepTexts = false;
  /// Neither read nor write the cache on disk.
  bool noCache = false;
  /// Take a name or path that ends in .mlir for a program in the attn dialect. Such text can say
  /// more than a spec, so it is refused unless asked for.
  bool allowMlir = false;
};

namespace detail {

/// Options as C takes them; points into those it is made from.
class COptions {
public:
  explicit COptions(const Options &options) : c(sized<attnc_compile_options>()) {
    for (const std::string &assignment : options.set)
      set.push_back(assignment.c_str());
    c.target = options.target.c_str();
    c.set = set.data();
    c.set_count = set.size();
    c.schedule = options.schedule.empty() ? nullptr : options.schedule.c_str();
    c.keep_texts = options.keepTexts;
    c.no_cache = options.noCache;
    c.allow_mlir = options.allowMlir;
  }
  COptions(const COptions &) = delete;
  COptions &operator=(const COptions &) = delete;

  const attnc_compile_options *get() const { return &c; }

private:
  attnc_compile_options c;
  std::vector<const char *> set;
};

} // namespace detail

} // namespace attnc
