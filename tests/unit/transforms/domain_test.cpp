// Domains against brute force: what a domain skips must be empty, what it calls full must be full.
#include "tests/unit/transforms/domain_interpreter.h"
#include "tests/unit/transforms/fused_program.h"
#include <chrono>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace attnc {
namespace {

constexpr int kRows = 23, kStream = 29;

/// A random mask as spec text, and as a function.
struct RandomMask {
  std::string text;
  std::function<bool(int64_t, int64_t)> holds;
};

/// A random integer expression of i and j.
struct RandomInteger {
  std::string text;
  std::function<int64_t(int64_t, int64_t)> value;
};

/// Linear, or with a floor division, a remainder or a multiple that extents say, of i, j or their
/// difference.
RandomInteger randomSum(std::mt19937_64 &random) {
  auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
  int a = pick(-2, 2), b = pick(-3, 3), c = pick(-30, 30), divisor = pick(1, 7);
  bool divide = pick(0, 3) == 0, sizes = pick(0, 2) == 0;
  std::string rows = divide ? "(i // " + std::to_string(divisor) + ")" : "i";
  std::string text = std::to_string(a) + " * " + rows + " + " + std::to_string(b) + " * j + " +
                     std::to_string(c) + (sizes ? " + size(j) - size(i)" : "");
  int part = pick(0, 5), factor = pick(-3, 3), by = pick(1, 9);
  static const char *parts[] = {" * (j // ", " * ((i - j) // ", " * (j % ", " * ((i + 2 * j) % "};
  if (part < 4)
    text += " + " + std::to_string(factor) + parts[part] + std::to_string(by) + ")";
  int multiple = pick(0, 5); // of 3 or -2
  if (multiple == 0)
    text += " + i * (size(j) - 26)";
  else if (multiple == 1)
    text += " + (i - j) * (size(j) - 31)";
  return {"(" + text + ")", [=](int64_t i, int64_t j) {
            int64_t of[] = {j, i - j, j, i + 2 * j};
            int64_t extra = part == 4 || part == 5 ? 0
                            : part < 2             ? floorDivide(of[part], by)
                                                   : of[part] - by * floorDivide(of[part], by);
            return a * (divide ? floorDivide(i, divisor) : i) + b * j + c +
                   (sizes ? kStream - kRows : 0) + factor * extra +
                   (multiple == 0   ? i * (kStream - 26)
                    : multiple == 1 ? (i - j) * (kStream - 31)
                                    : 0);
          }};
}

RandomInteger randomInteger(std::mt19937_64 &random) {
  auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
  RandomInteger x = randomSum(random);
  switch (pick(0, 9)) {
  case 0:
    return {"abs(" + x.text + ")", [=](int64_t i, int64_t j) { return std::abs(x.value(i, j)); }};
  case 1:
  case 2: {
    bool largest = pick(0, 1);
    RandomInteger y = randomSum(random);
    return {(largest ? "maximum(" : "minimum(") + x.text + ", " + y.text + ")",
            [=](int64_t i, int64_t j) {
              int64_t l = x.value(i, j), r = y.value(i, j);
              return largest ? std::max(l, r) : std::min(l, r);
            }};
  }
  case 3: {
    RandomInteger y = randomSum(random), z = randomSum(random);
    return {"where(" + y.text + " > 0, " + x.text + ", " + z.text + ")", [=](int64_t i, int64_t j) {
              return y.value(i, j) > 0 ? x.value(i, j) : z.value(i, j);
            }};
  }
  case 4: {
    int by = pick(1, 6);
    bool remainder = pick(0, 1);
    return {"(" + x.text + (remainder ? " % " : " // ") + std::to_string(by) + ")",
            [=](int64_t i, int64_t j) {
              int64_t v = x.value(i, j), q = floorDivide(v, by);
              return remainder ? v - by * q : q;
            }};
  }
  default:
    return x;
  }
}

RandomMask randomMask(std::mt19937_64 &random, int depth) {
  auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
  int kind = depth == 0 ? 3 : pick(0, 5);
  if (kind <= 1) {
    RandomMask x = randomMask(random, depth - 1), y = randomMask(random, depth - 1);
    bool conjunction = kind == 0;
    return {"(" + x.text + (conjunction ? " and " : " or ") + y.text + ")",
            [=](int64_t i, int64_t j) {
              return conjunction ? x.holds(i, j) && y.holds(i, j) : x.holds(i, j) || y.holds(i, j);
            }};
  }
  if (kind == 2) {
    RandomMask x = randomMask(random, depth - 1);
    return {"(not " + x.text + ")", [=](int64_t i, int64_t j) { return !x.holds(i, j); }};
  }
  RandomInteger x = randomInteger(random), y = randomInteger(random);
  static const char *signs[] = {"<=", "<", ">=", ">", "==", "!="};
  int sign = pick(0, 5);
  return {"(" + x.text + " " + signs[sign] + " " + y.text + ")", [=](int64_t i, int64_t j) {
            int64_t l = x.value(i, j), r = y.value(i, j);
            bool results[] = {l <= r, l<r, l >= r, l> r, l == r, l != r};
            return results[sign];
          }};
}

std::string attentionWith(const std::string &mask) {
  return R"j(["s = where()j" + mask + R"j(, sum(d, q[b,h,i,d] * k[b,h,j,d]), -inf)",
    "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"])j";
}

