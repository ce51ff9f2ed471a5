// What the commands do where all is well.
#include "compiler/driver/pipeline.h"
#include "runtime/npy/npy.h"
#include "tests/e2e/tools/tool.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Tool, helpOfEveryCommandHasAnExample) {
  for (const char *command :
       {"compile", "run", "check", "explain", "tune", "list", "cache", "doctor"}) {
    Ended ended = attnc({command, "--help"});
    EXPECT_EQ(ended.exit, 0);
    EXPECT_THAT(ended.out, HasSubstr(std::string("Example: attnc ") + command));
    EXPECT_THAT(ended.out, HasSubstr("--json"));
  }
  for (const char *command : {"show", "new", "completion"}) {
    Ended ended = attnc({command, "--help"});
    EXPECT_EQ(ended.exit, 0);
    EXPECT_THAT(ended.out, HasSubstr(std::string("attnc ") + command));
  }
}

TEST(Tool, writesNoColoursToAFile) {
  Ended ended = attnc({"check", "full", "--target", "cpu"});
  EXPECT_THAT(ended.out + ended.err, Not(HasSubstr("\033")));
}

TEST(List, namesEverySpecWithASentence) {
  Ended ended = attnc({"list"});
  EXPECT_EQ(ended.exit, 0);
  for (const char *name : {"causal", "full", "softcap", "gqa"})
    EXPECT_THAT(ended.out, HasSubstr(std::string(name) + " "));
  auto all = attnc({"list", "--json"}).json();
  ASSERT_TRUE(all.is_array());
  EXPECT_EQ(all.size(), static_cast<size_t>(std::count(ended.out.begin(), ended.out.end(), '\n')));
  for (const auto &spec : all)
    EXPECT_FALSE(spec.at("doc").get<std::string>().empty()) << spec.at("name");
}

TEST(Compile, emitsTheManifestOfAProgram) {
  Ended ended = attnc({"compile", "causal", "--target", "cpu", "--emit", "manifest"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  auto manifest = ended.json();
  EXPECT_EQ(manifest.at("name"), "causal");
  EXPECT_EQ(manifest.at("inputs").at(1).at("name"), "k");
  EXPECT_EQ(manifest.at("variants").at(0).at("launches").size(), 1u);
}

TEST(Doctor, saysWhatWorks) {
  Ended ended = attnc({"doctor"});
  EXPECT_EQ(ended.exit, 0);
  EXPECT_THAT(ended.out, HasSubstr("nvrtc"));
  EXPECT_THAT(ended.out, HasSubstr("--target cpu"));
  auto json = attnc({"doctor", "--json"}).json();
  EXPECT_TRUE(json.contains("findings"));
}

TEST(Run, softcapIsCorrectAtOddLengths) {
  Ended ended =
      attnc({"run", "softcap", "--shape", "b=1,h=2,i=257,j=513", "--check", "--target", "cpu"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("bf16[b=1, h=2, i=257, e=64]"));
  EXPECT_THAT(ended.out, HasSubstr("ok"));
}

TEST(Run, jsonHasOutputsAndTheCheck) {
  auto json = attnc({"run", "lse", "--check", "--time", "--target", "cpu", "--json"}).json();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("ok"), true);
  EXPECT_EQ(json.at("outputs").size(), 2u);
  EXPECT_EQ(json.at("check").at("comparisons").size(), 2u);
  EXPECT_GT(json.at("milliseconds").get<double>(), 0);
}

TEST(Run, theSameSeedGivesTheSameOutputs) {
  TemporaryFolder folder;
  auto run = [&](const char *seed, const std::string &file) {
    Ended ended = attnc(
        {"run", "full", "--target", "cpu", "--seed", seed, "--output", "o=" + folder.file(file)});
    EXPECT_EQ(ended.exit, 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("uint16"));
    return readText(folder.file(file));
  };
  std::string first = run("5", "a.npy");
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first, run("5", "b.npy"));
  EXPECT_NE(first, run("6", "c.npy"));
}

NpyArray ramp(std::vector<int64_t> shape, float step) {
  NpyArray array{DType::F32, shape, {}};
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    float value = step * static_cast<float>(i);
    auto *bytes = reinterpret_cast<const std::byte *>(&value);
    array.data.insert(array.data.end(), bytes, bytes + sizeof(value));
  }
  return array;
}

