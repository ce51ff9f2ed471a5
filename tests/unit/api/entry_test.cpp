#include "tests/unit/api/attention.h"
#include "tests/unit/api/saved.h"

#include <cstring>

using namespace attnc::test;

namespace {

struct DestroyJit {
  void operator()(attnc_jit *jit) const { attnc_jit_destroy(jit); }
};

Own<attnc_program> entryOf(const attnc_program *program, const char *name) {
  attnc_program *entry = nullptr;
  EXPECT_EQ(said(attnc_program_entry(program, name, &entry)), "");
  return Own<attnc_program>(entry);
}

std::vector<std::string> entryNames(const attnc_program *program) {
  std::vector<std::string> names;
  for (size_t i = 0; i < attnc_program_entry_count(program); ++i)
    names.emplace_back(attnc_program_entry_name(program, i));
  EXPECT_EQ(attnc_program_entry_name(program, names.size()), nullptr);
  return names;
}

std::vector<std::string> tensorNames(const attnc_program *program, bool outputs) {
  std::vector<std::string> names;
  attnc_tensor_info tensor = {};
  tensor.struct_size = sizeof tensor;
  for (size_t i = 0; i < attnc_program_tensor_count(program); ++i) {
    EXPECT_EQ(said(attnc_program_tensor(program, i, &tensor)), "");
    if ((tensor.is_output != 0) == outputs)
      names.emplace_back(tensor.name);
  }
  return names;
}

/// Runs a program of Attention on the cpu: takes its inputs from `tensors`, and puts its outputs
/// there.
void run(const attnc_program *program, std::map<std::string, std::vector<float>> &tensors) {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<attnc_tensor> list;
  attnc_tensor_info info = {};
  info.struct_size = sizeof info;
  shapes.reserve(attnc_program_tensor_count(program));
  for (size_t slot = 0; slot < attnc_program_tensor_count(program); ++slot) {
    ASSERT_EQ(said(attnc_program_tensor(program, slot, &info)), "");
    ASSERT_EQ(info.dtype, ATTNC_F32);
    ASSERT_TRUE(info.is_output || tensors.count(info.name)) << info.name;
    std::vector<int64_t> &shape = shapes.emplace_back();
    int64_t count = 1;
    for (size_t axis = 0; axis < info.rank; ++axis) {
      shape.push_back(Attention::extentOf(info.dims[axis]));
      count *= shape.back();
    }
    std::vector<float> &values = tensors[info.name];
    if (info.is_output)
      values.assign(count, NAN);
    list.push_back({info.name, values.data(), ATTNC_F32, static_cast<int32_t>(info.rank),
                    shape.data(), nullptr});
  }
  attnc_arguments arguments = {sizeof arguments, list.data(), list.size(), nullptr, 0, nullptr};
  attnc_plan *bound = nullptr;
  ASSERT_EQ(said(attnc_bind(load(program).get(), &arguments, &bound)), "");
  Own<attnc_plan> plan(bound);
  ASSERT_EQ(said(attnc_plan_launch(plan.get(), nullptr, nullptr)), "");
}

void expectGradients(const std::map<std::string, std::vector<float>> &tensors) {
  for (const auto &[name, values] : Attention().expected()) {
    ASSERT_TRUE(tensors.count(name)) << name;
    ASSERT_EQ(tensors.at(name).size(), values.size()) << name;
    for (size_t at = 0; at < values.size(); ++at)
      EXPECT_LE(std::abs(tensors.at(name)[at] - values[at].value), values[at].bound)
          << name << " " << at;
  }
}

TEST(Entry, NamesAreListedForwardFirst) {
  EXPECT_EQ(entryNames(compile(attentionSpec, optionsFor("cpu")).get()),
            (std::vector<std::string>{"forward", "backward"}));
  EXPECT_EQ(entryNames(compile(scaleSpec, optionsFor("cpu")).get()),
            std::vector<std::string>{"forward"});
}

TEST(Entry, TakesWhatForwardSavesAndGivesGradients) {
  Own<attnc_program> program = compile(attentionSpec, optionsFor("cpu"));
  Own<attnc_program> backward = entryOf(program.get(), "backward");
  EXPECT_EQ(entryNames(backward.get()), std::vector<std::string>{"forward"});
  EXPECT_EQ(tensorNames(backward.get(), true),
            (std::vector<std::string>{"grad_q", "grad_k", "grad_v"}));
  std::vector<std::string> passed, taken;
  for (const std::string &name : tensorNames(program.get(), true))
    if (name.rfind("saved_", 0) == 0)
      passed.push_back(name);
  for (const std::string &name : tensorNames(backward.get(), false))
    if (name.rfind("saved_", 0) == 0)
      taken.push_back(name);
  EXPECT_EQ(taken, passed);
  EXPECT_FALSE(passed.empty());
}

TEST(Entry, TakesTheGradientOfEachOutputWhateverIsAskedFor) {
  const char *spec = R"json({"attnc": 1, "name": "two", "inputs": {"x": "f32[i]", "w": "f32[i]"},
    "body": ["y = exp(x)", "z = exp(w)", "n = cast(w, i32)"],
    "outputs": {"y": "f32", "z": "f32", "n": "i32"}, "grad": ["x"]})json";
  for (std::string text :
       {std::string(spec), std::string(spec).insert(1, "\"save\": \"less\", ")}) {
    Own<attnc_program> program = compile(text.c_str(), optionsFor("cpu"));
    std::vector<std::string> taken =
        tensorNames(entryOf(program.get(), "backward").get(), /*outputs=*/false);
    EXPECT_EQ(taken, (std::vector<std::string>{"x", "grad_y", "grad_z"})) << text;
  }
}