// Only what is marked takes the named side in a full tile.
bool marksSelects(red::NestOp nest) {
  return nest
      .walk([](arith::SelectOp select) {
        return select->hasAttr(red::kFullAttr) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Compares with brute force for tiles of `rows` x `columns`; returns how many tiles were skipped,
// and how many were full.
std::pair<int, int> compareTiles(red::NestOp nest, const RandomMask &mask, int rows, int columns) {
  DomainInterpreter domain(nest, kRows, kStream);
  bool marks = marksSelects(nest);
  int skipped = 0, full = 0;
  for (int i = 0; i < kRows; i += rows) {
    int iLast = std::min(i + rows, kRows) - 1;
    for (int j = 0; j < kStream; j += columns) {
      int jLast = std::min(j + columns, kStream) - 1;
      DomainInterpreter::Result result = domain.run(i, iLast, j, jLast);
      EXPECT_GE(result.lo, 0);
      EXPECT_LE(result.hi, kStream);
      for (int y = i; y <= iLast; ++y)
        for (int x = j; x <= jLast; ++x) {
          bool holds = mask.holds(y, x);
          EXPECT_FALSE(holds && (x < result.lo || x >= result.hi))
              << mask.text << " at " << y << "," << x;
          EXPECT_FALSE(!holds && marks && result.full) << mask.text << " at " << y << "," << x;
          EXPECT_FALSE(holds && !result.live) << mask.text << " at " << y << "," << x;
        }
      skipped += jLast < result.lo || j >= result.hi || !result.live;
      full += marks && result.full;
    }
  }
  return {skipped, full};
}

TEST(Domain, IsSoundForRandomMasks) {
  std::mt19937_64 random(7);
  int skipped = 0, full = 0, compared = 0;
  for (int n = 0; n < 4000 && !testing::Test::HasFailure(); ++n) {
    RandomMask mask = randomMask(random, 2);
    FusedProgram program(attentionWith(mask.text), R"j({"o": "f32"})j");
    ASSERT_EQ(program.nests().size(), 1u) << mask.text;
    red::NestOp nest = program.nests()[0];
    if (!nest.getDomainBlock())
      continue;
    ++compared;
    auto [s, f] = compareTiles(nest, mask, 8, 4);
    skipped += s;
    full += f;
  }
  // The test would be empty if nothing were ever skipped or full.
  EXPECT_GT(compared, 3000);
  EXPECT_GT(skipped, 15000);
  EXPECT_GT(full, 10000);
}

// Each statement uses the one before it several times: 40 of them have 2^40 paths.
TEST(Domain, OfSharedArithmeticIsFoundInOneWalk) {
  std::string shared = R"j("seen = j <= i", "rows = i", "y = sum(d, q[b,h,i,d] * k[b,h,j,d])")j";
  for (int n = 0; n < 40; ++n) {
    std::string number = std::to_string(n);
    shared += ", \"seen = (seen and j != i - 30 - " + number + ") or (seen and j > " + number +
              " - 40)\"";
    shared += R"j(, "rows = rows + rows - rows", "y = y + 0.5 * y")j";
  }
  auto start = std::chrono::steady_clock::now();
  FusedProgram program("[" + shared + R"j(, "s = where(seen, y, -inf) + where(rows >= j, y, -inf)",
      "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"])j",
                       R"j({"o": "f32"})j");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  ASSERT_EQ(program.nests().size(), 1u);
  red::NestOp nest = program.nests()[0];
  ASSERT_TRUE(nest.getDomainBlock());
  auto operations = nest.getDomainBlock()->getOperations().size();
  EXPECT_LT(operations, 40 * 45u); // a few for each of the conditions, of which there are 80
  RandomMask causal{"j <= i", [](int64_t i, int64_t j) { return j <= i; }};
  auto [skipped, full] = compareTiles(nest, causal, 8, 4);
  EXPECT_GT(skipped, 5);
  EXPECT_GT(full, 5);
}

// 2^70 * i wraps around to 0.
TEST(Domain, OfArithmeticBeyond64BitsIsUnknown) {
  std::string body = R"j(["rows = i")j";
  for (int n = 0; n < 70; ++n)
    body += R"j(, "rows = rows + rows")j";
  FusedProgram program(body + R"j(, "s = where(rows >= j, sum(d, q[b,h,i,d] * k[b,h,j,d]), -inf)",
      "o[b,h,i,e] = sum(j, softmax(j, s) * v[b,h,j,e])"])j",
                       R"j({"o": "f32"})j");
  ASSERT_EQ(program.nests().size(), 1u);
  EXPECT_FALSE(program.nests()[0].getDomainBlock());
}

