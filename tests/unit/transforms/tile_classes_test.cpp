// The classes of tiles (skipped, partial, full) of well-known masks, exactly those that brute force
// finds.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tests/unit/transforms/domain_interpreter.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace attnc {
namespace {

constexpr int kRows = 45, kStream = 53;

struct KnownMask {
  const char *name, *text;
  bool (*holds)(int64_t i, int64_t j);
};

enum class TileClass { Skipped, Partial, Full };

TileClass classOf(const DomainInterpreter::Result &result, int64_t j, int64_t jLast) {
  if (jLast < result.lo || j >= result.hi || !result.live)
    return TileClass::Skipped;
  return result.full ? TileClass::Full : TileClass::Partial;
}

TileClass bruteForce(llvm::function_ref<bool(int64_t, int64_t)> holds, int64_t i, int64_t iLast,
                     int64_t j, int64_t jLast) {
  bool all = true, none = true;
  for (int64_t y = i; y <= iLast; ++y)
    for (int64_t x = j; x <= jLast; ++x)
      (holds(y, x) ? none : all) = false;
  return none ? TileClass::Skipped : all ? TileClass::Full : TileClass::Partial;
}

class TileClasses : public testing::TestWithParam<KnownMask> {};

TEST_P(TileClasses, AreThoseOfBruteForce) {
  KnownMask mask = GetParam();
  FusedProgram program(std::string(R"j(["s = where()j") + mask.text +
                           R"j(, sum(d, q[b,h,i,d] * k[b,h,j,d]), -inf)",
    "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"])j",
                       R"j({"o": "f32"})j");
  ASSERT_EQ(program.nests().size(), 1u);
  DomainInterpreter domain(program.nests()[0], kRows, kStream);
  for (auto [rows, columns] : {std::pair{1, 1}, {6, 4}, {4, 8}, {16, 16}, {2, 2}, {5, 3}})
    for (int64_t i = 0; i < kRows; i += rows)
      for (int64_t j = 0; j < kStream; j += columns) {
        int64_t iLast = std::min<int64_t>(i + rows, kRows) - 1;
        int64_t jLast = std::min<int64_t>(j + columns, kStream) - 1;
        TileClass found = classOf(domain.run(i, iLast, j, jLast), j, jLast);
        TileClass expected = bruteForce(mask.holds, i, iLast, j, jLast);
        EXPECT_EQ(found, expected)
            << mask.text << " tile " << i << " to " << iLast << ", " << j << " to " << jLast;
      }
}

int64_t block(int64_t index, int64_t size) { return index / size; }

INSTANTIATE_TEST_SUITE_P(
    Masks, TileClasses,
    testing::Values(
        KnownMask{"causal", "j <= i", [](int64_t i, int64_t j) { return j <= i; }},
        KnownMask{"causal_at_the_end", "j <= i + size(j) - size(i)",
                  [](int64_t i, int64_t j) { return j <= i + kStream - kRows; }},
        KnownMask{"later_only", "j >= i", [](int64_t i, int64_t j) { return j >= i; }},
        KnownMask{"window", "abs(i - j) <= 7",
                  [](int64_t i, int64_t j) { return std::abs(i - j) <= 7; }},
        KnownMask{"window_before", "j <= i and i - j < 9",
                  [](int64_t i, int64_t j) { return j <= i && i - j < 9; }},
        KnownMask{"prefix", "j < 13 or j <= i",
                  [](int64_t i, int64_t j) { return j < 13 || j <= i; }},
        KnownMask{"dilated", "(i - j) % 4 == 0",
                  [](int64_t i, int64_t j) { return (i - j) % 4 == 0; }},
        KnownMask{"dilated_causal", "(i - j) % 12 == 0 and j <= i",
                  [](int64_t i, int64_t j) { return (i - j) % 12 == 0 && j <= i; }},
        KnownMask{"same_residue", "i % 5 == j % 5",
                  [](int64_t i, int64_t j) { return i % 5 == j % 5; }},
        KnownMask{"strided_keys", "j % 9 == 2", [](int64_t, int64_t j) { return j % 9 == 2; }},
        KnownMask{"not_strided", "j % 3 != 1", [](int64_t, int64_t j) { return j % 3 != 1; }},
        KnownMask{"some_residues", "j % 10 < 4", [](int64_t, int64_t j) { return j % 10 < 4; }},
        KnownMask{"blocks", "i // 8 == j // 8",
                  [](int64_t i, int64_t j) { return block(i, 8) == block(j, 8); }},
        KnownMask{"blocks_causal", "j // 8 <= i // 8",
                  [](int64_t i, int64_t j) { return block(j, 8) <= block(i, 8); }},
        KnownMask{
            "blocks_of_any_size", "j // (size(j) // 4) <= i // (size(j) // 4)",
            [](int64_t i, int64_t j) { return block(j, kStream / 4) <= block(i, kStream / 4); }},
        KnownMask{"block_starts", "j - j % 8 <= i",
                  [](int64_t i, int64_t j) { return j - j % 8 <= i; }},
        KnownMask{"global_and_window", "abs(i - j) <= 4 or j < 3 or i < 3",
                  [](int64_t i, int64_t j) { return std::abs(i - j) <= 4 || j < 3 || i < 3; }},
        KnownMask{"outside_of_window", "abs(i - j) > 12",
                  [](int64_t i, int64_t j) { return std::abs(i - j) > 12; }},
        KnownMask{"last_segment_takes_the_rest", "minimum(j // 7, 5) == 5",
                  [](int64_t, int64_t j) { return std::min<int64_t>(j / 7, 5) == 5; }},
        KnownMask{"of_a_choice", "j <= where(i < 20, i, 30)",
                  [](int64_t i, int64_t j) { return j <= (i < 20 ? i : 30); }},
        KnownMask{
            "two_windows", "abs(i - j) <= 4 or abs(i - j - 9) <= 4",
            [](int64_t i, int64_t j) { return std::abs(i - j) <= 4 || std::abs(i - j - 9) <= 4; }},
        KnownMask{"rows_or_keys", "i < 17 or j < 19 or i + j > 50",
                  [](int64_t i, int64_t j) { return i < 17 || j < 19 || i + j > 50; }}),
    [](const auto &info) { return std::string(info.param.name); });

