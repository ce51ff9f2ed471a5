#include "compiler/driver/divide_schedule.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/spec_hints.h"
#include "compiler/schedule/choice/schedule_json.h"
#include "compiler/schedule/nest/signature.h"

using namespace mlir;

namespace attnc::driver {

using Json = nlohmann::json;

// By the passes that make the nests, which are quick beside the others.
static Result<std::vector<std::string>> kernelNames(const Spec &spec,
                                                    const PipelineOptions &options) {
  OwningOpRef<ModuleOp> module(cast<ModuleOp>(spec.module.get()->clone()));
  attn::ProgramOp program = *module->getOps<attn::ProgramOp>().begin();
  for (const Step &step : steps(firstStepOf(program), "pack-results")) {
    Operation *op = program;
    if (step.on == Step::On::Module)
      op = *module;
    if (Status status = step.run(op, options); !status)
      return status.error();
  }
  std::vector<std::string> names;
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    names.push_back(schedule::kernelName(nest));
  return names;
}

// The keys without those of kernels that only the other program has.
static Json keysFor(const std::vector<std::string> &own, const std::vector<std::string> &others,
                    const Json &keys) {
  Json kept = Json::object();
  for (const auto &[key, value] : keys.items())
    if (llvm::is_contained(own, key) || !llvm::is_contained(others, key))
      kept[key] = value;
  return kept;
}

Status divideSchedule(GradientSpecs &specs, const Json &said, const std::string &target) {
  Json keys = scheduleKeys(specs.forward, said);
  specs.forward.schedule = specs.backward.schedule = keys;
  if (llvm::none_of(keys, [](const Json &value) { return value.is_object(); }))
    return {};
  PipelineOptions options = {.target = target, .overrides = keys};
  auto forward = kernelNames(specs.forward, options);
  auto backward = forward ? kernelNames(specs.backward, options) : forward.error();
  if (!backward)
    return backward.error();
  for (const auto &[key, value] : keys.items())
    if (value.is_object() && !llvm::is_contained(*forward, key) &&
        !llvm::is_contained(*backward, key))
      return schedule::refusal("there is no kernel '" + key + "'; there is " +
                               llvm::join(*forward, ", ") + ", " + llvm::join(*backward, ", "));
  specs.forward.schedule = keysFor(*forward, *backward, keys);
  specs.backward.schedule = keysFor(*backward, *forward, keys);
  return {};
}

} // namespace attnc::driver