/// Masks whose classes the analysis knows exactly: loops run over no tile that is all masked at
/// either end, and every tile without a masked element is full.
class ExactDomain
    : public testing::TestWithParam<std::pair<const char *, bool (*)(int64_t, int64_t)>> {};

TEST_P(ExactDomain, SkipsAndFillsAllItCan) {
  RandomMask mask{GetParam().first, GetParam().second};
  FusedProgram program(attentionWith(mask.text), R"j({"o": "f32"})j");
  DomainInterpreter domain(program.nests()[0], kRows, kStream);
  constexpr int rows = 6, columns = 4;
  for (int i = 0; i < kRows; i += rows)
    for (int j = 0; j < kStream; j += columns) {
      int iLast = std::min(i + rows, kRows) - 1, jLast = std::min(j + columns, kStream) - 1;
      auto result = domain.run(i, iLast, j, jLast);
      bool all = true;
      int first = kStream, last = -1; // of the stream, where some row of the tile holds
      for (int y = i; y <= iLast; ++y)
        for (int x = 0; x < kStream; ++x) {
          bool holds = mask.holds(y, x);
          if (holds) {
            first = std::min(first, x);
            last = std::max(last, x);
          }
          if (x >= j && x <= jLast)
            all &= holds;
        }
      EXPECT_EQ(result.full, all) << mask.text << " tile " << i << "," << j;
      if (last >= 0) {
        EXPECT_EQ(result.lo, first) << mask.text << " tile " << i;
        EXPECT_EQ(result.hi, last + 1) << mask.text << " tile " << i;
      } else {
        EXPECT_LE(result.hi, result.lo) << mask.text << " tile " << i;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Masks, ExactDomain,
    testing::Values(
        std::pair{"j <= i", +[](int64_t i, int64_t j) { return j <= i; }},
        std::pair{"j <= i + size(j) - size(i)",
                  +[](int64_t i, int64_t j) { return j <= i + kStream - kRows; }},
        std::pair{"j <= i and i - j < 5",
                  +[](int64_t i, int64_t j) { return j <= i && i - j < 5; }},
        std::pair{"j < 7 or j <= i", +[](int64_t i, int64_t j) { return j < 7 || j <= i; }},
        std::pair{"2 * j > i", +[](int64_t i, int64_t j) { return 2 * j > i; }},
        std::pair{"i >= 12", +[](int64_t i, int64_t) { return i >= 12; }},
        std::pair{"not (j > i)", +[](int64_t i, int64_t j) { return j <= i; }},
        std::pair{"clamp(i - j + 2, 0, 9) == 4",
                  +[](int64_t i, int64_t j) { return i - j + 2 == 4; }},
        std::pair{"maximum(i - j, 3) == 3", +[](int64_t i, int64_t j) { return i - j <= 3; }},
        std::pair{"minimum(j - i, 6) == 6", +[](int64_t i, int64_t j) { return j - i >= 6; }}));

TEST(Domain, CoversEveryStateOfTheNest) {
  // The weights of z are masked after the exponent: only o stays at its identity there.
  FusedProgram program(R"j(["s = sum(d, q[b,h,i,d] * k[b,h,j,d])", "p = softmax(j, s)",
    "o[b,h,i,e] = sum(j, where(j <= i, p, 0) * v[b,h,j,e])"])j",
                       R"j({"o": "f32"})j");
  ASSERT_EQ(program.nests().size(), 1u);
  DomainInterpreter domain(program.nests()[0], kRows, kStream);
  EXPECT_EQ(domain.run(0, 3, 0, 3).hi, kStream);
}