// Two states with masks of their own: a tile is skipped if it leaves both at their identities, and
// full if it needs neither mask.
TEST(StateClasses, OfTwoMasksAreThoseOfTheirUnion) {
  auto before = [](int64_t i, int64_t j) { return j <= i && i - j < 9; };
  auto first = [](int64_t, int64_t j) { return j % 24 < 6; };
  FusedProgram program(R"j(["s = sum(d, q[b,h,i,d] * k[b,h,j,d])",
    "x = logsumexp(j, where(j <= i and i - j < 9, s, -inf))",
    "y = logsumexp(j, where(j % 24 < 6, s, -inf))", "o[b,h,i] = x + y"])j",
                       R"j({"o": "f32"})j");
  ASSERT_EQ(program.nests().size(), 1u);
  DomainInterpreter domain(program.nests()[0], kRows, kStream);
  int skipped = 0;
  for (int64_t i = 0; i < kRows; i += 4)
    for (int64_t j = 0; j < kStream; j += 4) {
      int64_t iLast = std::min<int64_t>(i + 4, kRows) - 1;
      int64_t jLast = std::min<int64_t>(j + 4, kStream) - 1;
      TileClass x = bruteForce(before, i, iLast, j, jLast);
      TileClass y = bruteForce(first, i, iLast, j, jLast);
      TileClass both = x == TileClass::Skipped && y == TileClass::Skipped ? TileClass::Skipped
                       : x == TileClass::Full && y == TileClass::Full     ? TileClass::Full
                                                                          : TileClass::Partial;
      EXPECT_EQ(classOf(domain.run(i, iLast, j, jLast), j, jLast), both) << i << "," << j;
      skipped += both == TileClass::Skipped;
    }
  EXPECT_GT(skipped, 0);
}

// A part has as many elements as the tiles here.
constexpr int64_t kPart = 64, kTokens = 5 * kPart + 17;

