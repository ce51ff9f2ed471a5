#include "tests/unit/api/handles.h"

#include <cstddef>

using namespace attnc::test;

namespace {

class Arguments : public testing::Test {
protected:
  std::string bindSays(const attnc_arguments &arguments) {
    attnc_plan *plan = nullptr;
    std::string text = said(attnc_bind(loaded.get(), &arguments, &plan));
    attnc_plan_destroy(plan);
    return text;
  }

  Own<attnc_program> program = compile(scaleSpec, optionsFor("cpu"));
  Own<attnc_loaded> loaded = load(program.get());
  ScaleTensors tensors{5};
};

void expectScaled(const ScaleTensors &tensors, float by) {
  for (std::size_t i = 0; i < tensors.x.size(); ++i)
    EXPECT_EQ(tensors.y[i], tensors.x[i] * by) << i;
  for (std::size_t n = 0; n < tensors.z.size(); ++n) // small integers: exact
    EXPECT_EQ(tensors.z[n], 16 * static_cast<float>(n) + 6) << n;
}

TEST_F(Arguments, AreBoundOnceAndLaunchedOften) {
  attnc_plan *made = nullptr;
  attnc_arguments arguments = tensors.arguments();
  ASSERT_EQ(said(attnc_bind(loaded.get(), &arguments, &made)), "");
  Own<attnc_plan> plan(made);
  loaded.reset(); // a plan keeps what it needs
  program.reset();
  for (int run = 0; run < 2; ++run) {
    std::fill(tensors.y.begin(), tensors.y.end(), -1.0F);
    ASSERT_EQ(said(attnc_plan_launch(plan.get(), nullptr, nullptr)), "");
    expectScaled(tensors, 2);
  }
  EXPECT_EQ(attnc_plan_workspace_bytes(plan.get()), 0);
}

TEST_F(Arguments, WithoutNamesGoByPosition) {
  for (attnc_tensor &tensor : tensors.list)
    tensor.name = nullptr;
  attnc_arguments arguments = tensors.arguments();
  ASSERT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "");
  expectScaled(tensors, 2);
}

TEST_F(Arguments, ParamsReplaceDefaultsAndAreChecked) {
  attnc_arguments arguments = tensors.arguments();
  attnc_param by = {"by", 0, 0, 0.5};
  arguments.params = &by;
  arguments.param_count = 1;
  ASSERT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "");
  expectScaled(tensors, 0.5F);
  by = {"by", 1, 3, 0};
  ASSERT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "");
  expectScaled(tensors, 3);
  by.integer = -1;
  EXPECT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)),
            "1: param by is -1, but must be > 0");
  by.name = "bye";
  EXPECT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "1: unknown param bye");
}

TEST_F(Arguments, StridesAreInElements) {
  std::vector<float> wide(5 * 6, 1.0F);
  const int64_t strides[] = {6, 1};
  tensors.list[0].data = wide.data();
  tensors.list[0].strides = strides;
  for (int n = 0; n < 5; ++n)
    for (int d = 0; d < 4; ++d)
      wide[6 * n + d] = tensors.x[4 * n + d];
  attnc_arguments arguments = tensors.arguments();
  ASSERT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "");
  expectScaled(tensors, 2);
}

