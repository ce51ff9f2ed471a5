#include "tests/unit/cpp/specs.h"

#include <fstream>
#include <iterator>

using namespace attnc;
using namespace attnc::test;

namespace {

TEST(Program, TellsWhatItTakesAndGives) {
  Program program = compiled(scaled());
  EXPECT_EQ(version(), ATTNC_VERSION);
  EXPECT_EQ(program.name(), "scaled");
  EXPECT_EQ(program.target(), "cpu");
  std::vector<TensorInfo> inputs = program.inputs(), outputs = program.outputs();
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].dtype, DType::F32);
  EXPECT_EQ(inputs[0].dims, (std::vector<std::string>{"n", "d"}));
  EXPECT_EQ(inputs[0].align % 4, 0);
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].name, "y");
  ASSERT_EQ(program.dims().size(), 2U);
  for (const DimInfo &dim : program.dims())
    EXPECT_EQ(dim.extent, dim.name == "d" ? std::optional<std::int64_t>(4) : std::nullopt);
  ASSERT_EQ(program.params().size(), 1U);
  EXPECT_EQ(program.params()[0].name, "by");
  EXPECT_EQ(program.params()[0].dtype, DType::F32);
  EXPECT_TRUE(program.params()[0].hasDefault);
  ASSERT_EQ(program.kernels().size(), 1U);
  EXPECT_EQ(program.kernels()[0].form, "cpu");
  EXPECT_EQ(program.kernels()[0].registers, -1);
  EXPECT_GT(program.timings().total, 0);
  EXPECT_EQ(program.timings().nvrtc, 0);
}

TEST(Program, KeepsTextsIfAsked) {
  EXPECT_FALSE(compiled(scaled()).text(Text::Llvm));
  EXPECT_EQ(compiled(scaled()).text(Text::Warnings), "");
  Options options = {"cpu"};
  options.keepTexts = true;
  std::optional<std::string_view> llvm = compiled(scaled(), options).text(Text::Llvm);
  ASSERT_TRUE(llvm);
}

TEST(Program, OptionsReachTheCompiler) {
  Program program = compiled(scaled(), {"cpu", {"T=f64", "d=8"}});
  EXPECT_EQ(program.inputs()[0].dtype, DType::F64);
  EXPECT_EQ(said(compile(scaled().spec(), {"cpu", {"d"}})),
            saying(ErrorKind::InvalidArgument, "set: 'd' is not of the form name=value"));
  EXPECT_EQ(said(compile(scaled().spec(), {"cpu", {}, "[]"})),
            saying(ErrorKind::InvalidArgument, "the schedule is not a JSON object"));
  EXPECT_EQ(compile(scaled().spec(), {"sm_1"}).error().kind, ErrorKind::InvalidArgument);
}

TEST(Program, MlirIsTakenOnlyWhereAllowed) {
  Spec mlir = Spec::fromText("module {", "text.mlir");
  Options options = {"cpu"};
  ErrorKind refused = compile(mlir, options).error().kind;
  EXPECT_EQ(refused, ErrorKind::InvalidArgument);
  options.allowMlir = true;
  EXPECT_EQ(compile(mlir, options).error().kind, ErrorKind::Spec);
}

TEST(Program, ShapesOfOutputsComeFromThoseOfInputs) {
  Program program = compiled(scaled());
  const float *nowhere = nullptr;
  Arguments given = {{{"x", nowhere, {7, 4}}}};
  Result<std::vector<std::int64_t>> shape = program.shapeOf("y", given);
  ASSERT_EQ(said(shape), "");
  EXPECT_EQ(*shape, (std::vector<std::int64_t>{7, 4}));
  EXPECT_EQ(said(program.shapeOf("w", given)),
            saying(ErrorKind::InvalidArgument, "there is no tensor w"));
  EXPECT_EQ(program.shapeOf("y", {{{"x", nowhere, {7, 5}}}}).error().kind,
            ErrorKind::InvalidArgument);
}

TEST(Program, ComesBackFromAFileAndFromBytes) {
  std::string path = testing::TempDir() + "attnc_cpp_api.program";
  ASSERT_EQ(said(compiled(scaled()).save(path)), "");
  Result<Program> read = Program::fromFile(path);
  ASSERT_EQ(said(read), "");
  EXPECT_EQ(read->timings().origin, Origin::File);
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Result<Program> copied = Program::fromBytes(bytes.data(), bytes.size());
  ASSERT_EQ(said(copied), "");
  for (const Program &program : {*read, *copied}) {
    Rows rows;
    Result<Loaded> onCpu = program.loadOn();
    ASSERT_EQ(said(onCpu), "");
    ASSERT_EQ(said(onCpu->launch(rows.arguments())), "");
    EXPECT_EQ(rows.y[11], 22);
  }
  EXPECT_EQ(Program::fromBytes(bytes.data(), bytes.size() / 2).error().kind,
            ErrorKind::InvalidArgument);
  std::remove(path.c_str());
  EXPECT_EQ(Program::fromFile(path).error().kind, ErrorKind::Environment);
}

} // namespace