// With a single key, attention is its value.
TEST(Run, readsAndWritesArrays) {
  TemporaryFolder folder;
  NpyArray v = ramp({2, 1, 1, 8}, 0.25);
  ASSERT_TRUE(writeNpy(ramp({2, 1, 5, 8}, 0.5), folder.file("q.npy")).ok());
  ASSERT_TRUE(writeNpy(v, folder.file("v.npy")).ok());
  Ended ended =
      attnc({"run", "full", "--target", "cpu", "--set", "T=f32", "--set", "d=8", "--set", "e=8",
             "--input", "q=" + folder.file("q.npy"), "--input", "v=" + folder.file("v.npy"),
             "--output", "o=" + folder.file("o.npy"), "--check"});
  ASSERT_EQ(ended.exit, 0) << ended.err;
  auto o = readNpy(folder.file("o.npy"));
  ASSERT_TRUE(o.ok()) << o.error().text();
  EXPECT_EQ(o->shape, (std::vector<int64_t>{2, 1, 5, 8}));
  EXPECT_EQ(o->dtype, DType::F32);
  for (int64_t i = 0; i < o->elements(); ++i) {
    int64_t source = i / 40 * 8 + i % 8;
    EXPECT_FLOAT_EQ(loadElement(DType::F32, o->data.data() + 4 * i),
                    loadElement(DType::F32, v.data.data() + 4 * source));
  }
}

TEST(Run, convertsF32ToTheTypeOfTheSpec) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpy(ramp({1, 3, 5, 64}, 0.001), folder.file("q.npy")).ok());
  Ended ended =
      attnc({"run", "full", "--target", "cpu", "--input", "q=" + folder.file("q.npy"), "--check"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("converted from f32 to bf16"));
}

TEST(Run, takesASpecFromStdin) {
  std::string text = R"({"attnc": 1, "name": "twice", "inputs": {"x": "f32[n]"},
    "body": ["y = x[n] + x[n]"], "outputs": {"y": "f32"}})";
  Ended ended = attnc({"run", "-", "--shape", "n=5", "--target", "cpu", "--check"}, text);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("f32[n=5]"));
}

//===--- gradients ---------------------------------------------------------------------------===//

TEST(Grad, areRunWithTheSpecAndComparedWithFloat64) {
  std::string text = R"j({"attnc": 1, "name": "twice", "inputs": {"x": "f32[n]"}, "grad": ["x"],
    "body": ["y = x * x"], "outputs": {"y": "f32"}})j";
  auto json =
      attnc({"run", "-", "--shape", "n=5", "--target", "cpu", "--check", "--json"}, text).json();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("ok"), true);
  EXPECT_TRUE(json.dump().find("grad_x") != std::string::npos) << json.dump();
}

TEST(Grad, ofTheCommandLineStandsForThatOfTheSpec) {
  auto json =
      attnc({"check", "alibi", "--grad", "slope, scale", "--target", "cpu", "--json"}).json();
  ASSERT_TRUE(json.is_object());
  EXPECT_NE(json.dump().find("grad_slope"), std::string::npos);
  EXPECT_NE(json.dump().find("grad_scale"), std::string::npos);
  EXPECT_EQ(json.dump().find("grad_q"), std::string::npos);
}

TEST(Grad, againIsThatOfTheGradients) {
  std::string text = R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[n]", "w": "f32[n]"},
    "body": ["p = sigmoid(x)", "y = prod(n, p * w)"], "outputs": {"y": "f32"}})j";
  auto json = attnc({"run", "-", "--grad", "x", "--grad", "x,w,grad_y", "--shape", "n=5", "--check",
                     "--target", "cpu", "--json"},
                    text)
                  .json();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("ok"), true);
  for (const char *name : {"\"grad_x\"", "\"grad2_x\"", "\"grad2_w\"", "\"grad2_grad_y\""})
    EXPECT_NE(json.dump().find(name), std::string::npos) << name;
  Ended ended = attnc({"check", "-", "--grad", "x", "--grad", "grad_x", "--target", "cpu"}, text);
  EXPECT_EQ(ended.exit, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("'grad_x' is no input or param of real numbers"));
}

