// The laws of what derive-updates writes, of every fold of the specs: its regions are evaluated on
// numbers. red.md states them: merge has an identity and is associative, rescale is an action that
// moves what has been lifted, and the fold of any grouping is that of all elements in order.
#include "compiler/transforms/derive_updates.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tests/unit/transforms/fused_program.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir;
using attnc::red::FoldOp;

namespace attnc {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double resultOf(Operation &op, ArrayRef<double> x) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      return real.getValueAsDouble();
    auto whole = cast<IntegerAttr>(constant.getValue());
    return whole.getType().isInteger(1) ? whole.getValue().getBoolValue()
                                        : static_cast<double>(whole.getInt());
  }
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    EXPECT_EQ(compare.getPredicate(), arith::CmpFPredicate::OEQ);
    return x[0] == x[1];
  }
  if (isa<attn::SubOp>(op))
    return x[0] == -kInf ? -kInf : x[0] - x[1];
  if (isa<arith::SubFOp>(op))
    return x[0] - x[1];
  if (isa<arith::AddFOp, arith::AddIOp>(op))
    return x[0] + x[1];
  if (isa<arith::MulFOp, arith::MulIOp, arith::AndIOp>(op)) // of conditions
    return x[0] * x[1];
  if (isa<arith::MaximumFOp, arith::MaxSIOp, arith::OrIOp>(op))
    return std::max(x[0], x[1]);
  if (isa<arith::MinimumFOp, arith::MinSIOp>(op))
    return std::min(x[0], x[1]);
  if (isa<arith::SelectOp>(op))
    return x[0] != 0 ? x[1] : x[2];
  if (isa<math::ExpOp>(op))
    return std::exp(x[0]);
  ADD_FAILURE() << "no rule for " << op.getName().getStringRef().str();
  return 0;
}

