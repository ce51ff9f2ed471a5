// Reads whose subscripts come from data: their values outside, their random inputs.
#include "program_text.h"

#include "compiler/evaluator/inputs/bounds_check.h"
#include "compiler/evaluator/inputs/inputs.h"

#include <gtest/gtest.h>

namespace attnc::evaluator {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();

/// o[b, i] = x[table[b, i] * 4, i % 2], which is read through `type` integers.
std::string gatherText(const std::string &type, const std::string &otherwise = "else 7.0") {
  return R"(
attn.program @p dims [b, i, n, t = 2] {
  %x = attn.input "x" : !attn.array<[n, t], f32>
  %table = attn.input "table" : !attn.array<[b, i], )" +
         type + R"(>
  %0 = attn.read %table[b, i] : (!attn.array<[b, i], )" +
         type + R"(>) -> !attn.array<[b, i], i64>
  %s = attn.map (%a = %0 : !attn.array<[b, i], i64>) -> !attn.array<[b, i], i64> {
    %four = arith.constant 4 : i64
    %y = arith.muli %a, %four : i64
    attn.yield %y : i64
  }
  %i = attn.index i : !attn.array<[i], i64>
  %r = attn.map (%a = %i : !attn.array<[i], i64>) -> !attn.array<[i], i64> {
    %two = arith.constant 2 : i64
    %y = attn.mod %a, %two : i64
    attn.yield %y : i64
  }
  %o = attn.read %x[%s, %r] )" +
         otherwise +
         R"( : (!attn.array<[n, t], f32>, !attn.array<[b, i], i64>, !attn.array<[i], i64>) -> !attn.array<[b, i], f32>
  attn.output "o" [b, i] %o as f32 : !attn.array<[b, i], f32>
})";
}

Array twice(int64_t rows) {
  std::vector<double> value;
  for (int64_t i = 0; i < 2 * rows; ++i)
    value.push_back(100 + i);
  return reals({rows, 2}, value);
}

TEST(Gather, ReadsTheElseValueOutside) {
  Program program(gatherText("i64"));
  Outputs outputs = program.run(given(
      {{"x", twice(9)}, {"table", wholes({2, 3}, {0, 2, -1, 3, kLeast / 4, kGreatest / 4})}}));
  // Rows 0, 8, -4 and 12, -2^63, 2^63 - 4 of nine; columns 0, 1, 0.
  EXPECT_EQ(outputs["o"].value, (std::vector<double>{100, 117, 7, 7, 7, 7}));
}

TEST(BoundsCheck, NamesTheFirstReadOutside) {
  Program program(gatherText("i32"));
  EvalInputs inputs = given({{"x", twice(9)}, {"table", wholes({2, 3}, {0, 2, 1, 1, 3, -1})}});
  auto reads = llvm::cantFail(findOutsideReads(program.op(), inputs));
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].tensor, "x");
  EXPECT_EQ(reads[0].dim, "n");
  EXPECT_EQ(reads[0].value, 12);
  EXPECT_EQ(reads[0].extent, 9);
  EXPECT_EQ(reads[0].outside, 2);
  EXPECT_EQ(reads[0].all, 6);
  EXPECT_EQ(reads[0].otherwise, 7);
  std::vector<std::pair<std::string, int64_t>> at = {{"b", 1}, {"i", 1}};
  EXPECT_EQ(reads[0].at, at);
  EXPECT_NE(reads[0].text().find("x: the subscript of 'n' is 12 at b=1, i=1; the extent is 9, so 7 "
                                 "is read (2 of 6 are outside)"),
            std::string::npos)
      << reads[0].text();
}

TEST(BoundsCheck, FindsNothingWhereAllIsInside) {
  Program program(gatherText("i32"));
  EvalInputs inputs = given({{"x", twice(9)}, {"table", wholes({1, 3}, {0, 2, 1})}});
  EXPECT_TRUE(llvm::cantFail(findOutsideReads(program.op(), inputs)).empty());
}

