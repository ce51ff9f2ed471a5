#include "tools/attncd/workers/compile_job.h"

#include "compiler/jit/build_id.h"
#include "compiler/jit/compile_program.h"
#include "compiler/jit/fatal_error.h"
#include "compiler/jit/open_program.h"
#include "compiler/jit/program_key.h"
#include "compiler/jit/remote_compile.h"
#include "kernels_spec/library.h"
#include "runtime/program/byte_count.h"
#include "tools/attncd/workers/compile_request.h"

#include "mlir/IR/MLIRContext.h"
#include <fmt/format.h>

namespace attnc::service {

namespace {

using driver::CompileWatch;

CompileAnswer failed(std::string kind, const Error &error, std::string limit = {}) {
  CompileAnswer answer;
  answer.failure = {std::move(kind), error.message, error.remedy, std::move(limit)};
  return answer;
}

const char *kindOf(const Error &error) {
  switch (error.kind) {
  case ErrorKind::InvalidArgument:
    return "invalid_argument";
  case ErrorKind::Spec:
    return "spec";
  case ErrorKind::Environment:
    return "environment";
  case ErrorKind::Compilation:
    return "compilation";
  case ErrorKind::Internal:
    break;
  }
  return "internal";
}

std::string textOf(const Diagnostics &diagnostics) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  diagnostics.render(stream, /*colour=*/false);
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

/// The spec of a request in its context.
struct Parsed {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  Diagnostics diagnostics;
  std::optional<Spec> spec;

  Status parse(const CompileRequest &request) {
    return runContained([&] {
      driver::loadDialects(context);
      spec = parseSpec(context, request.name, request.text, request.overrides, diagnostics,
                       libraryBases());
      if (!spec)
        return;
      // Without its text nobody asks another service for the program, which may be this one.
      spec->text.clear();
    });
  }
};

class Job {
public:
  Job(const CompileRequest &request, const Spec &spec, const JobLimits &limits,
      const JobPlace &place, CompileWatch &watch)
      : spec(spec), limits(limits), place(place), watch(watch), options(request.options()) {
    key = programKey(spec, options); // before there are images: of whichever NVRTC
  }

  CompileAnswer run() {
    if (Status status = watch.enter("cache"); !status)
      return failure(status.error());
    if (std::optional<CompileAnswer> known = stored())
      return *std::move(known);
    options.images = place.images;
    // Before the lock of its key, which a client that waits for this answer may hold.
    if (lacksNvrtc(options))
      return failure(place.images->nvrtc().error());
    options.watch = &watch;
    Result<ReadyProgram> ready = compileProgram(spec, options, place.store.get());
    if (!ready)
      return failure(ready.error());
    Result<Program> whole = completed(ready->compilation, &watch);
    Result<std::string> bytes = whole ? serializeProgram(*whole) : whole.error();
    if (!bytes)
      return failure(bytes.error());
    if (bytes->size() <= limits.outputBytes && place.store)
      place.store->put(cache::Tier::Program, key, *bytes);
    return answer(*bytes, ready->source);
  }

private:
  /// What another job has made, here or elsewhere in the fleet. What waits for its first use is no
  /// answer: a client without NVRTC could not use it.
  std::optional<CompileAnswer> stored() {
    if (!place.store)
      return std::nullopt;
    std::uint64_t before = place.store->stats().counts.remote;
    std::optional<std::string> bytes = place.store->get(cache::Tier::Program, key);
    Result<Program> program = bytes ? deserializeProgram(*bytes) : internalError("");
    if (!program || std::any_of(program->images.begin(), program->images.end(),
                                [](const Image &image) { return image.kind == ImageKind::Cuda; }))
      return std::nullopt;
    bool isRemote = place.store->stats().counts.remote != before;
    return answer(*bytes, isRemote ? cache::Source::Remote : cache::Source::Disk);
  }

  CompileAnswer answer(const std::string &bytes, cache::Source source) const {
    if (bytes.size() > limits.outputBytes)
      return failed("limit",
                    compilationError(fmt::format("the program has {}, and the limit is {}",
                                                 bytesText(double(bytes.size())),
                                                 bytesText(double(limits.outputBytes))),
                                     "divide the spec, or have the limit raised"),
                    "output");
    CompileAnswer answer;
    answer.entry = cache::encodeEntry(cache::Tier::Program, key, bytes);
    answer.key = key;
    answer.from = nameOf(source);
    return answer;
  }

  CompileAnswer failure(const Error &error) const {
    if (std::optional<CompileWatch::Crossed> crossed = watch.crossed())
      return failed("limit", crossed->error,
                    crossed->limit == CompileWatch::Limit::Time ? "time" : "kernels");
    return failed(kindOf(error), error);
  }

  const Spec &spec;
  const JobLimits &limits;
  const JobPlace &place;
  CompileWatch &watch;
  driver::CompileOptions options;
  std::string key;
};

} // namespace

CompileAnswer compileJob(std::string_view text, const JobLimits &limits, const JobPlace &place,
                         const CompileWatch::Progress &progress) {
  CompileWatch watch(limits.compile, progress);
  if (Status status = watch.enter("parsing"); !status)
    return failed("limit", status.error(), "time");
  Result<CompileRequest> request = readCompileRequest(text);
  if (!request)
    return failed(kindOf(request.error()), request.error());
  if (!request->build.empty() && request->build != buildId())
    return failed("other_build",
                  invalidArgument(fmt::format("the service is build {}, and build {} was asked for",
                                              buildId(), request->build),
                                  "use one build of attnc everywhere"));
  auto parsed = std::make_unique<Parsed>();
  CompileAnswer answer = [&] {
    if (Status status = parsed->parse(*request); !status)
      return failed(kindOf(status.error()), status.error());
    if (!parsed->spec)
      return failed("spec", Error{ErrorKind::Spec, textOf(parsed->diagnostics), ""});
    return Job(*request, *parsed->spec, limits, place, watch).run();
  }();
  if (llvmGaveUp())
    (void)parsed.release(); // it is half-done, and the process is over
  return answer;
}

} // namespace attnc::service