TEST_F(Arguments, ThatDoNotFitAreRefusedByName) {
  tensors.list[1].name = "w";
  EXPECT_EQ(bindSays(tensors.arguments()), "1: there is no tensor w");
  tensors.list[1].name = "x";
  EXPECT_EQ(bindSays(tensors.arguments()), "1: tensor x is given twice");
  tensors.list[1].name = "y";
  tensors.list[1].data = tensors.x.data();
  EXPECT_EQ(bindSays(tensors.arguments()), "1: output y overlaps input x in memory");
  tensors.list[1].data = nullptr;
  EXPECT_EQ(bindSays(tensors.arguments()), "1: y: its data pointer is null");
  tensors.list[1].data = tensors.y.data();
  tensors.list[0].dtype = 8;
  EXPECT_EQ(bindSays(tensors.arguments()), "1: x: 8 is no element type");
  tensors.list[0].dtype = ATTNC_F16;
  EXPECT_EQ(bindSays(tensors.arguments()), "1: x: is f16, expected f32");
  tensors.list[0].dtype = ATTNC_F32;
  tensors.list[0].rank = -1;
  EXPECT_EQ(bindSays(tensors.arguments()), "1: x: has rank -1 and a shape");
  const int64_t huge[] = {int64_t(1) << 30, int64_t(1) << 40};
  tensors.list[0].rank = 2;
  tensors.list[0].shape = huge;
  EXPECT_EQ(bindSays(tensors.arguments()),
            "1: x: [1073741824, 1099511627776] is no shape of a tensor");
  attnc_arguments none = {};
  none.struct_size = sizeof none;
  none.tensor_count = 1;
  EXPECT_EQ(bindSays(none), "1: an array of arguments is NULL but its count is not 0");
}

// The second call of a layout evaluates nothing: it must still read and write where it is told.
TEST_F(Arguments, OfACallLikeOneBeforeAreUsed) {
  attnc_arguments arguments = tensors.arguments();
  ASSERT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "");
  ScaleTensors others{5};
  for (float &value : others.x)
    value += 1;
  attnc_arguments further = others.arguments();
  std::swap(others.list[0], others.list[2]); // in another order, by name
  for (int run = 0; run < 2; ++run) {
    std::fill(others.y.begin(), others.y.end(), -1.0F);
    ASSERT_EQ(said(attnc_launch(loaded.get(), &further, nullptr)), "");
    for (std::size_t i = 0; i < others.x.size(); ++i)
      ASSERT_EQ(others.y[i], 2 * others.x[i]) << i;
  }
  expectScaled(tensors, 2);
  ScaleTensors longer{7};
  arguments = longer.arguments();
  ASSERT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "");
  expectScaled(longer, 2);
}

TEST_F(Arguments, OfACallLikeOneBeforeAreChecked) {
  attnc_arguments arguments = tensors.arguments();
  ASSERT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "");
  tensors.list[1].data = tensors.x.data() + 4;
  EXPECT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)),
            "1: output y overlaps input x in memory");
  tensors.list[1].data = nullptr;
  EXPECT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)),
            "1: y: its data pointer is null");
  tensors.list[1].data = reinterpret_cast<char *>(tensors.y.data()) + 2;
  EXPECT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)),
            "1: y: its address is 2 bytes past a multiple of 4");
  tensors.list[1].data = tensors.y.data();
  tensors.list[2].name = "y"; // y twice, and no z
  EXPECT_EQ(said(attnc_launch(loaded.get(), &arguments, nullptr)), "1: tensor y is given twice");
}

TEST_F(Arguments, OfAPlanCanBeOthersOfTheSameShape) {
  attnc_arguments arguments = tensors.arguments();
  attnc_plan *made = nullptr;
  ASSERT_EQ(said(attnc_bind(loaded.get(), &arguments, &made)), "");
  Own<attnc_plan> plan(made);
  ScaleTensors others{5};
  void *data[] = {others.x.data(), others.y.data(), others.z.data()};
  ASSERT_EQ(said(attnc_plan_launch_at(plan.get(), data, nullptr, nullptr)), "");
  expectScaled(others, 2);
  EXPECT_EQ(tensors.y[1], 0); // the plan's own were left alone
  EXPECT_EQ(said(attnc_plan_launch_at(plan.get(), nullptr, nullptr, nullptr)),
            "1: the array of addresses is NULL");
  data[1] = data[0];
  EXPECT_EQ(said(attnc_plan_launch_at(plan.get(), data, nullptr, nullptr)),
            "1: output y overlaps input x in memory");
  data[1] = nullptr;
  EXPECT_EQ(said(attnc_plan_launch_at(plan.get(), data, nullptr, nullptr)),
            "1: y: its data pointer is null");
}

