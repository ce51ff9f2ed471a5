#include "compiler/jit/compile_program.h"
#include "compiler/jit/fatal_error.h"
#include "compiler/jit/open_program.h"
#include "compiler/jit/program_key.h"
#include "compiler/jit/remote_compile.h"
#include "compiler/jit/spec_texts.h"
#include <chrono>

namespace attnc {

using driver::Compilation;

namespace {

// With the texts that a program keeps. Others may wait for it, so LLVM may not end it halfway.
Result<Compilation> compileWhole(const Spec &spec, const driver::CompileOptions &options) {
  Result<Compilation> compiled = internalError("LLVM gave up");
  Status contained = runContained([&] {
    Result<Compilation> whole = driver::compile(spec, options);
    if (whole) {
      addSpec(spec, whole->program);
      addExplanation(spec, *whole);
    }
    compiled = std::move(whole);
  });
  return contained ? std::move(compiled) : contained.error();
}

Result<ReadyProgram> compileOnly(const Spec &spec, const driver::CompileOptions &options) {
  Result<Compilation> compiled = compileWhole(spec, options);
  return compiled ? Result<ReadyProgram>(ReadyProgram{*std::move(compiled)}) : compiled.error();
}

Result<cache::Store::Value> valueOf(Result<std::string> bytes, cache::Source source) {
  return bytes ? Result<cache::Store::Value>(cache::Store::Value{*std::move(bytes), source})
               : bytes.error();
}

// What is stored of a compilation. Who has no NVRTC may have no way to what waits for its first
// use, so without all of it the program stays on this machine.
Result<cache::Store::Value> storedOf(const Compilation &compiled, bool hasNvrtc) {
  Result<Program> whole = hasNvrtc ? storable(compiled) : completed(compiled);
  return valueOf(serializeProgram(whole ? *whole : storable(compiled)),
                 whole ? cache::Source::Made : cache::Source::Disk);
}

// What was just compiled is not read back; `made` gets it.
Result<cache::Store::Value> compileOrRead(const Spec &spec, const driver::CompileOptions &options,
                                          cache::Store &store, std::optional<Compilation> &made) {
  return store.getOrMake(
      cache::Tier::Program, programKey(spec, options), [&]() -> Result<cache::Store::Value> {
        Result<Compilation> compiled = compileWhole(spec, options);
        if (!compiled)
          return compiled.error();
        Result<cache::Store::Value> value = storedOf(*compiled, !lacksNvrtc(options));
        made = *std::move(compiled);
        return value;
      });
}

Result<ReadyProgram> opened(const cache::Store::Value &stored,
                            const driver::CompileOptions &options) {
  Result<Program> program = deserializeProgram(stored.bytes);
  Result<Compilation> ready =
      program ? openProgram(*std::move(program), options.images) : program.error();
  return ready ? Result<ReadyProgram>(ReadyProgram{*std::move(ready), stored.source})
               : ready.error();
}

Result<ReadyProgram> through(cache::Store &store, const Spec &spec,
                             const driver::CompileOptions &options) {
  std::optional<Compilation> made;
  Result<cache::Store::Value> stored = compileOrRead(spec, options, store, made);
  if (made)
    return ReadyProgram{*std::move(made)};
  if (!stored)
    return stored.error();
  if (Result<ReadyProgram> ready = opened(*stored, options))
    return ready;
  // What a pack has brought under our key may be anything: it is made anew.
  Result<ReadyProgram> fresh = compileOnly(spec, options);
  if (fresh)
    if (Result<cache::Store::Value> value = storedOf(fresh->compilation, !lacksNvrtc(options)))
      store.put(cache::Tier::Program, programKey(spec, options), value->bytes, value->source);
  return fresh;
}

// The program that a service has compiled, with whichever NVRTC, or compiles now. No lock is held
// while it does: it knows itself that others wait for the same. Nothing: there is none.
std::optional<Result<ReadyProgram>> fromService(cache::Store &store, const Spec &spec,
                                                const driver::CompileOptions &options,
                                                Error &unreached) {
  if (!store.remote() || options.target == "cpu" || spec.text.empty())
    return std::nullopt;
  driver::CompileOptions asked = options;
  asked.images = nullptr;
  std::string key = programKey(spec, asked);
  std::optional<cache::Store::Value> found = store.find(cache::Tier::Program, key);
  if (!found) {
    std::optional<Result<std::string>> there =
        compileElsewhere(spec, asked, *store.remote(), unreached);
    if (!there)
      return std::nullopt;
    if (!*there)
      return Result<ReadyProgram>(there->error());
    found = {**std::move(there), cache::Source::Remote};
    store.put(cache::Tier::Program, key, found->bytes, cache::Source::Remote);
  }
  Result<ReadyProgram> ready = opened(*found, options);
  return ready ? std::optional(std::move(ready)) : std::nullopt;
}

// No NVRTC here and no service that helps: both are worth knowing.
Error neither(const Error &here, const Error &there) {
  if (here.kind != ErrorKind::Environment || there.message.empty())
    return here;
  return {here.kind, here.message + "; nor was it compiled elsewhere: " + there.message,
          there.remedy.empty() ? here.remedy : there.remedy};
}

Result<ReadyProgram> hereOrElsewhere(cache::Store &store, const Spec &spec,
                                     const driver::CompileOptions &options) {
  Error unreached;
  bool lacks = lacksNvrtc(options);
  if (lacks)
    if (std::optional<Result<ReadyProgram>> ready = fromService(store, spec, options, unreached))
      return *std::move(ready);
  Result<ReadyProgram> here = through(store, spec, options);
  if (here || here.error().kind != ErrorKind::Environment)
    return here;
  if (!lacks) // there is an NVRTC, and it is of no use
    if (std::optional<Result<ReadyProgram>> ready = fromService(store, spec, options, unreached))
      return *std::move(ready);
  return neither(here.error(), unreached);
}

} // namespace

Result<ReadyProgram> compileProgram(const Spec &spec, driver::CompileOptions options,
                                    cache::Store *store) {
  auto start = std::chrono::steady_clock::now();
  options.parts = driver::SplitVariant::OnFirstUse;
  if (!options.verifyPasses) // a program does not depend on extents, and neither does what it says
    options.extents = referenceShape(spec);
  bool isStored = store && !options.verifyPasses;
  Result<ReadyProgram> program =
      isStored ? hereOrElsewhere(*store, spec, options) : compileOnly(spec, options);
  if (program)
    program->seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return program;
}

} // namespace attnc
