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

// No NVRTC here and no service that helps: both are worth knowing.
Error neither(const Error &here, const Error &there) {
  if (here.kind != ErrorKind::Environment || there.message.empty())
    return here;
  return {here.kind, here.message + "; nor was it compiled elsewhere: " + there.message,
          there.remedy.empty() ? here.remedy : there.remedy};
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
  return store.getOrMake(cache::Tier::Program, programKey(spec, options),
                         [&]() -> Result<cache::Store::Value> {
                           Error unreached;
                           bool hasNvrtc = !lacksNvrtc(options);
                           if (store.remote() && !hasNvrtc && !spec.text.empty())
                             if (std::optional<Result<std::string>> there =
                                     compileElsewhere(spec, options, *store.remote(), unreached))
                               return valueOf(*std::move(there), cache::Source::Remote);
                           Result<Compilation> compiled = compileWhole(spec, options);
                           if (!compiled)
                             return neither(compiled.error(), unreached);
                           Result<cache::Store::Value> value = storedOf(*compiled, hasNvrtc);
                           made = *std::move(compiled);
                           return value;
                         });
}

Result<ReadyProgram> through(cache::Store &store, const Spec &spec,
                             const driver::CompileOptions &options) {
  std::optional<Compilation> made;
  Result<cache::Store::Value> stored = compileOrRead(spec, options, store, made);
  if (made)
    return ReadyProgram{*std::move(made)};
  if (!stored)
    return stored.error();
  Result<Program> program = deserializeProgram(stored->bytes);
  Result<Compilation> opened =
      program ? openProgram(*std::move(program), options.images) : program.error();
  if (opened)
    return ReadyProgram{*std::move(opened), stored->source};
  // What a pack has brought under our key may be anything: it is made anew.
  Result<ReadyProgram> fresh = compileOnly(spec, options);
  if (fresh)
    if (Result<std::string> bytes = serializeProgram(storable(fresh->compilation)))
      store.put(cache::Tier::Program, programKey(spec, options), *bytes);
  return fresh;
}

} // namespace

Result<ReadyProgram> compileProgram(const Spec &spec, driver::CompileOptions options,
                                    cache::Store *store) {
  auto start = std::chrono::steady_clock::now();
  options.parts = driver::PartsVariant::OnFirstUse;
  if (!options.verifyPasses) // a program does not depend on extents, and neither does what it says
    options.extents = referenceShape(spec);
  bool isStored = store && !options.verifyPasses;
  Result<ReadyProgram> program =
      isStored ? through(*store, spec, options) : compileOnly(spec, options);
  if (program)
    program->seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return program;
}

} // namespace attnc