TEST(Grad, thatThereIsNotIsWrongUsage) {
  Ended ended = attnc({"check", "causal", "--grad", "q,kk", "--target", "cpu"});
  EXPECT_EQ(ended.exit, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("'kk' is no input or param of real numbers"));
  EXPECT_THAT(ended.err, HasSubstr("those that have one are q, k, v, scale"));
  ended = attnc({"compile", "causal", "--grad", "q", "--target", "sm_80", "--emit", "ptx",
                 "--launch-json", "-o", "x.ptx"});
  EXPECT_EQ(ended.exit, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("--launch-json describes one entry point"));
  std::string text = R"j({"attnc": 1, "name": "twice", "inputs": {"x": "f32[n]"}, "grad": ["x"],
    "body": ["y = x * x"], "outputs": {"y": "f32"}})j";
  ended = attnc(
      {"compile", "-", "--target", "sm_80", "--emit", "ptx", "--launch-json", "-o", "x.ptx"}, text);
  EXPECT_EQ(ended.exit, 2) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("--launch-json describes one entry point"));
}

TEST(Grad, keepsTheMeaningOfPasses) {
  Ended ended = attnc({"check", "causal", "--grad", "q,k,v", "--target", "cpu", "--verify-passes"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
}

TEST(Grad, onWhichNothingDependsIsZeroWithANote) {
  std::string text = R"j({"attnc": 1, "name": "one", "inputs": {"x": "f32[n]", "z": "f32[n]"},
    "body": ["y = x + floor(z)"], "outputs": {"y": "f32"}})j";
  Ended ended =
      attnc({"run", "-", "--grad", "all", "--shape", "n=5", "--target", "cpu", "--check"}, text);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no output of one changes with 'z', or only in steps: its "
                                   "gradient is 0"));
}

TEST(Grad, isExplainedWithWhatIsComputedAgainAndWhere) {
  std::string text = attnc({"explain", "causal", "--grad", "q,k,v", "--target", "cpu"}).out;
  EXPECT_THAT(text, HasSubstr("Computed again by the backward program, with the bytes that storing "
                              "it would take:\n    p_exp       f32[b, h, i, j], 604.7 KiB at"));
  EXPECT_THAT(text, HasSubstr("\n                in causal_grad_grad_q, "
                              "causal_grad_grad_k_grad_v\n"));
  // The gradient of a product with what is passed in takes nothing else.
  std::string linear = R"j({"attnc": 1, "name": "twice", "inputs": {"x": "f32[n]"}, "grad": ["x"],
    "body": ["y = x * x"], "outputs": {"y": "f32"}})j";
  EXPECT_THAT(attnc({"explain", "-", "--target", "cpu"}, linear).out,
              HasSubstr("The backward program computes nothing of the forward one again."));
}

// With nothing saved, the backward program begins with the forward's passes.
TEST(Grad, thatSavesLessComputesTheMaximaAndSumsAgain) {
  std::string text = R"j({"attnc": 1, "name": "t", "inputs": {"x": "f32[i, j]"}, "grad": ["x"],
    "save": "less", "body": ["p[i,j] = softmax(j, x)"], "outputs": {"p": "f32"}})j";
  auto json = attnc({"explain", "-", "--target", "cpu", "--json"}, text).json();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("saved").size(), 0u);
  std::string recomputed = json.at("recomputed").dump();
  EXPECT_THAT(recomputed, HasSubstr("p_exp"));
  EXPECT_THAT(recomputed, HasSubstr("p_inv"));
}

TEST(Grad, takesTheGradientOfEachOutputOnEachTarget) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpy(ramp({5}, 1), folder.file("grad.npy")).ok());
  std::string text = R"j({"attnc": 1, "name": "two", "inputs": {"x": "f32[n]", "w": "f32[n]"},
    "body": ["y = x * x", "z = w * w"], "outputs": {"y": "f32", "z": "f32"}})j";
  for (const char *target : {"cpu", "reference"})
    for (const char *asked : {"x", "w"}) {
      Ended ended = attnc({"run", "-", "--grad", asked, "--target", target, "--shape", "n=5",
                           "--input", "grad_y=" + folder.file("grad.npy"), "--input",
                           "grad_z=" + folder.file("grad.npy")},
                          text);
      EXPECT_EQ(ended.exit, 0) << target << ": " << ended.err;
    }
}

