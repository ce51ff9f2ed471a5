// What cannot be evaluated is refused with a message that says why.
#include "program_text.h"

#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

const std::map<std::string, int64_t> kSmall{{"b", 1}, {"h", 1}, {"i", 4},
                                            {"j", 5}, {"d", 4}, {"e", 2}};

TEST(Refusal, InputsThatDoNotFit) {
  Program program(attentionText());
  EvalInputs inputs = randomInputs(program, kSmall);
  EvalInputs missing = inputs;
  missing.tensors.erase("k");
  EXPECT_EQ(program.refusal(missing), "input 'k' is missing");
  EvalInputs other = inputs;
  other.tensors["v"] = reals({1, 1, 6, 2}, std::vector<double>(12));
  EXPECT_EQ(program.refusal(other), "input 'v' gives dim 'j' the extent 6; elsewhere it is 5");
  other.tensors["v"] = reals({5, 2}, std::vector<double>(10));
  EXPECT_EQ(program.refusal(other), "input 'v' has 4 axes and is given with 2");
  other.tensors["v"] = reals({1, 1, 5, 2}, std::vector<double>(9));
  EXPECT_EQ(program.refusal(other), "input 'v' holds 9 elements; its shape has 10");
  other.tensors["v"] = wholes({1, 1, 5, 2}, std::vector<int64_t>(10));
  EXPECT_EQ(program.refusal(other), "input 'v' is given with elements of another kind");
}

TEST(Refusal, SamplesOfAReducedDim) {
  Program program(attentionText());
  EvalInputs inputs = randomInputs(program, kSmall);
  EvalOptions options;
  options.sample["j"] = {0, 1};
  EXPECT_NE(program.refusal(inputs, options).find("dim 'j' cannot be sampled: it is reduced"),
            std::string::npos);
  options.sample = {{"i", {3, 1}}};
  EXPECT_EQ(program.refusal(inputs, options), "samples of dim 'i' must ascend within its extent 4");
  options.sample = {{"i", {4}}};
  EXPECT_EQ(program.refusal(inputs, options), "samples of dim 'i' must ascend within its extent 4");
}

TEST(Refusal, MoreMemoryThanTheLimit) {
  Program program(attentionText());
  EvalInputs inputs =
      randomInputs(program, {{"b", 1}, {"h", 1}, {"i", 300}, {"j", 300}, {"d", 8}, {"e", 8}});
  EvalOptions options;
  options.memoryLimit = 1 << 20; // the scores alone take 1.4 MB
  EXPECT_NE(program.refusal(inputs, options).find("its limit is 1 MiB"), std::string::npos);
  options.memoryLimit = 8 << 20;
  EXPECT_EQ(program.refusal(inputs, options), "evaluated")
      << "the product over d (11 MB) is never stored, and the scores are freed after their last "
         "use";
}

std::string scalarProgram(const std::string &body) {
  return "attn.program @p dims [n] {\n  %x = attn.input \"x\" : !attn.array<[n], f32>\n" + body +
         "\n}";
}

EvalInputs threeNumbers() { return given({{"x", reals({3}, {1, 2, 3})}}); }

TEST(Refusal, AReadOutsideWithoutElse) {
  Program program(scalarProgram(R"(
  %i = attn.index n : !attn.array<[n], i64>
  %next = attn.map (%a = %i : !attn.array<[n], i64>) -> !attn.array<[n], i64> {
    %one = arith.constant 1 : i64
    %z = arith.addi %a, %one : i64
    attn.yield %z : i64
  }
  %0 = attn.read %x[%next] : (!attn.array<[n], f32>, !attn.array<[n], i64>) -> !attn.array<[n], f32>
  attn.output "r" [n] %0 as f32 : !attn.array<[n], f32>)"));
  EXPECT_NE(program.refusal(threeNumbers())
                .find("reads index 3 of axis 0, whose extent is 3, and it has no value"),
            std::string::npos)
      << program.refusal(threeNumbers());
}

TEST(Refusal, AFalseRequireAndAParamOutsideItsRange) {
  Program program(scalarProgram(R"(
  %n = attn.size n : !attn.array<[], i64>
  %even = attn.map (%a = %n : !attn.array<[], i64>) -> !attn.array<[], i1> {
    %two = arith.constant 2 : i64
    %zero = arith.constant 0 : i64
    %r = attn.mod %a, %two : i64
    %z = arith.cmpi eq, %r, %zero : i64
    attn.yield %z : i1
  }
  %p = attn.param "p" {lower = 0.0 : f64, lower_open} -> !attn.array<[], f32>
  attn.require "size(n) % 2 == 0" %even : !attn.array<[], i1>
  attn.output "r" [] %p as f32 : !attn.array<[], f32>)"));
  EvalInputs odd = threeNumbers(), even = given({{"x", reals({2}, {1, 2})}});
  EXPECT_NE(program.refusal(even).find("param 'p' has no default and is not passed"),
            std::string::npos);
  odd.params["p"] = even.params["p"] = 1;
  EXPECT_EQ(program.refusal(even), "evaluated");
  EXPECT_NE(program.refusal(odd).find("require 'size(n) % 2 == 0' does not hold"),
            std::string::npos);
  even.params["p"] = 0;
  EXPECT_NE(program.refusal(even).find("param 'p' is 0, outside its range"), std::string::npos);
}

TEST(Refusal, AnOpWithoutARule) {
  Program program(scalarProgram(R"(
  %0 = attn.read %x[n] : (!attn.array<[n], f32>) -> !attn.array<[n], f32>
  %1 = attn.map (%a = %0 : !attn.array<[n], f32>) -> !attn.array<[n], f32> {
    %z = math.cbrt %a : f32
    attn.yield %z : f32
  }
  attn.output "r" [n] %1 as f32 : !attn.array<[n], f32>)"));
  EXPECT_NE(program.refusal(threeNumbers()).find("the evaluator has no rule for math.cbrt"),
            std::string::npos);
}

TEST(Refusal, ADimWithoutExtent) {
  Program program(R"(
attn.program @p dims [n] {
  %i = attn.index n : !attn.array<[n], i64>
  %0 = attn.reduce add over [n] %i : !attn.array<[n], i64> -> !attn.array<[], i64>
  attn.output "r" [] %0 as i64 : !attn.array<[], i64>
})");
  EvalInputs inputs;
  EXPECT_EQ(program.refusal(inputs),
            "dim 'n' has no extent: no input carries it and the caller does not give one");
  inputs.extents["n"] = -1;
  EXPECT_EQ(program.refusal(inputs), "the caller gives dim 'n' the extent -1, which is negative");
  inputs.extents["n"] = 5;
  EXPECT_EQ(program.run(inputs)["r"].integer[0], 10);
}

} // namespace
} // namespace attnc::evaluator
