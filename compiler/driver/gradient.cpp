#include "compiler/driver/gradient.h"
#include "compiler/driver/checks/check.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/reported_errors.h"
#include "compiler/driver/step_pass.h"
#include "compiler/transforms/fusion/partition.h"
#include "compiler/transforms/gradient/differentiate.h"
#include "compiler/transforms/gradient/unread_inputs.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace attnc::driver {

std::vector<std::string> gradientInputs(const Spec &spec, const std::vector<std::string> &names) {
  std::vector<std::string> inputs;
  for (const std::string &name : names)
    if (name != "all")
      inputs.push_back(name);
    else
      for (auto input : programOf(spec).getBodyBlock()->getOps<attn::InputOp>())
        if (isa<FloatType>(input.getType().getElementType()))
          inputs.push_back(input.getName().str());
  return inputs;
}

/// The spec with another program; the text is not that of the program.
static Spec withModule(const Spec &spec, OwningOpRef<ModuleOp> module) {
  Spec copy;
  copy.module = std::move(module);
  copy.name = spec.name;
  copy.doc = spec.doc;
  copy.schedule = spec.schedule;
  copy.schedulePlace = spec.schedulePlace;
  copy.reference = spec.reference;
  copy.overrides = spec.overrides;
  copy.savesLess = spec.savesLess;
  return copy;
}

static OwningOpRef<ModuleOp> copyOf(const Spec &spec) {
  return cast<ModuleOp>(spec.module.get()->clone());
}

static void nameAsGradient(Spec &spec) {
  spec.doc = "Gradients of " + (spec.doc.empty() ? spec.name : spec.doc);
  spec.name += "_grad";
  programOf(spec).setSymName(spec.name);
}

/// The passes before folds are joined: a value that is there already is one nest's.
static Status reassociateProducts(ModuleOp module) {
  ReportedErrors errors(module.getContext());
  std::optional<Error> error;
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  PipelineOptions options;
  options.error = &error;
  addSteps(passes, steps("desugar", "reassociate"), options);
  if (failed(passes.run(module)))
    return error ? *error
                 : internalError("gradients cannot be compiled: " + errors.str(),
                                 "report this with the spec");
  return {};
}

static std::set<std::string> gradientsOfOutputs(const Spec &spec) {
  std::set<std::string> names;
  unsigned order = gradientOrder(programOf(spec)) + 1;
  for (auto output : programOf(spec).getBodyBlock()->getOps<attn::OutputOp>())
    if (isa<FloatType>(output.getType()))
      names.insert(gradientName(output.getName(), order));
  return names;
}

static Result<GradientSpecs> halveWithoutSaving(const Spec &spec, GradientSpecs specs) {
  specs.forward = withModule(spec, copyOf(spec));
  specs.backward = withModule(specs.whole, copyOf(specs.whole));
  keepGradientsOnly(programOf(specs.backward), spec.grad);
  eraseUnreadInputs(programOf(specs.backward), specs.cotangents);
  OwningOpRef<ModuleOp> folds = copyOf(specs.backward);
  if (Status status = reassociateProducts(*folds); !status)
    return status.error();
  auto program = *folds->getOps<attn::ProgramOp>().begin();
  flattenNests(program);
  specs.recomputed = recomputedValues(program, specs.cotangents);
  return specs;
}

static Result<Spec> withGradients(const Spec &spec, Differentiation how,
                                  std::vector<std::string> *constant) {
  Spec whole = withModule(spec, copyOf(spec));
  nameAsGradient(whole);
  Result<std::vector<std::string>> independent = differentiate(programOf(whole), spec.grad, how);
  if (!independent)
    return independent.error();
  if (constant)
    *constant = std::move(*independent);
  return whole;
}

Result<Spec> wholeGradients(const Spec &spec, std::vector<std::string> *constant) {
  return withGradients(spec, {}, constant);
}

Result<Spec> differentiableGradients(const Spec &spec, std::vector<std::string> *constant) {
  return withGradients(spec, {.forMore = true}, constant);
}

Result<GradientSpecs> differentiateSpec(const Spec &spec) {
  Result<Spec> whole = wholeGradients(spec);
  if (!whole)
    return whole.error();
  GradientSpecs specs;
  specs.whole = std::move(*whole);
  specs.cotangents = gradientsOfOutputs(spec);
  if (spec.savesLess)
    return halveWithoutSaving(spec, std::move(specs));
  OwningOpRef<ModuleOp> nests = copyOf(specs.whole);
  if (Status status = reassociateProducts(*nests); !status)
    return status.error();
  specs.forward = withModule(spec, cast<ModuleOp>(nests->clone()));
  programOf(specs.forward).setSymName(spec.name);
  specs.backward = withModule(specs.whole, std::move(nests));
  std::set<std::string> ofBackward;
  for (const std::string &input : spec.grad)
    ofBackward.insert(gradientName(input, gradientOrder(programOf(specs.whole))));
  specs.saved =
      halve(programOf(specs.forward), programOf(specs.backward), specs.cotangents, ofBackward);
  specs.recomputed = recomputedValues(programOf(specs.backward), specs.cotangents);
  return specs;
}

} // namespace attnc::driver