TEST(Entry, BackwardComputesTheGradients) {
  Attention attention;
  Own<attnc_program> program = compile(attentionSpec, optionsFor("cpu"));
  run(program.get(), attention.tensors);
  Own<attnc_program> backward = entryOf(program.get(), "backward");
  run(backward.get(), attention.tensors);
  expectGradients(attention.tensors);
}

TEST(Entry, LivesWithoutTheWhole) {
  Attention attention;
  Own<attnc_program> program = compile(attentionSpec, optionsFor("cpu"));
  Own<attnc_program> forward = entryOf(program.get(), "forward");
  Own<attnc_program> backward = entryOf(program.get(), "backward");
  program.reset();
  run(forward.get(), attention.tensors);
  forward.reset();
  run(backward.get(), attention.tensors);
  expectGradients(attention.tensors);
}

TEST(Entry, ForwardIsTheWhole) {
  Own<attnc_program> program = compile(attentionSpec, optionsFor("cpu"));
  Own<attnc_program> forward = entryOf(program.get(), "forward");
  EXPECT_EQ(entryNames(forward.get()), (std::vector<std::string>{"forward", "backward"}));
  EXPECT_EQ(attnc_program_text(forward.get(), ATTNC_TEXT_MANIFEST, 0, nullptr),
            attnc_program_text(program.get(), ATTNC_TEXT_MANIFEST, 0, nullptr));
}

TEST(Entry, OfAProgramFileComputesTheSame) {
  Own<attnc_program> program = compile(attentionSpec, optionsFor("cpu"));
  std::string bytes = saved(program.get());
  attnc_program *read = nullptr;
  ASSERT_EQ(said(attnc_program_load_bytes(bytes.data(), bytes.size(), &read)), "");
  Own<attnc_program> loaded(read);
  EXPECT_EQ(saved(loaded.get()), bytes);
  Attention compiled, fromFile;
  run(program.get(), compiled.tensors);
  run(entryOf(program.get(), "backward").get(), compiled.tensors);
  run(loaded.get(), fromFile.tensors);
  run(entryOf(loaded.get(), "backward").get(), fromFile.tensors);
  EXPECT_EQ(fromFile.tensors, compiled.tensors);
  expectGradients(fromFile.tensors);
}

TEST(Entry, IsSavedAlone) {
  Own<attnc_program> program = compile(attentionSpec, optionsFor("cpu"));
  std::string bytes = saved(entryOf(program.get(), "backward").get());
  EXPECT_LT(bytes.size(), saved(program.get()).size());
  attnc_program *read = nullptr;
  ASSERT_EQ(said(attnc_program_load_bytes(bytes.data(), bytes.size(), &read)), "");
  Own<attnc_program> backward(read);
  EXPECT_EQ(entryNames(backward.get()), std::vector<std::string>{"forward"});
  Attention attention;
  run(program.get(), attention.tensors);
  run(backward.get(), attention.tensors);
  expectGradients(attention.tensors);
}

TEST(Entry, OfAProgramOfAJitLivesWithoutIt) {
  attnc_jit *created = nullptr;
  ASSERT_EQ(said(attnc_jit_create(nullptr, &created)), "");
  std::unique_ptr<attnc_jit, DestroyJit> jit(created);
  attnc_compile_options options = optionsFor("cpu");
  attnc_program *program = nullptr;
  ASSERT_EQ(said(attnc_jit_text(jit.get(), "spec", attentionSpec, std::strlen(attentionSpec),
                                &options, &program)),
            "");
  Own<attnc_program> whole(program);
  Own<attnc_program> backward = entryOf(whole.get(), "backward");
  Attention attention;
  run(whole.get(), attention.tensors);
  whole.reset();
  jit.reset();
  run(backward.get(), attention.tensors);
  expectGradients(attention.tensors);
}

