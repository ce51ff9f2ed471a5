#include "compiler/jit/remote_compile.h"
#include "compiler/jit/build_id.h"
#include "compiler/jit/program_key.h"

namespace attnc {

std::string compileRequest(const Spec &spec, const driver::CompileOptions &options) {
  nlohmann::json request = {{"build", buildId()},
                            {"name", spec.fileName},
                            {"text", spec.text},
                            {"target", options.target},
                            {"keep_texts", options.keepTexts}};
  if (!spec.overrides.values.empty())
    request["set"] = spec.overrides.values;
  if (!options.schedule.is_null())
    request["schedule"] = options.schedule;
  if (options.memoryBudget)
    request["memory_budget"] = *options.memoryBudget;
  nlohmann::json &tuned = request["tuned"] = nlohmann::json::array();
  if (options.tuned)
    for (const auto &[origin, file] : options.tuned->all())
      tuned.push_back({{"origin", origin}, {"text", file.text()}});
  // JSON is UTF-8, and a comment of a spec may be something else.
  return request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool lacksNvrtc(const driver::CompileOptions &options) {
  return options.target != "cpu" && options.images && options.images->identity().empty();
}

std::optional<Result<std::string>> compileElsewhere(const Spec &spec,
                                                    const driver::CompileOptions &options,
                                                    cache::RemoteTier &remote, Error &unreached) {
  std::string key = programKey(spec, options);
  std::optional<Result<std::string>> entry =
      remote.compile(compileRequest(spec, options), std::string(buildId()), key, unreached);
  if (!entry || !*entry)
    return entry;
  return cache::decodeEntry(cache::Tier::Program, key, **entry);
}

} // namespace attnc