double evaluate(Region &region, ArrayRef<double> arguments) {
  llvm::DenseMap<Value, double> values;
  for (auto [argument, value] : llvm::zip_equal(region.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : region.front().without_terminator()) {
    SmallVector<double> x;
    for (Value operand : op.getOperands())
      x.push_back(values.at(operand));
    values[op.getResult(0)] = resultOf(op, x);
  }
  return values.at(cast<red::ReturnOp>(region.front().getTerminator()).getValue());
}

/// An element of a stream: the factors, and where it is in the frame of the exponent and the base.
struct Element {
  std::vector<double> factors;
  double exponent = 0, base = 0;
};

/// What states are relative to.
struct Point {
  double reference = -kInf, centre = 0;
};

/// The moments of degree 0 to that of a fold, or the state of a fold that is none.
using States = std::vector<double>;

/// One fold with the moments below it.
class Chain {
public:
  explicit Chain(FoldOp fold) {
    for (Value lower : fold.getLower())
      folds.push_back(lower.getDefiningOp<FoldOp>());
    folds.push_back(fold);
  }

  FoldOp top() const { return folds.back(); }

  States empty() {
    States states;
    for (FoldOp fold : folds)
      states.push_back(evaluate(fold.getEmpty(), {}));
    return states;
  }

  States lift(const Element &element, Point at) {
    States states;
    for (FoldOp fold : folds) {
      SmallVector<double> x(element.factors.begin(), element.factors.end());
      if (fold.getExponent())
        x.push_back(evaluate(fold.getWeight(), {element.exponent, at.reference}));
      if (fold.getBase())
        x.push_back(evaluate(fold.getDifference(), {element.base, at.centre}));
      states.push_back(evaluate(fold.getLift(), x));
    }
    return states;
  }

  States merge(const States &x, const States &y) {
    States states;
    for (auto [degree, fold] : llvm::enumerate(folds))
      states.push_back(evaluate(fold.getMerge(), {x[degree], y[degree]}));
    return states;
  }

  States rescale(States states, Point from, Point to) {
    if (top().getExponent())
      for (auto [degree, fold] : llvm::enumerate(folds)) {
        double by = evaluate(fold.getWeight(), {from.reference, to.reference});
        states[degree] = evaluate(fold.getRescale(), {states[degree], by});
      }
    for (unsigned degree = folds.size(); degree-- > 0;) { // the lower ones as they were
      FoldOp fold = folds[degree];
      if (!fold.getBase())
        continue;
      SmallVector<double> x = {states[degree]};
      x.append(states.begin(), states.begin() + degree);
      x.push_back(evaluate(fold.getDifference(), {from.centre, to.centre}));
      states[degree] = evaluate(fold.getShift(), x);
    }
    return states;
  }

  /// What the op says by value, without its regions.
  States byDefinition(ArrayRef<Element> elements, Point at) {
    States sums(folds.size());
    for (const Element &element : elements)
      for (auto [degree, sum] : llvm::enumerate(sums)) {
        double term = std::accumulate(element.factors.begin(), element.factors.end(), 1.0,
                                      std::multiplies<>());
        if (top().getExponent())
          term *= element.exponent == -kInf ? 0 : std::exp(element.exponent - at.reference);
        sum += term * std::pow(element.base - at.centre, degree);
      }
    return sums;
  }

private:
  SmallVector<FoldOp> folds;
};

void expectNear(const States &x, const States &y) {
  for (auto [a, b] : llvm::zip_equal(x, y))
    EXPECT_TRUE(a == b || std::abs(a - b) <= 1e-10 * (1 + std::abs(a) + std::abs(b)))
        << a << " and " << b;
}

class Laws {
public:
  explicit Laws(FoldOp fold) : chain(fold), fold(fold) {}

  void check() {
    for (int round = 0; round < 8; ++round) {
      checkMerge();
      if (fold.getKind() != red::FoldKind::Add)
        continue;
      checkAction();
      checkGroupings();
    }
    checkNothing();
  }

private:
  double number() {
    if (fold.getType().getElementType().isInteger(1))
      return double(random() % 2);
    if (isa<IntegerType>(fold.getType().getElementType()))
      return double(int64_t(random() % 9) - 4);
    return std::uniform_real_distribution<double>(-2, 2)(random);
  }

  Element element() {
    Element drawn;
    for (size_t i = 0; i < fold.getFactors().size(); ++i)
      drawn.factors.push_back(number());
    drawn.exponent = random() % 4 ? 3 * number() : -kInf;
    drawn.base = number();
    return drawn;
  }

  Point point() { return {3 * number(), number()}; }

  void checkMerge() {
    Point at = point();
    States x = chain.lift(element(), at), y = chain.lift(element(), at),
           z = chain.lift(element(), at), none = chain.empty();
    EXPECT_EQ(chain.merge(none, x), x);
    EXPECT_EQ(chain.merge(x, none), x);
    EXPECT_EQ(chain.merge(x, y), chain.merge(y, x));
    expectNear(chain.merge(x, chain.merge(y, z)), chain.merge(chain.merge(x, y), z));
  }

  void checkAction() {
    Point a = point(), b = point(), c = point();
    Element one = element();
    States x = chain.lift(one, a), y = chain.lift(element(), a);
    expectNear(chain.rescale(x, a, b), chain.lift(one, b));
    expectNear(chain.rescale(chain.rescale(x, a, b), b, c), chain.rescale(x, a, c));
    expectNear(chain.rescale(x, a, a), x);
    expectNear(chain.rescale(chain.merge(x, y), a, b),
               chain.merge(chain.rescale(x, a, b), chain.rescale(y, a, b)));
    EXPECT_EQ(chain.rescale(chain.empty(), a, b), chain.empty());
  }

  // Parts that are empty, each relative to its own maximum and another centre, merged two by two.
  void checkGroupings() {
    std::vector<Element> all(random() % 12);
    Point end;
    for (Element &one : all) {
      one = element();
      end.reference = std::max(end.reference, one.exponent);
    }
    end.centre = number();
    std::vector<std::pair<Point, States>> parts(1 + random() % 5, {Point(), chain.empty()});
    for (auto &[at, states] : parts)
      at.centre = number();
    for (const Element &one : all) {
      auto &[at, states] = parts[random() % parts.size()];
      Point moved{std::max(at.reference, one.exponent), number()};
      states = chain.merge(chain.rescale(states, at, moved), chain.lift(one, moved));
      at = moved;
    }
    while (parts.size() > 1) {
      auto [at, states] = parts.back();
      parts.pop_back();
      auto &[other, into] = parts[random() % parts.size()];
      Point common{std::max(at.reference, other.reference), number()};
      into = chain.merge(chain.rescale(into, other, common), chain.rescale(states, at, common));
      other = common;
    }
    expectNear(chain.rescale(parts[0].second, parts[0].first, end), chain.byDefinition(all, end));
  }

  // States of nothing, and elements that weigh nothing, relative to -inf.
  void checkNothing() {
    Point none, some = point();
    for (Point to : {none, some})
      EXPECT_EQ(chain.rescale(chain.empty(), none, to), chain.empty());
    if (fold.getExponent()) {
      Element absent = element();
      absent.exponent = -kInf;
      for (Point at : {none, some})
        for (double state : chain.lift(absent, at))
          EXPECT_EQ(state, 0);
      EXPECT_EQ(evaluate(fold.getFollow(), {1, 2}), 2);
    }
    if (fold.getBase()) {
      EXPECT_EQ(evaluate(fold.getFollowCentre(), {1, 2}), 2);
      for (double next : {kInf, -kInf, double(NAN)})
        EXPECT_EQ(evaluate(fold.getFollowCentre(), {1, next}), 1);
    }
  }

  Chain chain;
  FoldOp fold;
  std::mt19937 random{7};
};

TEST(UpdateLaws, HoldOfEveryFoldOfTheSpecs) {
  unsigned folds = 0, rescaled = 0, moments = 0, degree = 0;
  for (const char *folder : {ATTNC_SPEC_DIR, ATTNC_TEST_SPEC_DIR})
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".json")
        continue;
      std::ifstream file(entry.path());
      FusedProgram program(std::string(std::istreambuf_iterator<char>(file), {}));
      for (red::NestOp nest : program.nests())
        for (auto fold : nest.getBodyBlock()->getOps<FoldOp>()) {
          SCOPED_TRACE(entry.path().filename().string() + ": " + std::to_string(folds));
          ASSERT_TRUE(fold.hasUpdate());
          Laws(fold).check();
          ++folds;
          rescaled += bool(fold.getExponent());
          moments += bool(fold.getBase());
          degree = std::max(degree, fold.degree());
        }
    }
  // The specs have all that there is.
  EXPECT_GT(folds, 300u);
  EXPECT_GT(rescaled, 100u);
  EXPECT_GT(moments, 10u);
  EXPECT_EQ(degree, 2u);
}

} // namespace
} // namespace attnc
