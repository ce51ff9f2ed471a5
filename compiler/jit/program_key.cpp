#include "compiler/jit/program_key.h"
#include "compiler/jit/build_id.h"
#include "compiler/jit/spec_digest.h"
#include "runtime/cache/key.h"

namespace attnc {

std::string programKey(const Spec &spec, const driver::CompileOptions &options) {
  bool onCpu = options.target == "cpu";
  cache::KeyBuilder key;
  key.add("build", buildId());
  key.add("spec", specDigest(spec));
  key.add("target", options.target);
  key.add("processor", onCpu ? cpu::hostProcessor() : "");
  key.add("nvrtc", onCpu || !options.images ? "" : options.images->identity());
  key.add("schedule", options.schedule.dump());
  key.add("tuned", !onCpu && options.tuned ? options.tuned->text() : "");
  key.add("memory budget", options.memoryBudget ? std::to_string(*options.memoryBudget) : "");
  key.add("texts", std::int64_t(options.keepTexts));
  return key.finish();
}

} // namespace attnc
