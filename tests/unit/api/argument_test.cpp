#include "tests/unit/api/handles.h"

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
  attnc_arguments none = {sizeof none, nullptr, 1, nullptr, 0};
  EXPECT_EQ(bindSays(none), "1: an array of arguments is NULL but its count is not 0");
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
