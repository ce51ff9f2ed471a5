// Every spec of the library, and specs beyond it, in the tile interpreter: the kernels of GPU
// targets at small shapes, in several orders of warps and asynchronous ops, against the float64
// evaluator.
#include "compiler/driver/interpreter_executor.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

Result<std::unique_ptr<driver::Executor>> interpret(const Spec &spec, const std::string &target) {
  driver::CompileOptions options;
  options.target = target;
  options.upTo = driver::Stage::Tile;
  Result<driver::Compilation> compilation = driver::compile(spec, options);
  if (!compilation)
    return compilation.error();
  return driver::makeInterpreterExecutor(*compilation);
}

/// Keys in whole multiples of 16 bytes where a kernel copies boxes from a tensor whose rows they
/// are.
Lengths alignedFor(const Manifest &manifest, Lengths lengths) {
  for (const LaunchDecl &launch : manifest.variants.front().launches)
    for (const ArgDecl &arg : launch.args)
      if (arg.kind == ArgKind::TensorMap && manifest.findTensor(arg.name)->dims.back() == "j")
        lengths.keys = llvm::alignTo(lengths.keys, 8);
  return lengths;
}

struct Interpreted {
  Setting setting;
  std::string target;
};

void PrintTo(const Interpreted &interpreted, std::ostream *os) {
  *os << interpreted.setting.name() << " on " << interpreted.target;
}

std::string nameOf(const testing::TestParamInfo<Interpreted> &info) {
  return info.param.setting.name() + "_" + info.param.target;
}

class InterpretedVariant : public testing::TestWithParam<Interpreted> {};

TEST_P(InterpretedVariant, isCorrectInAnyOrder) {
  LoadedSpec spec(GetParam().setting.spec, GetParam().setting.set);
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, GetParam().target);
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  for (Lengths lengths : {Lengths{17, 1}, Lengths{70, 100}, Lengths{129, 200}}) {
    Extents extents = spec.extents(alignedFor((*executor)->manifest(), lengths));
    if (extents.contains("b"))
      extents["b"] = 1;
    expectCorrect(*spec, **executor, extents);
  }
}

std::vector<Interpreted> allSpecs() {
  std::vector<Interpreted> list;
  std::vector<std::string> names = specNames();
  llvm::append_range(names, furtherSpecNames());
  for (const std::string &name : names)
    for (const char *target : {"sm_80", "sm_90a"})
      list.push_back({{name, {}}, target});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, InterpretedVariant, testing::ValuesIn(allSpecs()), nameOf);

class InterpretedAdversarial : public testing::TestWithParam<std::string> {};

TEST_P(InterpretedAdversarial, isCorrect) {
  LoadedSpec spec(GetParam());
  ASSERT_TRUE(spec);
  auto executor = interpret(*spec, "sm_90a");
  ASSERT_TRUE(executor.ok()) << executor.error().text();
  Extents extents = spec.extents(alignedFor((*executor)->manifest(), {70, 200}));
  if (extents.contains("b"))
    extents["b"] = 1;
  expectCorrectOnAdversarialInputs(*spec, **executor, extents);
}

INSTANTIATE_TEST_SUITE_P(Library, InterpretedAdversarial, testing::ValuesIn(specNames()),
                         [](const auto &info) { return info.param; });

std::vector<Interpreted> settings() {
  std::vector<Interpreted> list;
  for (const char *target : {"sm_80", "sm_90a"})
    for (const Setting &setting :
         {Setting{"causal", {{"T", "f16"}}}, Setting{"causal", {{"T", "f32"}}},
          Setting{"full", {{"d", "80"}, {"e", "128"}}},
          Setting{"causal", {{"d", "40"}, {"e", "40"}}},
          Setting{"causal", {{"d", "256"}, {"e", "256"}}}})
      list.push_back({setting, target});
  return list;
}

INSTANTIATE_TEST_SUITE_P(TypesAndHeadDims, InterpretedVariant, testing::ValuesIn(settings()),
                         nameOf);

} // namespace
} // namespace attnc::e2e