class DataClasses : public testing::Test {
protected:
  std::string spec(const std::string &mask) {
    return R"j({"attnc": 1, "name": "t", "dims": {"d": 8, "e": 8},
      "inputs": {"q": "f32[b,h,i,d]", "k": "f32[b,h,j,d]", "v": "f32[b,h,j,e]",
                 "row": "i32[b,i]", "key": "i32[b,j]", "table": "i32[x,y]", "length": "i32[b]"},
      "body": ["s = where()j" +
           mask + R"j(, sum(d, q[b,h,i,d] * k[b,h,j,d]), -inf)",
        "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"], "outputs": {"o": "f32"}})j";
  }

  // Elements of inputs, and of the extremes of their parts.
  int64_t element(Value array, ArrayRef<int64_t> index) {
    if (auto input = array.getDefiningOp<attn::InputOp>()) {
      if (input.getName() == "table")
        return table[index[0]][index[1]];
      EXPECT_EQ(input.getName(), "length");
      return length;
    }
    auto nest = array.getDefiningOp<red::NestOp>();
    bool largest = array == nest.getResult(0), rows = false;
    nest.walk([&](attn::ReadOp read) {
      rows = read.getSource().getDefiningOp<attn::InputOp>().getName() == "row";
    });
    auto dims = cast<attn::ArrayType>(array.getType()).getDims();
    int64_t part =
        index[llvm::find_if(dims, [](StringAttr d) { return d.getValue() != "b"; }) - dims.begin()];
    const std::vector<int64_t> &all = rows ? row : key;
    auto fold = cast<red::FoldOp>(nest.states()[largest ? 0 : 1]);
    int64_t result = largest ? INT64_MIN : INT64_MAX;
    for (int64_t at = 0; at < kTokens; ++at) {
      bool inside = at >= part * kPart && at < (part + 1) * kPart;
      int64_t one = inside ? all[at] : elsewhere(fold);
      result = largest ? std::max(result, one) : std::min(result, one);
    }
    return result;
  }

  // What an element outside of a part counts as.
  static int64_t elsewhere(red::FoldOp fold) {
    auto map = fold.getFactors().front().getDefiningOp<attn::MapOp>();
    auto select = map.getYielded().getDefiningOp<arith::SelectOp>();
    auto constant = select.getFalseValue().getDefiningOp<arith::ConstantOp>();
    return cast<IntegerAttr>(constant.getValue()).getInt();
  }

  static int64_t extent(StringRef dim) {
    return dim == "i" || dim == "j"   ? kTokens
           : dim == "x" || dim == "y" ? 24
           : dim == "b"               ? 1
                                      : 512;
  }

  void compare(const std::string &mask, llvm::function_ref<bool(int64_t, int64_t)> holds) {
    FusedProgram program(spec(mask));
    red::NestOp nest = program.nests().back();
    DomainInterpreter domain(nest, extent,
                             [&](Value a, ArrayRef<int64_t> i) { return element(a, i); });
    int classes[3] = {};
    for (int64_t i = 0; i < kTokens; i += kPart)
      for (int64_t j = 0; j < kTokens; j += kPart) {
        int64_t iLast = std::min(i + kPart, kTokens) - 1, jLast = std::min(j + kPart, kTokens) - 1;
        TileClass expected = bruteForce(holds, i, iLast, j, jLast);
        EXPECT_EQ(classOf(domain.run(i, iLast, j, jLast), j, jLast), expected)
            << mask << " tile " << i << "," << j;
        ++classes[static_cast<int>(expected)];
      }
    EXPECT_GT(classes[static_cast<int>(TileClass::Skipped)], 0) << mask;
    EXPECT_GT(classes[static_cast<int>(TileClass::Full)] +
                  classes[static_cast<int>(TileClass::Partial)],
              0)
        << mask;
  }

  std::vector<int64_t> row = std::vector<int64_t>(kTokens), key = row;
  std::vector<std::vector<int64_t>> table =
      std::vector<std::vector<int64_t>>(24, std::vector<int64_t>(24));
  int64_t length = 0;
};

TEST_F(DataClasses, OfDocumentsAreThoseOfBruteForce) {
  std::mt19937_64 random(3);
  for (int n = 0; n < 20; ++n) {
    int64_t document = 0;
    for (int64_t at = 0; at < kTokens; ++at)
      row[at] = key[at] = document += random() % 40 == 0;
    compare("row[b,i] == key[b,j]", [&](int64_t i, int64_t j) { return row[i] == key[j]; });
  }
}

// A tile inside one document is full, though data decide; so is one of the first document's keys.
TEST_F(DataClasses, OfCausalDocumentsAreThoseOfBruteForce) {
  std::mt19937_64 random(5);
  for (int n = 0; n < 20; ++n) {
    int64_t document = 0;
    for (int64_t at = 0; at < kTokens; ++at)
      row[at] = key[at] = document += random() % 150 == 0;
    compare("row[b,i] == key[b,j] and j <= i",
            [&](int64_t i, int64_t j) { return row[i] == key[j] && j <= i; });
  }
}

TEST_F(DataClasses, OfBlockTablesAreThoseOfBruteForce) {
  std::mt19937_64 random(4);
  for (auto &line : table)
    for (int64_t &entry : line)
      entry = random() % 20 == 0;
  compare("(table[i // 16, j // 16] else 0) != 0",
          [&](int64_t i, int64_t j) { return table[i / 16][j / 16] != 0; });
}

TEST_F(DataClasses, OfLengthsAreThoseOfBruteForce) {
  for (int64_t n : {1, 63, 64, 65, 200}) {
    length = n;
    compare("j < length[b]", [&](int64_t, int64_t j) { return j < length; });
  }
}

TEST_F(DataClasses, OfPrefixesOfRowsAreThoseOfBruteForce) {
  for (int64_t at = 0; at < kTokens; ++at)
    row[at] = at / 100 * 100 + 3;
  compare("j < row[b,i]", [&](int64_t i, int64_t j) { return j < row[i]; });
}

// A length bounds the loop, and is read directly.
TEST_F(DataClasses, OfLengthsNeedNoFurtherNest) {
  FusedProgram program(spec("j < length[b]"));
  EXPECT_EQ(program.nests().size(), 1u);
  EXPECT_EQ(FusedProgram(spec("row[b,i] == key[b,j]")).nests().size(), 3u);
}

} // namespace
} // namespace attnc