TEST(Grad, isExplainedWithWhatIsSaved) {
  std::string text = attnc({"explain", "causal", "--grad", "q,k,v", "--target", "cpu"}).out;
  EXPECT_THAT(text, HasSubstr("Saved for the backward program:\n    saved_p_max f32[b, h, i]"));
  EXPECT_THAT(text, HasSubstr("causal_grad for cpu"));
  auto json = attnc({"explain", "causal", "--grad", "q", "--target", "cpu", "--json"}).json();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("saved").size(), 3u);
  EXPECT_EQ(json.at("recomputed").at(0).at("name"), "p");
  EXPECT_EQ(json.at("recomputed").at(0).at("bytes"), 2 * 3 * 129 * 200 * 4);
  EXPECT_EQ(json.at("backward").at("spec"), "causal_grad");
}

TEST(Grad, savesUnderNamesThatTheSpecHasNot) {
  std::string text = R"j({"attnc": 1, "name": "clash",
    "inputs": {"x": "f32[i]", "saved_p_max": "f32[i]"},
    "body": ["p = softmax(i, x)", "o = sum(i, p * p * saved_p_max)"],
    "outputs": {"o": "f32"}, "reference": {"shape": {"i": 5}}})j";
  Ended ended = attnc({"check", "-", "--grad", "all", "--target", "cpu"}, text);
  EXPECT_EQ(ended.exit, 0) << ended.out << ended.err;
}

TEST(Grad, hasAPartOfItsOwnInEachStage) {
  Ended ended =
      attnc({"compile", "causal", "--grad", "q,k,v", "--target", "sm_80", "--emit", "red"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("attn.program @causal "));
  EXPECT_THAT(ended.out, HasSubstr("attn.program @causal_grad "));
}

TEST(Check, interpretsTheKernelsOfAGpuTargetWithoutAGpu) {
  auto json = attnc({"check", "causal", "--target", "sm_90a", "--interpret", "--json"}).json();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("ok"), true);
  EXPECT_EQ(json.at("checks").at(0).at("target"), "sm_90a");
}

TEST(Check, interpretsForHopperWhereThereIsNoGpu) {
  // A GPU that is there is hidden.
  auto json = runProgram("env", {"CUDA_VISIBLE_DEVICES=", ATTNC_BINARY, "check", "causal",
                                 "--interpret", "--json"})
                  .json();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json.at("ok"), true);
  EXPECT_EQ(json.at("checks").at(0).at("target"), "sm_90a");
}

// That the file is read at all: see ScheduleFiles.areCheckedByCheck.
TEST(Check, takesAScheduleFile) {
  TemporaryFolder folder;
  std::string file = folder.write("s.json", R"({"causal_o": {"groups": 1, "stream_tile": 48}})");
  Ended ended = attnc({"check", "causal", "--target", "sm_90a", "--interpret", "--schedule", file});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("ok"));
  EXPECT_EQ(ended.err, "");
}

TEST(Check, showsErrorBesideTolerance) {
  Ended ended = attnc({"check", "causal", "lse", "--target", "cpu"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("tolerance"));
  EXPECT_THAT(ended.out, Not(HasSubstr("FAILED")));
  // One row an output, and the head.
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 4);
}

