#include "tests/unit/api/attention.h"
#include "tests/unit/cpp/specs.h"

using namespace attnc;
using namespace attnc::test;

namespace {

using Values = std::map<std::string, std::vector<float>>;

Tensor tensorOf(const TensorInfo &info, Values &tensors) {
  std::vector<std::int64_t> shape;
  for (const std::string &dim : info.dims)
    shape.push_back(Attention::extentOf(dim));
  return {info.name, tensors[info.name].data(), shape};
}

/// Runs a program of Attention on the cpu: takes its inputs from `tensors`, and puts its outputs
/// there.
void run(const Program &program, Values &tensors) {
  Arguments arguments;
  for (const TensorInfo &input : program.inputs())
    arguments.tensors.push_back(tensorOf(input, tensors));
  for (const TensorInfo &output : program.outputs()) {
    Result<std::vector<std::int64_t>> shape = program.shapeOf(output.name, arguments);
    ASSERT_EQ(said(shape), "");
    std::size_t count = 1;
    for (std::int64_t extent : *shape)
      count *= static_cast<std::size_t>(extent);
    tensors[output.name].assign(count, NAN);
    arguments.tensors.push_back(tensorOf(output, tensors));
  }
  Result<Loaded> onCpu = program.loadOn();
  ASSERT_EQ(said(onCpu), "");
  ASSERT_EQ(said(onCpu->launch(arguments)), "");
}

void expectGradients(const Values &tensors) {
  for (const auto &[name, values] : Attention().expected())
    for (std::size_t at = 0; at < values.size(); ++at)
      EXPECT_LE(std::abs(tensors.at(name).at(at) - values[at].value), values[at].bound)
          << name << " " << at;
}

TEST(Entry, BackwardComputesTheGradients) {
  Result<Program> program = compile(Spec::fromText(attentionSpec), {"cpu"});
  ASSERT_EQ(said(program), "");
  EXPECT_EQ(program->entryNames(), (std::vector<std::string>{"forward", "backward"}));
  Attention attention;
  run(*program, attention.tensors);
  Result<Program> backward = program->entry("backward");
  ASSERT_EQ(said(backward), "");
  run(*backward, attention.tensors);
  expectGradients(attention.tensors);
}

TEST(Entry, LivesWithoutTheWholeAndItsJit) {
  Attention attention;
  std::optional<Program> backward;
  {
    Result<Jit> jit = Jit::create();
    ASSERT_EQ(said(jit), "");
    Result<Program> program = jit->compile(Spec::fromText(attentionSpec), {"cpu"});
    ASSERT_EQ(said(program), "");
    run(*program->entry("forward"), attention.tensors);
    backward = *program->entry("backward");
  }
  run(*backward, attention.tensors);
  expectGradients(attention.tensors);
}

TEST(Entry, IsReadFromAProgramFile) {
  std::string path = testing::TempDir() + "attnc_cpp_entry.program";
  ASSERT_EQ(said(compile(Spec::fromText(attentionSpec), {"cpu"})->save(path)), "");
  Result<Program> program = Program::fromFile(path);
  ASSERT_EQ(said(program), "");
  std::remove(path.c_str());
  Attention attention;
  run(*program, attention.tensors);
  run(*program->entry("backward"), attention.tensors);
  expectGradients(attention.tensors);
}

TEST(Entry, ThatIsUnknownIsAnError) {
  Program program = compiled(scaled());
  EXPECT_EQ(program.entryNames(), std::vector<std::string>{"forward"});
  EXPECT_EQ(program.entry("forward")->name(), "scaled");
  EXPECT_EQ(said(program.entry("backward")),
            saying(ErrorKind::InvalidArgument, "the program scaled has no entry point 'backward'"));
}

TEST(Entry, GradientsAreAskedForBySpecsThatAreBuilt) {
  Program program = compiled(scaled().grad("x"));
  Result<Program> backward = program.entry("backward");
  ASSERT_EQ(said(backward), "");
  ASSERT_EQ(backward->outputs().size(), 1U);
  EXPECT_EQ(backward->outputs()[0].name, "grad_x");
  // y = 2 x, so dx = 2 dy.
  const float dy[] = {1, 2, 3, 4};
  float dx[4] = {};
  Result<Loaded> onCpu = backward->loadOn();
  ASSERT_EQ(said(onCpu), "");
  ASSERT_EQ(said(onCpu->launch({{{"grad_y", dy, {1, 4}}, {"grad_x", dx, {1, 4}}}})), "");
  EXPECT_EQ(dx[3], 8);
}

TEST(Entry, BackwardTakesTheGradientOfEachOutput) {
  // z does not depend on x.
  Program program = compiled(
      scaled().input("w", "T[n, d]").statement("z[n,d] = w[n,d] + 1").output("z", "T").grad("x"));
  Result<Program> backward = program.entry("backward");
  ASSERT_EQ(said(backward), "");
  const float dy[] = {1, 2, 3, 4}, dz[] = {5, 6, 7, 8};
  float dx[4] = {};
  Result<Loaded> onCpu = backward->loadOn();
  ASSERT_EQ(said(onCpu), "");
  ASSERT_EQ(said(onCpu->launch(
                {{{"grad_y", dy, {1, 4}}, {"grad_z", dz, {1, 4}}, {"grad_x", dx, {1, 4}}}})),
            "");
  EXPECT_EQ(dx[3], 8);
}

} // namespace