/// x[table] over j, whose length is len[b]; the table has dims `dims`.
std::string lengthsText(const std::string &dims) {
  std::string table = "!attn.array<[" + dims + "], i32>",
              index = "!attn.array<[" + dims + "], i64>";
  return R"(
attn.program @g dims [n, b, j] {
  %x = attn.input "x" : !attn.array<[n], f32>
  %t = attn.input "table" : )" +
         table + R"(
  %l = attn.input "len" : !attn.array<[b], i32>
  %len = attn.read %l[b] : (!attn.array<[b], i32>) -> !attn.array<[b], i64>
  attn.extent j %len : <[b], i64>
  %s = attn.read %t[)" +
         dims + "] : (" + table + ") -> " + index + R"(
  %o = attn.read %x[%s] else 7.0 : (!attn.array<[n], f32>, )" +
         index + ") -> !attn.array<[" + dims + R"(], f32>
  attn.output "o" [)" +
         dims + "] %o as f32 : !attn.array<[" + dims + "], f32>\n}";
}

TEST(BoundsCheck, LeavesOutWhatIsBeyondALength) {
  Program program(lengthsText("b, j"));
  auto found = [&](std::vector<int64_t> lengths) {
    return llvm::cantFail(
        findOutsideReads(program.op(), given({{"x", reals({3}, {1, 2, 3})},
                                              {"table", wholes({2, 3}, {0, -1, -1, 1, 2, 9})},
                                              {"len", wholes({2}, std::move(lengths))}})));
  };
  EXPECT_TRUE(found({1, 2}).empty());
  EXPECT_TRUE(found({0, 0}).empty());
  auto reads = found({2, 2});
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].value, -1);
  std::vector<std::pair<std::string, int64_t>> at = {{"b", 0}, {"j", 1}};
  EXPECT_EQ(reads[0].at, at);
  EXPECT_EQ(reads[0].outside, 1);
  EXPECT_EQ(reads[0].all, 4);
  EXPECT_EQ(found({3, 3})[0].outside, 3);
}

// A subscript without the dim of the lengths is read if it is within one of them.
TEST(BoundsCheck, TakesTheGreatestLengthWhereASubscriptServesAll) {
  Program program(lengthsText("j"));
  auto count = [&](std::vector<int64_t> lengths) {
    return llvm::cantFail(
               findOutsideReads(program.op(), given({{"x", reals({3}, {1, 2, 3})},
                                                     {"table", wholes({3}, {0, 1, -1})},
                                                     {"len", wholes({2}, std::move(lengths))}})))
        .size();
  };
  EXPECT_EQ(count({2, 1}), 0u);
  EXPECT_EQ(count({1, 3}), 1u);
}

TEST(BoundsCheck, LeavesTheProgramAsItWas) {
  Program program(gatherText("i32"));
  auto print = [&] {
    std::string text;
    llvm::raw_string_ostream(text) << program.op();
    return text;
  };
  std::string before = print();
  llvm::cantFail(
      findOutsideReads(program.op(), given({{"x", twice(9)}, {"table", wholes({1, 1}, {9})}})));
  EXPECT_EQ(print(), before);
}

/// How many of the table's values are in [0, range), and how many there are.
std::pair<int64_t, int64_t> insideOf(const std::string &type, int64_t rows, int64_t range) {
  Program program(gatherText(type));
  EvalInputs inputs = randomInputs(program, {{"b", 50}, {"i", 80}, {"n", rows}});
  const std::vector<int64_t> &table = inputs.tensors.at("table").integer;
  return {llvm::count_if(table, [&](int64_t x) { return x >= 0 && x < range; }), table.size()};
}

TEST(SubscriptInputs, AreMostlyInsideAndSomeOutside) {
  // One in 16 of 4000 is outside: 250, with a standard deviation of 15.3; five of them.
  for (const char *type : {"i8", "i32", "i64"}) {
    auto [inside, all] = insideOf(type, 401, 101);
    ASSERT_EQ(all, 4000);
    EXPECT_NEAR(all - inside, 250, 77) << type;
  }
  // Bytes have no negative ones: of the four kinds of values outside, three are.
  auto [inside, all] = insideOf("ui8", 401, 101);
  EXPECT_NEAR(all - inside, 3. / 4 * 250, 68);
}

TEST(SubscriptInputs, ReachEveryRow) {
  Program program(gatherText("i32"));
  EvalInputs inputs = randomInputs(program, {{"b", 50}, {"i", 80}, {"n", 41}});
  const std::vector<int64_t> &table = inputs.tensors.at("table").integer;
  for (int64_t row = 0; row < 11; ++row) // those whose fourfold is below 41
    EXPECT_GT(llvm::count(table, row), 0) << row;
}

} // namespace
} // namespace attnc::evaluator
