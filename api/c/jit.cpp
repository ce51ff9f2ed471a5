#include "api/c/compile.h"
#include "compiler/frontend/text/extended_spec.h"
#include "kernels_spec/library.h"
#include "runtime/cache/memory_cache.h"

using namespace attnc;
using namespace attnc::api;

namespace {

/// What came of a spec: a program, or the error that whoever asks for it gets.
struct Outcome {
  std::shared_ptr<const CompiledProgram> program;
  ErrorPtr error;
};

/// What the next who asks would be told as well.
bool isLasting(const Outcome &outcome) {
  return !outcome.error || outcome.error->kind == ATTNC_ERROR_SPEC ||
         outcome.error->kind == ATTNC_ERROR_INVALID_ARGUMENT;
}

void addText(std::string &key, llvm::StringRef text) {
  key += std::to_string(text.size()) + ':' + text.str();
}

/// All that a program is made from, as the caller gave it.
std::string keyOf(const SpecInput &input, const Options &options) {
  std::string key;
  for (const std::string &part : {options.target, options.schedule.dump(), input.name})
    addText(key, part);
  for (bool flag : {options.keepTexts, options.noCache, options.allowMlir})
    key += flag ? '1' : '0';
  for (const auto &[set, value] : options.overrides.values) {
    addText(key, set);
    addText(key, value);
  }
  key += '|';
  addText(key, input.text);
  for (const SpecSource &base : basesOf(input.name, input.text, input.bases))
    addText(key, base.text);
  return key;
}

} // namespace

struct attnc_jit {
  explicit attnc_jit(std::size_t capacity) : programs(capacity) {}
  cache::MemoryCache<Outcome> programs;
};

static ErrorPtr getOrCompile(attnc_jit &jit, const SpecInput &input,
                             const attnc_compile_options *given, attnc_program **program) {
  Result<Options> options = readOptions(given);
  if (!options)
    return toC(options.error());
  // Others may wait for it, so LLVM may not end it halfway.
  auto make = [&] {
    auto outcome = std::make_shared<Outcome>();
    Status contained =
        runContained([&] { outcome->error = compileText(input, *options, outcome->program); });
    if (!contained)
      outcome->error = toC(contained);
    return outcome;
  };
  std::shared_ptr<const Outcome> outcome =
      jit.programs.getOrMake(keyOf(input, *options), make, isLasting);
  if (outcome->error)
    return ErrorPtr(new attnc_error(*outcome->error));
  *program = new attnc_program{outcome->program};
  return nullptr;
}

attnc_error *attnc_jit_create(const attnc_jit_options *given, attnc_jit **jit) {
  return atBorder([&]() -> ErrorPtr {
    *jit = nullptr;
    constexpr std::size_t usual = 256;
    attnc_jit_options options = {};
    if (given) {
      Result<attnc_jit_options> read = readStruct(given, "attnc_jit_options");
      if (!read)
        return toC(read.error());
      options = *read;
    }
    *jit = new attnc_jit(options.capacity ? options.capacity : usual);
    return nullptr;
  });
}

attnc_error *attnc_jit_text(attnc_jit *jit, const char *name, const char *text, size_t length,
                            const attnc_compile_options *options, attnc_program **program) {
  return atBorder([&]() -> ErrorPtr {
    *program = nullptr;
    if (!text)
      return toC(invalidArgument("the text of the spec is NULL"));
    return getOrCompile(*jit,
                        {name ? name : "<text>", llvm::StringRef(text, length), libraryBases()},
                        options, program);
  });
}

attnc_error *attnc_jit_file(attnc_jit *jit, const char *path, const attnc_compile_options *options,
                            attnc_program **program) {
  return atBorder([&]() -> ErrorPtr {
    *program = nullptr;
    if (!path)
      return toC(invalidArgument("the path of the spec is NULL"));
    Result<std::string> text = readSpecFile(path);
    return text ? getOrCompile(*jit, {path, *text, fileBases()}, options, program)
                : toC(text.error());
  });
}

attnc_error *attnc_jit_get_stats(attnc_jit *jit, attnc_jit_stats *out) {
  return atBorder([&] {
    cache::MemoryStats counts = jit->programs.stats();
    attnc_jit_stats stats = {};
    stats.programs = counts.values;
    stats.hits = counts.hits;
    stats.waits = counts.waits;
    stats.misses = counts.misses;
    stats.dropped = counts.dropped;
    return toC(writeStruct(stats, out, "attnc_jit_stats"));
  });
}

void attnc_jit_clear(attnc_jit *jit) { jit->programs.clear(); }
void attnc_jit_destroy(attnc_jit *jit) { delete jit; }