/// Scores with a masked part, and whether a masked element is -inf.
class DomainOfMaskedPart : public testing::TestWithParam<std::pair<const char *, bool>> {};

TEST_P(DomainOfMaskedPart, LeavesOutWhatIsMinusInfinity) {
  auto [scores, empty] = GetParam();
  FusedProgram program(R"j(["x = sum(d, q[b,h,i,d] * k[b,h,j,d])", "t = where(j <= i, x, -inf)",
    "o[b,h,i] = max(j, )j" +
                           std::string(scores) + R"j()"])j",
                       R"j({"o": "f32"})j");
  ASSERT_EQ(program.nests().size(), 1u);
  red::NestOp nest = program.nests()[0];
  if (!nest.getDomainBlock()) {
    EXPECT_FALSE(empty);
    return;
  }
  DomainInterpreter domain(nest, kRows, kStream);
  for (int i = 0; i + 4 <= kRows; i += 4)
    for (int j = 0; j + 4 <= kStream; j += 4) {
      DomainInterpreter::Result result = domain.run(i, i + 3, j, j + 3);
      EXPECT_EQ(result.lo, 0);
      EXPECT_EQ(result.hi, empty ? i + 4 : kStream) << scores << " row " << i;
      EXPECT_TRUE(result.live);
    }
}

INSTANTIATE_TEST_SUITE_P(Scores, DomainOfMaskedPart,
                         testing::Values(std::pair{"t", true}, std::pair{"t + x", true},
                                         std::pair{"t - c[j] * x", true},
                                         std::pair{"c[j] * x - t", false}, std::pair{"t * 2", true},
                                         std::pair{"t / 2", true}, std::pair{"2 * t", true},
                                         std::pair{"t * w", true}, std::pair{"t * -2", false},
                                         std::pair{"t / -2", false}, std::pair{"-2 * t", false},
                                         std::pair{"t * c[j]", false}, std::pair{"2 / t", false}));

} // namespace
} // namespace attnc
