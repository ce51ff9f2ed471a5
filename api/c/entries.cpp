#include "compiler/driver/entries.h"
#include "api/c/compile.h"

#include <fmt/format.h>

namespace attnc::api {

std::optional<driver::Compilation> takeBackward(driver::Compilation &whole) {
  std::shared_ptr<const driver::Compilation> made = std::exchange(whole.backward, nullptr);
  if (!made)
    return std::nullopt;
  whole.nvrtcSeconds += made->nvrtcSeconds;
  whole.imagesCompiled += made->imagesCompiled;
  whole.imagesCached += made->imagesCached;
  driver::Compilation backward;
  backward.target = whole.target;
  backward.name = made->name;
  for (auto text : {&driver::Compilation::attn, &driver::Compilation::red,
                    &driver::Compilation::tile, &driver::Compilation::llvm})
    backward.*text = made.get()->*text;
  // What waits is known by its names in the whole.
  backward.program = *driver::entryOf(whole.program, driver::backwardEntry);
  backward.deferred = whole.deferred;
  backward.cpu = made->cpu;
  backward.nvrtcSeconds = whole.nvrtcSeconds;
  backward.imagesCompiled = whole.imagesCompiled;
  backward.imagesCached = whole.imagesCached;
  return backward;
}

} // namespace attnc::api

using namespace attnc;
using namespace attnc::api;

/// The entry point that a program is bound and launched as.
static constexpr const char *forwardEntry = "forward";

static std::string namesOf(const attnc_program &program) {
  std::string names = forwardEntry;
  for (const auto &[name, entry] : program.compiled->entries)
    names += ", " + name;
  return names;
}

static Result<std::shared_ptr<const CompiledProgram>> findEntry(const attnc_program &program,
                                                                const char *asked) {
  if (!asked)
    return invalidArgument("the name of the entry point is NULL");
  if (asked == std::string_view(forwardEntry))
    return program.compiled;
  for (const auto &[name, entry] : program.compiled->entries)
    if (name == asked)
      return entry;
  return invalidArgument(fmt::format("the program {} has no entry point '{}'",
                                     program.compiled->compilation.name, asked),
                         program.compiled->entries.empty()
                             ? "it has only 'forward'; a spec with `grad` has 'backward', too"
                             : "its entry points are: " + namesOf(program));
}

size_t attnc_program_entry_count(const attnc_program *program) {
  return 1 + program->compiled->entries.size();
}

const char *attnc_program_entry_name(const attnc_program *program, size_t index) {
  const auto &entries = program->compiled->entries;
  if (index > entries.size())
    return nullptr;
  return index == 0 ? forwardEntry : entries[index - 1].first.c_str();
}

attnc_error *attnc_program_entry(const attnc_program *program, const char *name,
                                 attnc_program **entry) {
  return atBorder([&]() -> ErrorPtr {
    *entry = nullptr;
    Result<std::shared_ptr<const CompiledProgram>> found = findEntry(*program, name);
    if (!found)
      return toC(found.error());
    *entry = new attnc_program{*std::move(found)};
    return nullptr;
  });
}