TEST(Entry, ThatIsUnknownIsAnErrorThatNamesTheOthers) {
  Own<attnc_program> program = compile(attentionSpec, optionsFor("cpu"));
  attnc_program *entry = program.get();
  Own<attnc_error> error(attnc_program_entry(program.get(), "sideways", &entry));
  ASSERT_TRUE(error);
  EXPECT_EQ(entry, nullptr);
  EXPECT_EQ(attnc_error_kind(error.get()), ATTNC_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(attnc_error_message(error.get()),
               "the program attention has no entry point 'sideways'");
  EXPECT_STREQ(attnc_error_remedy(error.get()), "its entry points are: forward, backward");
  EXPECT_EQ(said(attnc_program_entry(program.get(), nullptr, &entry)),
            "1: the name of the entry point is NULL");
}

TEST(Entry, IsForwardAloneWithoutGradients) {
  Own<attnc_program> program = compile(scaleSpec, optionsFor("cpu"));
  attnc_program *entry = program.get();
  Own<attnc_error> error(attnc_program_entry(program.get(), "backward", &entry));
  ASSERT_TRUE(error);
  EXPECT_EQ(entry, nullptr);
  EXPECT_STREQ(attnc_error_message(error.get()),
               "the program scaled has no entry point 'backward'");
  EXPECT_STREQ(attnc_error_remedy(error.get()),
               "it has only 'forward'; a spec with `grad` has 'backward', too");
  EXPECT_EQ(tensorNames(entryOf(program.get(), "forward").get(), true),
            (std::vector<std::string>{"y", "z"}));
}

std::string textOf(const attnc_program *program, int32_t which) {
  const char *text = attnc_program_text(program, which, 0, nullptr);
  return text ? text : "";
}

TEST(Entry, HasTextsOfItsOwnAlsoFromAFile) {
  attnc_compile_options options = optionsFor("cpu");
  EXPECT_EQ(
      textOf(entryOf(compile(attentionSpec, options).get(), "backward").get(), ATTNC_TEXT_RED), "");
  options.keep_texts = 1;
  Own<attnc_program> program = compile(attentionSpec, options);
  std::string bytes = saved(program.get());
  attnc_program *read = nullptr;
  ASSERT_EQ(said(attnc_program_load_bytes(bytes.data(), bytes.size(), &read)), "");
  Own<attnc_program> loaded(read);
  Own<attnc_program> entry = entryOf(program.get(), "backward");
  Own<attnc_program> ofFile = entryOf(loaded.get(), "backward");
  for (int32_t which : {ATTNC_TEXT_ATTN, ATTNC_TEXT_RED, ATTNC_TEXT_LLVM}) {
    EXPECT_NE(textOf(entry.get(), which).find("grad_q"), std::string::npos) << which;
    EXPECT_EQ(textOf(ofFile.get(), which), textOf(entry.get(), which)) << which;
    EXPECT_EQ(textOf(loaded.get(), which), textOf(program.get(), which)) << which;
    EXPECT_EQ(textOf(program.get(), which).find("grad_q"), std::string::npos) << which;
  }
}

TEST(Entry, HasGpuCodeOfItsOwn) {
  attnc_compile_options options = optionsFor("sm_90a");
  attnc_program *made = nullptr;
  Own<attnc_error> error(
      attnc_compile_text("spec", attentionSpec, std::strlen(attentionSpec), &options, &made));
  if (error && attnc_error_kind(error.get()) == ATTNC_ERROR_ENVIRONMENT)
    GTEST_SKIP() << attnc_error_message(error.get());
  ASSERT_FALSE(error) << attnc_error_message(error.get());
  Own<attnc_program> program(made);
  Own<attnc_program> backward = entryOf(program.get(), "backward");
  ASSERT_EQ(said(attnc_program_warm_up(backward.get())), "");
  std::string bytes = saved(backward.get());
  attnc_program *read = nullptr;
  ASSERT_EQ(said(attnc_program_load_bytes(bytes.data(), bytes.size(), &read)), "");
  Own<attnc_program> loaded(read);
  ASSERT_GT(attnc_program_kernel_count(loaded.get()), 0U);
  for (size_t i = 0; i < attnc_program_kernel_count(loaded.get()); ++i)
    EXPECT_NE(attnc_program_text(loaded.get(), ATTNC_TEXT_CUBIN, i, nullptr), nullptr) << i;
}

} // namespace