TEST(Explain, saysWhatIsFusedAndSkipped) {
  Ended ended = attnc({"explain", "causal", "--target", "cpu"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("one pass over j"));
  EXPECT_THAT(ended.out, HasSubstr("skipped"));
  EXPECT_THAT(ended.out, HasSubstr("associative"));
  EXPECT_THAT(ended.out, HasSubstr("distributes over +"));
  auto json = attnc({"explain", "causal", "--target", "cpu", "--json", "--ir"}).json();
  EXPECT_EQ(json.at("kernels").size(), 1u);
  EXPECT_FALSE(json.at("passes").empty());
}

TEST(Explain, saysWhatAScheduleMeans) {
  Ended ended = attnc({"explain", "softcap", "--target", "sm_90a", "--set", "d=96,e=96"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  for (const char *part : {"from: cost model", "one thread copies tiles", "3 stages",
                           "of shared memory", "one block of 640 threads on a multiprocessor",
                           "limited by exponentials and arithmetic", "of the tensor cores' peak"})
    EXPECT_THAT(ended.out, HasSubstr(part));
  auto kernel =
      attnc({"explain", "softcap", "--target", "sm_90a", "--json"}).json().at("kernels")[0];
  EXPECT_EQ(kernel.at("schedule_from"), "cost model");
  EXPECT_GT(kernel.at("schedule_report").at("predicted").at("clocks"), 0);
  EXPECT_THAT(kernel.at("steps"),
              testing::Contains("computes* values: starts o += weights v; in turn"));
}

TEST(Explain, aScheduleFileComesBeforeThePrediction) {
  TemporaryFolder folder;
  std::string file = folder.write("s.json", R"({"groups": 2, "stream_tile": 128})");
  Ended ended = attnc({"explain", "full", "--target", "sm_90a", "--schedule", file});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("from: as asked for"));
  EXPECT_THAT(ended.out, HasSubstr("k: 128 x 64"));
}

TEST(Explain, saysWhatCopiesUnalignedTensors) {
  Ended ended = attnc({"explain", "full", "--target", "sm_90a"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out,
              HasSubstr("align_q, align_k, align_v copy inputs to aligned rows first and "
                        "unalign_o copies results from aligned rows last"));
  auto copies =
      attnc({"explain", "full", "--target", "sm_90a", "--json"}).json().at("copied_unless_aligned");
  ASSERT_EQ(copies.size(), 4U);
  EXPECT_EQ(copies[3].at("tensor"), "o");
  EXPECT_EQ(copies[3].at("kernel"), "unalign_o");
  EXPECT_EQ(copies[3].at("align"), 16);
}

TEST(Compile, writesEveryTextWithoutAGpu) {
  for (const char *emit : {"attn", "red", "tile", "cuda"}) {
    Ended ended = attnc({"compile", "causal", "--target", "sm_80", "--emit", emit});
    EXPECT_EQ(ended.exit, 0) << emit << ": " << ended.err;
    EXPECT_FALSE(ended.out.empty()) << emit;
  }
  Ended ended = attnc({"compile", "causal", "--target", "cpu", "--emit", "llvm"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("define"));
}

// Neither a GPU nor NVRTC is needed for the arithmetic of a GPU's kernels.
TEST(Compile, saysHowLongEachPassTook) {
  for (const char *flag : {"--timing", "--mlir-timing"}) {
    auto json =
        attnc({"compile", "causal", "--target", "sm_80", "--emit", "cuda", flag, "--json"}).json();
    ASSERT_TRUE(json.contains("timing")) << flag;
    double passes = 0, ours = 0, total = 0;
    for (const auto &time : json.at("timing")) {
      double seconds = time.at("seconds");
      EXPECT_GE(seconds, 0) << time.at("name");
      (time.at("name") == "ours" ? ours : time.at("name") == "total" ? total : passes) += seconds;
    }
    EXPECT_GT(passes, 0);
    EXPECT_LE(passes, ours * 1.001);
    EXPECT_EQ(ours, total); // no NVRTC for CUDA C++
  }
}

// That of the program in parts is in the same times.
TEST(Compile, timesThePassesOfThePipelineInTheirOrder) {
  auto json =
      attnc({"compile", "causal", "--target", "sm_80", "--emit", "tile", "--timing", "--json"})
          .json();
  std::vector<std::string> times, passes = {"frontend"};
  for (const auto &time : json.at("timing"))
    times.push_back(time.at("name"));
  for (const driver::Step &step : driver::pipelineSteps())
    passes.push_back(step.name);
  ASSERT_GT(times.size(), passes.size());
  times.resize(passes.size());
  EXPECT_EQ(times, passes);
}

TEST(Check, emulatesTheArithmeticOfATarget) {
  auto json = attnc({"check", "causal", "--target", "sm_80", "--emulate", "--json"}).json();
  EXPECT_EQ(json.at("exit"), 0) << json.dump();
  EXPECT_EQ(json.at("checks").at(0).at("target"), "~sm_80");
  EXPECT_EQ(attnc({"check", "causal", "--emulate", "--interpret"}).exit, 2);
}

TEST(Check, emulatesTheArithmeticOfTheProcessorToo) {
  for (std::vector<std::string> more : {std::vector<std::string>(), {"--grad", "q,k,v"}}) {
    std::vector<std::string> arguments = {"check", "causal",    "--target",
                                          "cpu",   "--emulate", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Ended ended = attnc(arguments);
    EXPECT_EQ(ended.exit, 0) << ended.out << ended.err;
    EXPECT_EQ(ended.json().at("checks").at(0).at("target"), "~cpu");
  }
}

TEST(Compile, verifiesPasses) {
  Ended ended = attnc({"compile", "causal", "--target", "cpu", "--emit", "red", "--verify-passes"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
}

/// What needs NVRTC says so and ends with 4 where it is not there.
bool hasNvrtc() {
  auto doctor = attnc({"doctor", "--json"}).json();
  for (const auto &finding : doctor.at("findings"))
    if (finding.at("subject") == "nvrtc")
      return finding.at("works");
  return false;
}

// A schedule that somebody asks for is not changed, but the tool says that it spills.
TEST(Compile, saysThatTheKernelOfAScheduleSpills) {
  if (!hasNvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  TemporaryFolder folder;
  std::string spec = folder.write("masked.json", R"json({"attnc": 1, "name": "masked",
    "types": {"T": "bf16"}, "dims": {"d": 64, "e": 64},
    "inputs": {"q": "T[b,h,i,d]", "k": "T[b,h,j,d]", "v": "T[b,h,j,e]", "keep": "bool[b,i,j]"},
    "body": ["s = sum(d, q[b,h,i,d] * k[b,h,j,d])",
             "p = softmax(j, where(keep[b,i,j], s, -inf))",
             "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"],
    "outputs": {"o": "T"}, "reference": {"shape": {"b": 1, "h": 1, "i": 9, "j": 9}}})json");
  std::string schedule =
      folder.write("schedule.json", R"({"groups": 3, "stream_tile": 128, "stages": 2})");
  std::vector<std::string> arguments = {
      "compile", spec,     "--target", "sm_90a", "--schedule",
      schedule,  "--emit", "cubin",    "-o",     folder.file("k.cubin")};
  Ended ended = attnc(arguments);
  EXPECT_EQ(ended.exit, 0) << ended.err;
  arguments.push_back("--json");
  auto resources = attnc(arguments).json().at("kernels").at(0).at("resources");
  bool spills = resources.at("spill_stores").get<int>() > 0;
  EXPECT_EQ(ended.err.find("masked_o spills registers") != std::string::npos, spills) << ended.err;
}

TEST(Compile, writesPtxThatPtxasTakes) {
  if (!hasNvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  TemporaryFolder folder;
  for (const char *target : {"sm_80", "sm_90a"}) {
    std::string ptx = folder.file(std::string(target) + ".ptx");
    Ended ended = attnc({"compile", "causal", "--target", target, "--emit", "ptx", "-o", ptx});
    ASSERT_EQ(ended.exit, 0) << ended.err;
    EXPECT_THAT(readText(ptx), HasSubstr(std::string(".target ") + target));
    // That of NVRTC has taken the same text; the toolkit's may be of another version.
    if (!std::filesystem::exists("/usr/local/cuda/bin/ptxas"))
      continue;
    Ended assembled = runProgram("/usr/local/cuda/bin/ptxas", {std::string("-arch=") + target, ptx,
                                                               "-o", folder.file("c.cubin")});
    EXPECT_EQ(assembled.exit, 0) << assembled.err;
  }
}

// What others have named becomes no code. What a name says beyond its line would not compile here.
TEST(Compile, textOfASpecAndOfLocationsStaysInComments) {
  TemporaryFolder folder;
  std::string lines = folder.write("lines.json", R"json({"attnc": 1, "name": "lines",
    "inputs": {"x": "f32[i, j]"},
    "body": ["p = softmax(j,\n x)", ["y = p", "  + x"], "o = sum(j,\r\n y)"],
    "outputs": {"o": "f32"}})json");
  std::string injection = folder.write("injection.mlir", R"mlir(
#s = loc("o\0A;injected();"(fused<"o = exp(x) \5C\0Ainjected(); \5C">["a\0Ainjected();":3:5]))
attn.program @"x(){}\0Ainjected();" dims [i] {
  %x = attn.input "x\0Ainjected();" : <[i], f32>
  %r = attn.read %x [i] : (!attn.array<[i], f32>) -> !attn.array<[i], f32> loc(#s)
  %o = attn.map (%a = %r : !attn.array<[i], f32>) -> !attn.array<[i], f32> {
    %b = math.exp %a : f32 loc(#s)
    attn.yield %b : f32
  } loc(#s)
  attn.output "o" [i] %o as f32 : <[i], f32> loc(#s)
}
)mlir");
  for (const std::string &file : {lines, injection}) {
    Ended ended = attnc({"compile", file, "--target", "sm_80", "--emit", "cuda"});
    ASSERT_EQ(ended.exit, 0) << ended.err;
    EXPECT_THAT(ended.out,
                HasSubstr(file == lines ? "// p = softmax(j, x)\n" : "// o = exp(x) ? inj"));
    EXPECT_THAT(ended.out, Not(HasSubstr("\ninjected")));
    if (!hasNvrtc())
      continue;
    ended = attnc({"compile", file, "--target", "sm_80", "--emit", "ptx", "-o", folder.file("p")});
    EXPECT_EQ(ended.exit, 0) << ended.err;
  }
}

TEST(Compile, sameSpecGivesTheSameProgram) {
  if (!hasNvrtc())
    GTEST_SKIP() << "no NVRTC on this machine";
  TemporaryFolder folder;
  for (const char *file : {"a", "b"}) {
    Ended ended = attnc({"compile", "alibi", "--target", "sm_80", "-o", folder.file(file)});
    ASSERT_EQ(ended.exit, 0) << ended.err;
  }
  EXPECT_FALSE(readText(folder.file("a")).empty());
  EXPECT_EQ(readText(folder.file("a")), readText(folder.file("b")));
}

/// Blocks of two batches in a cache of 4; the third block of the second batch is `last`.
std::string writeTable(const TemporaryFolder &folder, int32_t last) {
  NpyArray table{DType::I32, {2, 3}, {}};
  table.data.resize(6 * sizeof(int32_t));
  const int32_t values[] = {0, 1, 2, 3, 0, last};
  std::memcpy(table.data.data(), values, sizeof(values));
  EXPECT_TRUE(writeNpy(table, folder.file("table.npy")).ok());
  return "table=" + folder.file("table.npy");
}

TEST(Run, checkBoundsNamesTheFirstReadOutsideOfEachTensor) {
  TemporaryFolder folder;
  std::vector<std::string> command = {
      "run",           "paged",   "--target", "cpu",
      "--shape",       "b=2,n=4", "--input",  writeTable(folder, 99),
      "--check-bounds"};
  Ended ended = attnc(command);
  EXPECT_EQ(ended.exit, 1);
  for (const char *tensor : {"kp", "vp"})
    EXPECT_THAT(ended.err,
                HasSubstr(std::string(tensor) + ": the subscript `table[b, j//size(t)]` of 'n' is "
                                                "99 at b=1, j=32; the extent is 4, so 0 is read"));
  EXPECT_THAT(ended.err, HasSubstr("paged.json:"));
  EXPECT_THAT(ended.out, HasSubstr("bf16[b=2"));
  command.push_back("--json");
  auto json = attnc(command).json();
  EXPECT_EQ(json.at("ok"), false);
  ASSERT_EQ(json.at("outside_reads").size(), 2u);
  EXPECT_EQ(json.at("outside_reads")[0].at("value"), 99);
  EXPECT_EQ(json.at("outside_reads")[0].at("at").at("j"), 32);
}

TEST(Run, checkBoundsIsContentWhereAllIsInside) {
  TemporaryFolder folder;
  Ended ended = attnc({"run", "paged", "--target", "cpu", "--shape", "b=2,n=4", "--input",
                       writeTable(folder, 3), "--check-bounds", "--check"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("no subscript that comes from data falls outside"));
}

TEST(Check, checkBoundsOfRandomTablesIsARemark) {
  Ended ended = attnc({"check", "relative_bias", "--target", "cpu", "--check-bounds"});
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("w: the subscript `bucket[maximum(i - j, 0)]` of 'n' is "));
}

} // namespace
} // namespace attnc::e2e