/// tableSpec at i = 2 and j = 3: p has 24 bytes, and its maxima and sums are 8 each.
class Budget : public testing::Test {
protected:
  Own<attnc_program> program = compile(tableSpec, optionsFor("cpu"));
  Own<attnc_loaded> loaded = load(program.get());
  float s[2][3] = {{1, 1, -1e9F}, {0, 0, 0}}, y[2] = {};
  int32_t top[2] = {1, 2};
  int64_t rows[1] = {2}, scores[2] = {2, 3};
  std::vector<attnc_tensor> list = {{"s", s, ATTNC_F32, 2, scores, nullptr},
                                    {"top", top, ATTNC_I32, 1, rows, nullptr},
                                    {"y", y, ATTNC_F32, 1, rows, nullptr}};

  attnc_arguments arguments(const int64_t *budget) const {
    return {sizeof(attnc_arguments), list.data(), list.size(), nullptr, 0, budget};
  }
};

TEST_F(Budget, AllowsWhatFits) {
  const int64_t enough = 24 + 8 + 8;
  attnc_arguments given = arguments(&enough);
  ASSERT_EQ(said(attnc_launch(loaded.get(), &given, nullptr)), "");
  EXPECT_FLOAT_EQ(y[0], 0.5F);
  EXPECT_FLOAT_EQ(y[1], 1 / 3.0F);
}

TEST_F(Budget, RefusesMoreWhenShapesAreBound) {
  const int64_t tooLittle = 39;
  attnc_arguments given = arguments(&tooLittle);
  attnc_plan *plan = nullptr;
  std::string text = said(attnc_bind(loaded.get(), &given, &plan));
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(
      text.find("1: 40 bytes go through memory between kernels at i=2, j=3; the memory budget "
                "is 39 bytes\n    p: f32[i, j], 24 bytes, table:"),
      0U)
      << text;
  EXPECT_NE(text.find("y reads it at subscripts of its own, table:"), std::string::npos) << text;
  const int64_t negative = -1;
  given = arguments(&negative);
  EXPECT_EQ(said(attnc_bind(loaded.get(), &given, &plan)), "1: the memory budget is -1 bytes");
}

// As a caller that was compiled before the field was there.
TEST_F(Budget, IsNotReadBehindAShorterStruct) {
  const int64_t none = 0;
  attnc_arguments given = arguments(&none);
  given.struct_size = offsetof(attnc_arguments, memory_budget);
  EXPECT_EQ(said(attnc_launch(loaded.get(), &given, nullptr)), "");
}

// 64 TiB of weights: more than a machine has. All rows of the scores are one row here.
TEST_F(Budget, WithoutOneMemoryThatIsNotThereIsAnError) {
  constexpr int64_t n = int64_t(1) << 22;
  const int64_t strides[2] = {0, 1};
  std::vector<float> row(n), result(n);
  std::vector<int32_t> table(n);
  rows[0] = scores[0] = scores[1] = n;
  list[0].data = row.data();
  list[0].strides = strides;
  list[1].data = table.data();
  list[2].data = result.data();
  attnc_arguments given = arguments(nullptr);
  std::string text = said(attnc_launch(loaded.get(), &given, nullptr));
  EXPECT_EQ(text.find("3: there is no memory for what goes between kernels, 64.0 TiB at "
                      "i=4194304, j=4194304: "),
            0U)
      << text;
  EXPECT_NE(text.find("\n    p: f32[i, j], 64.0 TiB, table:"), std::string::npos) << text;
}

TEST_F(Arguments, InputsGiveTheShapesOfOutputs) {
  attnc_arguments arguments = tensors.arguments();
  arguments.tensor_count = 1;
  int64_t shape[2] = {};
  ASSERT_EQ(said(attnc_program_shape(program.get(), &arguments, 1, shape)), "");
  EXPECT_EQ(shape[0], 5);
  EXPECT_EQ(shape[1], 4);
  EXPECT_EQ(said(attnc_program_shape(program.get(), &arguments, 7, shape)),
            "1: tensor 7 is asked for, but there are 3");
}

} // namespace
