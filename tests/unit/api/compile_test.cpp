#include "tests/unit/api/handles.h"

#include <cstring>

using namespace attnc::test;

namespace {

/// Whether compiling for a GPU fails for want of NVRTC.
std::string whyNoGpuCode() {
  attnc_program *program = nullptr;
  attnc_compile_options options = optionsFor("sm_80");
  Own<attnc_error> error(
      attnc_compile_text("spec", scaleSpec, std::strlen(scaleSpec), &options, &program));
  attnc_program_destroy(program);
  return error && attnc_error_kind(error.get()) == ATTNC_ERROR_ENVIRONMENT
             ? attnc_error_message(error.get())
             : "";
}

TEST(Version, IsThatOfTheHeader) {
  EXPECT_EQ(attnc_abi_version(), ATTNC_ABI_VERSION);
  EXPECT_STREQ(attnc_version(), ATTNC_VERSION);
}

TEST(Compile, TellsWhatAProgramTakesAndGives) {
  Own<attnc_program> program = compile(scaleSpec, optionsFor("cpu"));
  EXPECT_STREQ(attnc_program_name(program.get()), "scaled");
  EXPECT_STREQ(attnc_program_target(program.get()), "cpu");
  ASSERT_EQ(attnc_program_tensor_count(program.get()), 3U);
  attnc_tensor_info tensor = {};
  tensor.struct_size = sizeof tensor;
  ASSERT_EQ(said(attnc_program_tensor(program.get(), 0, &tensor)), "");
  EXPECT_STREQ(tensor.name, "x");
  EXPECT_EQ(tensor.dtype, ATTNC_F32);
  EXPECT_FALSE(tensor.is_output);
  ASSERT_EQ(tensor.rank, 2U);
  EXPECT_STREQ(tensor.dims[0], "n");
  EXPECT_STREQ(tensor.dims[1], "d");
  ASSERT_EQ(said(attnc_program_tensor(program.get(), 2, &tensor)), "");
  EXPECT_STREQ(tensor.name, "z");
  EXPECT_TRUE(tensor.is_output);
  EXPECT_EQ(said(attnc_program_tensor(program.get(), 3, &tensor)),
            "1: tensor 3 is asked for, but there are 3");

  attnc_dim_info dim = {};
  dim.struct_size = sizeof dim;
  for (size_t i = 0; i < attnc_program_dim_count(program.get()); ++i) {
    ASSERT_EQ(said(attnc_program_dim(program.get(), i, &dim)), "");
    EXPECT_EQ(dim.extent, std::string(dim.name) == "d" ? 4 : -1) << dim.name;
  }
  attnc_param_info param = {};
  param.struct_size = sizeof param;
  ASSERT_EQ(attnc_program_param_count(program.get()), 1U);
  ASSERT_EQ(said(attnc_program_param(program.get(), 0, &param)), "");
  EXPECT_STREQ(param.name, "by");
  EXPECT_EQ(param.dtype, ATTNC_F32);
  EXPECT_TRUE(param.has_default);
}

TEST(Compile, OlderCallersGetTheFieldsThatTheyKnow) {
  Own<attnc_program> program = compile(scaleSpec, optionsFor("cpu"));
  attnc_timings timings = {};
  timings.struct_size = offsetof(attnc_timings, nvrtc);
  timings.nvrtc = -1;
  ASSERT_EQ(said(attnc_program_timings(program.get(), &timings)), "");
  EXPECT_GT(timings.total, 0);
  EXPECT_EQ(timings.nvrtc, -1);
  timings.struct_size = 0;
  EXPECT_EQ(said(attnc_program_timings(program.get(), &timings)),
            "1: attnc_timings is missing or has no struct_size");
}

TEST(Compile, KeepsTextsIfAsked) {
  attnc_compile_options options = optionsFor("cpu");
  size_t length = 1;
  Own<attnc_program> without = compile(scaleSpec, options);
  EXPECT_EQ(attnc_program_text(without.get(), ATTNC_TEXT_RED, 0, &length), nullptr);
  EXPECT_EQ(length, 0U);
  EXPECT_NE(attnc_program_text(without.get(), ATTNC_TEXT_MANIFEST, 0, &length), nullptr);
  options.keep_texts = 1;
  Own<attnc_program> with = compile(scaleSpec, options);
  for (int32_t which : {ATTNC_TEXT_ATTN, ATTNC_TEXT_RED, ATTNC_TEXT_LLVM}) {
    const char *text = attnc_program_text(with.get(), which, 0, &length);
    ASSERT_NE(text, nullptr) << which;
    EXPECT_EQ(std::strlen(text), length);
  }
  EXPECT_EQ(attnc_program_text(with.get(), ATTNC_TEXT_CUDA, 0, nullptr), nullptr);
  EXPECT_EQ(attnc_program_text(with.get(), 99, 0, nullptr), nullptr);
}

TEST(Compile, MakesGpuCodeWithoutAGpu) {
  if (std::string why = whyNoGpuCode(); !why.empty())
    GTEST_SKIP() << why;
  attnc_compile_options options = optionsFor("sm_90a");
  options.keep_texts = 1;
  options.no_cache = 1; // so that NVRTC has something to do
  Own<attnc_program> program = compile(scaleSpec, options);
  size_t length = 0;
  attnc_kernel_info kernel = {};
  kernel.struct_size = sizeof kernel;
  ASSERT_GT(attnc_program_kernel_count(program.get()), 0U);
  for (size_t i = 0; i < attnc_program_kernel_count(program.get()); ++i) {
    const char *cubin = attnc_program_text(program.get(), ATTNC_TEXT_CUBIN, i, &length);
    ASSERT_NE(cubin, nullptr);
    EXPECT_EQ(std::string(cubin, 4), "\177ELF");
    ASSERT_EQ(said(attnc_program_kernel(program.get(), i, &kernel)), "");
    const char *source = attnc_program_text(program.get(), ATTNC_TEXT_CUDA, i, nullptr);
    ASSERT_NE(source, nullptr);
    EXPECT_NE(std::string(source).find(kernel.name), std::string::npos);
    EXPECT_GT(kernel.registers, 0);
    EXPECT_GT(kernel.threads, 0);
    EXPECT_EQ(kernel.spill_store_bytes, 0);
  }
  attnc_timings timings = {};
  timings.struct_size = sizeof timings;
  ASSERT_EQ(said(attnc_program_timings(program.get(), &timings)), "");
  EXPECT_GT(timings.nvrtc, 0);
  EXPECT_GT(timings.total, timings.nvrtc);
}

// A GPU's program may have its stream in parts, the number of which nobody is asked for.
TEST(Compile, DimsAreThoseThatTheCallerKnows) {
  if (std::string why = whyNoGpuCode(); !why.empty())
    GTEST_SKIP() << why;
  Own<attnc_program> program = compile(tableSpec, optionsFor("sm_80"));
  std::string manifest = attnc_program_text(program.get(), ATTNC_TEXT_MANIFEST, 0, nullptr);
  EXPECT_NE(manifest.find("j_part"), std::string::npos);
  std::string names;
  attnc_dim_info dim = {};
  dim.struct_size = sizeof dim;
  for (size_t i = 0; i < attnc_program_dim_count(program.get()); ++i) {
    ASSERT_EQ(said(attnc_program_dim(program.get(), i, &dim)), "");
    names += dim.name;
    names += ' ';
  }
  EXPECT_EQ(names, "i j ");
}

struct Refusal {
  const char *name, *spec, *target, *set, *schedule, *says;
};

const std::string &deepSchedule() {
  static const std::string text = [] {
    std::string all;
    for (int level = 0; level < 200000; ++level)
      all += "{\"a\":";
    return all + "1" + std::string(200000, '}');
  }();
  return text;
}

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, SaysWhy) {
  const Refusal &refusal = GetParam();
  attnc_compile_options options = optionsFor(refusal.target);
  options.set = &refusal.set;
  options.set_count = refusal.set ? 1 : 0;
  options.schedule = refusal.schedule;
  auto *program = reinterpret_cast<attnc_program *>(&options);
  std::string text =
      said(attnc_compile_text("spec", refusal.spec, std::strlen(refusal.spec), &options, &program));
  EXPECT_EQ(text.substr(0, std::strlen(refusal.says)), refusal.says);
  EXPECT_EQ(program, nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Compile, Refused,
    testing::Values(
        Refusal{"Spec", "{}", "cpu", nullptr, nullptr, "2: spec:1:1: error:"},
        Refusal{"Target", scaleSpec, "sm_91", nullptr, nullptr, "1: there is no target 'sm_91'"},
        Refusal{"NoTarget", scaleSpec, nullptr, nullptr, nullptr, "1: no target is named"},
        Refusal{"Set", scaleSpec, "cpu", "d", nullptr, "1: set: 'd' is not of the form name=value"},
        Refusal{"SetName", scaleSpec, "cpu", "dd=3", nullptr, "2: "},
        Refusal{"ScheduleText", scaleSpec, "cpu", nullptr, "{", "1: the schedule is not JSON"},
        Refusal{"DeepSchedule", scaleSpec, "cpu", nullptr, deepSchedule().c_str(),
                "1: the schedule is not JSON: <schedule>:1:321: error: JSON nested deeper than 64"},
        Refusal{"ScheduleKind", scaleSpec, "cpu", nullptr, "[]",
                "1: the schedule is not a JSON object"}),
    [](const testing::TestParamInfo<Refusal> &info) { return std::string(info.param.name); });

// Such text can say more than a spec.
TEST(Compile, AProgramInTheDialectIsTakenOnlyWhenAskedFor) {
  attnc_compile_options options = optionsFor("cpu");
  options.keep_texts = 1;
  Own<attnc_program> spec = compile(scaleSpec, options);
  size_t length = 0;
  std::string text = attnc_program_text(spec.get(), ATTNC_TEXT_ATTN, 0, &length);
  auto compiled = [&](const char *name) {
    attnc_program *program = nullptr;
    Own<attnc_error> error(attnc_compile_text(name, text.data(), text.size(), &options, &program));
    EXPECT_EQ(program == nullptr, error != nullptr);
    attnc_program_destroy(program);
    return error;
  };
  Own<attnc_error> refused = compiled("x.mlir");
  ASSERT_TRUE(refused);
  EXPECT_EQ(attnc_error_kind(refused.get()), ATTNC_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(attnc_error_message(refused.get()),
               "x.mlir is a program in the attn dialect, not a spec");
  EXPECT_STREQ(attnc_error_remedy(refused.get()), "if you trust where it is from, set allow_mlir");
  options.allow_mlir = 1;
  EXPECT_FALSE(compiled("x.mlir"));
  EXPECT_TRUE(compiled("x.json")); // the name decides
  options.struct_size = offsetof(attnc_compile_options, allow_mlir);
  EXPECT_TRUE(compiled("x.mlir")); // a caller who does not know the field has not asked
}

TEST(Compile, ADeepProgramInTheDialectIsRefused) {
  attnc_compile_options options = optionsFor("cpu");
  options.allow_mlir = 1;
  std::string text = "#a = " + std::string(100000, '[') + std::string(100000, ']');
  attnc_program *program = nullptr;
  std::string refusal =
      said(attnc_compile_text("x.mlir", text.data(), text.size(), &options, &program));
  EXPECT_EQ(refusal.rfind("2: x.mlir:1:262: error: nested deeper than 256 levels", 0), 0U)
      << refusal;
}

TEST(Compile, FilesThatCannotBeReadAreTheEnvironmentsFault) {
  attnc_compile_options options = optionsFor("cpu");
  attnc_program *program = nullptr;
  EXPECT_EQ(said(attnc_compile_file("/nowhere.json", &options, &program)),
            "3: /nowhere.json cannot be read: No such file or directory");
  EXPECT_EQ(said(attnc_compile_file("/", &options, &program)),
            "3: / cannot be read: Is a directory");
}

} // namespace
