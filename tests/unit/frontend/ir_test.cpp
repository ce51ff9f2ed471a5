// What the program of a spec looks like.
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "spec_fixture.h"

namespace attnc {
namespace {

class Ir : public SpecFixture {
protected:
  /// The names of the ops of the map that is the output `o`.
  std::vector<std::string> opsOfExpression(const std::string &expression,
                                           const std::string &type = "f32") {
    std::optional<Spec> spec = parse(specOfExpression(expression, type));
    EXPECT_TRUE(spec) << rendered();
    std::vector<std::string> names;
    if (!spec)
      return names;
    auto map = opsOf<attn::OutputOp>(*spec)[0].getValue().getDefiningOp<attn::MapOp>();
    EXPECT_TRUE(map);
    if (map)
      for (mlir::Operation &op : map.getBodyBlock()->without_terminator())
        if (!llvm::isa<mlir::arith::ConstantOp>(op))
          names.push_back(op.getName().getStringRef().str());
    return names;
  }

  /// The constant that an expression folds to.
  double constantOf(const std::string &expression) {
    std::optional<Spec> spec = parse(specOfExpression(expression, "f64", "\"dims\": {\"i\": 64}"));
    EXPECT_TRUE(spec) << rendered();
    auto map = opsOf<attn::OutputOp>(*spec)[0].getValue().getDefiningOp<attn::MapOp>();
    auto constant = map.getYielded().getDefiningOp<mlir::arith::ConstantOp>();
    EXPECT_TRUE(constant) << printed(*spec);
    return llvm::cast<mlir::FloatAttr>(constant.getValue()).getValueAsDouble();
  }

  using Names = std::vector<std::string>;
};

TEST_F(Ir, OneMapForAnExpression) {
  std::optional<Spec> spec = parse(specOf(
      "\"s\": \"f32[b, h, i, j]\", \"slope\": \"f32[h]\"",
      "\"o = where(j <= i + size(j) - size(i), s + slope[h] * (j - i), -inf)\"", "\"o\": \"f32\""));
  ASSERT_TRUE(spec) << rendered();
  auto maps = opsOf<attn::MapOp>(*spec);
  ASSERT_EQ(maps.size(), 1u) << printed(*spec);
  EXPECT_EQ(maps[0].getNumOperands(), 6u); // s, slope, the indices and sizes of i and j
  EXPECT_EQ(opsOf<attn::IndexOp>(*spec).size(), 2u);
  EXPECT_EQ(opsOf<attn::SizeOp>(*spec).size(), 2u);
}

TEST_F(Ir, DimsFollowTheInputs) {
  std::optional<Spec> spec =
      parse(specOf("\"v\": \"f32[j, b]\", \"q\": \"f32[i, b]\"", "\"o = q * v * r\"",
                   "\"o\": \"f32\"", "\"dims\": {\"r\": 3, \"b\": 2}"));
  ASSERT_TRUE(spec) << rendered();
  std::string order;
  for (attn::DimAttr dim : programOf(*spec).getDims().getAsRange<attn::DimAttr>())
    order += dim.getName().str() + (dim.isStatic() ? std::to_string(dim.getExtent()) : "") + " ";
  EXPECT_EQ(order, "j b2 i r3 ");
  auto output = opsOf<attn::OutputOp>(*spec)[0];
  EXPECT_EQ(attn::dimNames(output.getDims()), output.getValue().getType().getDims());
}

TEST_F(Ir, LabelsGiveTheStorageOrder) {
  std::optional<Spec> spec =
      parse(specOf("\"x\": \"f32[b, i]\"", "\"o[i, b] = 2 * x\", \"u = o[b // 2, i] else 0\"",
                   "\"o\": \"f16\", \"u\": \"f32\"", "\"require\": [\"size(i) == size(b)\"]"));
  ASSERT_TRUE(spec) << rendered();
  auto output = opsOf<attn::OutputOp>(*spec)[0];
  EXPECT_EQ(attn::dimNames(output.getDims())[0].getValue(), "i");
  EXPECT_EQ(output.getValue().getType().getDims()[0].getValue(), "b");
  // In o[b // 2, i], the first subscript belongs to i, the second to b.
  attn::ReadOp read = opsOf<attn::ReadOp>(*spec).back();
  EXPECT_FALSE(read.isPlain());
  EXPECT_EQ(read.subscriptDim(0).getValue(), "i");
  EXPECT_TRUE(read.subscriptValue(1));
}

TEST_F(Ir, StatementsNameTheirResult) {
  std::optional<Spec> spec = parse(specOf("\"x\": \"f32[b, i]\"",
                                          "\"p = softmax(i, x)\", \"s = sum(i, p * x)\", "
                                          "\"o = s * 2\"",
                                          "\"o\": \"f32\""));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(attn::specName(opsOf<attn::SoftmaxOp>(*spec)[0].getLoc()), "p");
  EXPECT_EQ(attn::specName(opsOf<attn::ReduceOp>(*spec)[0].getLoc()), "s");
  auto maps = opsOf<attn::MapOp>(*spec);
  EXPECT_EQ(attn::specName(maps.back().getLoc()), "o");
  EXPECT_EQ(attn::specStatement(maps.back().getLoc()), "o = s * 2");
  EXPECT_EQ(attn::specName(maps.front().getLoc()), ""); // p * x is only a part of a statement
  EXPECT_EQ(attn::specName(opsOf<attn::InputOp>(*spec)[0].getLoc()), "x");
}

TEST_F(Ir, LocationsPointIntoTheFile) {
  std::string text = specOf("\"x\": \"f32[i]\"", "\n\"o = exp(x) + 1\"", "\"o\": \"f32\"");
  std::optional<Spec> spec = parse(text);
  ASSERT_TRUE(spec) << rendered();
  size_t column = text.find('+') - text.find('\n');
  EXPECT_EQ(attn::specPlace(opsOf<attn::MapOp>(*spec)[0].getLoc()),
            "t.json:2:" + std::to_string(column));
}

TEST_F(Ir, LaterAssignmentsCount) {
  std::optional<Spec> spec =
      parse(specOf("\"x\": \"f32[i]\"", "\"s = x\", \"t = s\", \"s = s + 1\", \"s = exp(s)\"",
                   "\"s\": \"f32\", \"t\": \"f32\""));
  ASSERT_TRUE(spec) << rendered();
  auto outputs = opsOf<attn::OutputOp>(*spec);
  EXPECT_EQ(attn::specStatement(outputs[0].getValue().getLoc()), "s = exp(s)");
  EXPECT_TRUE(outputs[1].getValue().getDefiningOp<attn::ReadOp>());
}

TEST_F(Ir, ConstantsFold) {
  EXPECT_EQ(constantOf("1/sqrt(size(i))"), 0.125);
  EXPECT_EQ(constantOf("2**3**2 - 512.0"), 0);
  EXPECT_EQ(constantOf("-7 // 2 + 0.0"), -4);
  EXPECT_EQ(constantOf("-7 % 3 + 0.0"), 2);
  EXPECT_EQ(constantOf("7 / 2"), 3.5);
  EXPECT_EQ(constantOf("where(2 < 3 and not 1 > 2, 1.5, 0)"), 1.5);
  EXPECT_EQ(constantOf("minimum(3, 2) + maximum(0.5, -inf)"), 2.5);
  EXPECT_EQ(constantOf("-inf - (-inf)"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(constantOf("2 ** -1"), 0.5);
  EXPECT_EQ(constantOf("sum(i, 1.0)"), 64);
}

TEST_F(Ir, ArithmeticOps) {
  EXPECT_EQ(opsOfExpression("x - y"), Names{"attn.sub"});
  EXPECT_EQ(opsOfExpression("x * x / 3"), (Names{"arith.mulf", "arith.divf"}));
  EXPECT_EQ(opsOfExpression("x ** 2"), Names{"arith.mulf"});
  EXPECT_EQ(opsOfExpression("x ** y"), Names{"math.powf"});
  EXPECT_EQ(opsOfExpression("x + i"), (Names{"arith.sitofp", "arith.addf"}));
  EXPECT_EQ(opsOfExpression("i / 2"), (Names{"arith.sitofp", "arith.divf"}));
  EXPECT_EQ(opsOfExpression("i // 2", "i64"), Names{"arith.floordivsi"});
  EXPECT_EQ(opsOfExpression("i % 2", "i64"), Names{"attn.mod"});
  EXPECT_EQ(opsOfExpression("maximum(i, j)", "i64"), Names{"arith.maxsi"});
  EXPECT_EQ(opsOfExpression("minimum(x, 0)"), Names{"arith.minimumf"});
  EXPECT_EQ(opsOfExpression("where(m, x, y)"), Names{"arith.select"});
  EXPECT_EQ(opsOfExpression("not m or i < 3", "bool"),
            (Names{"arith.xori", "arith.cmpi", "arith.ori"}));
}

TEST_F(Ir, IntegersSaturateInNarrowOutputs) {
  EXPECT_EQ(opsOfExpression("i % 2", "i32"), (Names{"arith.maxsi", "arith.minsi"}));
}

TEST_F(Ir, CompositeFunctions) {
  EXPECT_EQ(opsOfExpression("sigmoid(x)"),
            (Names{"arith.negf", "math.exp", "arith.addf", "arith.divf"}));
  EXPECT_EQ(opsOfExpression("relu(x)"), Names{"arith.maximumf"});
  EXPECT_EQ(opsOfExpression("clamp(x, 0, 1)"), (Names{"arith.maximumf", "arith.minimumf"}));
  EXPECT_EQ(opsOfExpression("gelu(x)"),
            (Names{"arith.mulf", "arith.mulf", "math.erf", "arith.addf", "arith.mulf"}));
  EXPECT_EQ(opsOfExpression("xlogy(x, y)"),
            (Names{"arith.cmpf", "math.log", "arith.mulf", "arith.select"}));
  EXPECT_EQ(opsOfExpression("cast(x, bf16)"), (Names{"arith.truncf", "arith.extf"}));
}

TEST_F(Ir, DivisorsThatMayBeZeroAreGuarded) {
  EXPECT_EQ(opsOfExpression("i // size(j)", "i64"), Names{"arith.floordivsi"});
  Names guarded = opsOfExpression("i // n", "i64");
  EXPECT_GT(llvm::count(guarded, "arith.select"), 0);
}

TEST_F(Ir, DoublesStayDoubles) {
  std::optional<Spec> spec =
      parse(specOf("\"x\": \"f64[i]\", \"y\": \"bf16[i]\"", "\"o = x + y\"", "\"o\": \"f16\""));
  ASSERT_TRUE(spec) << rendered();
  auto map = opsOf<attn::MapOp>(*spec)[0];
  EXPECT_TRUE(map.getResult().getType().getElementType().isF64());
  EXPECT_TRUE(opsOf<attn::OutputOp>(*spec)[0].getValue().getType().getElementType().isF32());
}

TEST_F(Ir, ReductionsOverTuplesAndKinds) {
  std::optional<Spec> spec =
      parse(specOf("\"x\": \"f32[b, i, j]\", \"n\": \"i32[i]\", \"m\": \"bool[i]\"",
                   "\"s = sum((j, b), x)\", \"a = any(i, m)\", \"c = max(i, n)\", "
                   "\"l = logsumexp(i, n)\"",
                   "\"s\": \"f32\", \"a\": \"bool\", \"c\": \"i64\", \"l\": \"f32\""));
  ASSERT_TRUE(spec) << rendered();
  auto reductions = opsOf<attn::ReduceOp>(*spec);
  ASSERT_EQ(reductions.size(), 4u);
  EXPECT_EQ(reductions[0].getType().getDims().size(), 1u);
  EXPECT_EQ(reductions[1].getKind(), attn::ReduceKind::Or);
  EXPECT_TRUE(reductions[2].getType().getElementType().isInteger(64));
  EXPECT_TRUE(reductions[3].getType().getElementType().isF32());
}

TEST_F(Ir, ReducingAMissingDimMultipliesAndWarns) {
  std::optional<Spec> spec =
      parse(specOf("\"x\": \"f32[b, i]\", \"y\": \"f32[j]\"",
                   "\"o = sum((i, j), x) + max(j, x) + y\"", "\"o\": \"f32\""));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(diagnostics.errorCount(), 0u);
  EXPECT_EQ(diagnostics.all().size(), 2u);
  EXPECT_NE(rendered().find("warning: the operand of sum does not have the dim 'j'"),
            std::string::npos);
  EXPECT_NE(rendered().find("multiplies by size(j)"), std::string::npos);
  EXPECT_EQ(opsOf<attn::ReduceOp>(*spec).size(), 1u);
  EXPECT_EQ(opsOf<attn::SizeOp>(*spec).size(), 1u);
}

TEST_F(Ir, UnusedDeclarationsWarnAndUnusedResultsDisappear) {
  std::optional<Spec> spec = parse(
      specOf("\"x\": \"f32[i]\", \"y\": \"f32[i]\"", "\"t = exp(x)\", \"o = x\"", "\"o\": \"f32\"",
             "\"params\": {\"c\": \"f32\"}, \"let\": {\"g\": \"size(i) // 2\"}"));
  ASSERT_TRUE(spec) << rendered();
  for (std::string name : {"input 'y'", "param 'c'", "let 'g'"})
    EXPECT_NE(rendered().find("warning: the " + name + " is never used"), std::string::npos);
  EXPECT_EQ(opsOf<attn::MapOp>(*spec).size(), 0u) << printed(*spec);
  EXPECT_EQ(opsOf<attn::InputOp>(*spec).size(), 2u);
  EXPECT_EQ(opsOf<attn::ParamOp>(*spec).size(), 1u);
}

TEST_F(Ir, ParamsCarryTheirRange) {
  std::optional<Spec> spec = parse(specOfExpression(
      "x * c + w", "f32",
      "\"dims\": {\"i\": 16}, \"params\": {\"c\": \"f32 > 0, <= 2 = 1/sqrt(size(i))\", "
      "\"w\": \"i64 >= -1\"}"));
  ASSERT_TRUE(spec) << rendered();
  auto params = opsOf<attn::ParamOp>(*spec);
  EXPECT_TRUE(params[0].getLowerOpen());
  EXPECT_FALSE(params[0].getUpperOpen());
  EXPECT_EQ(params[0].getLower()->convertToDouble(), 0);
  EXPECT_EQ(params[0].getUpper()->convertToDouble(), 2);
  EXPECT_TRUE(params[0].getDefaultValue());
  EXPECT_FALSE(params[1].getDefaultValue());
  EXPECT_TRUE(params[1].getType().getElementType().isInteger(64));
}

TEST_F(Ir, RequiresAreKeptUnlessStatic) {
  std::optional<Spec> spec = parse(specOfExpression(
      "x", "f32", "\"dims\": {\"i\": 16}, \"require\": [\"size(i) % 8 == 0\", \"size(j) > 2\"]"));
  ASSERT_TRUE(spec) << rendered();
  auto requires_ = opsOf<attn::RequireOp>(*spec);
  ASSERT_EQ(requires_.size(), 1u);
  EXPECT_EQ(requires_[0].getText(), "size(j) > 2");
}

TEST_F(Ir, InputsMayBeUsedByName) {
  std::optional<Spec> spec = parse(
      specOf("\"x\": \"f32[b, i]\", \"y\": \"f32[i, b]\"", "\"o = x * y\"", "\"o\": \"f32\""));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(opsOf<attn::ReadOp>(*spec).size(), 2u);
  EXPECT_EQ(opsOf<attn::MapOp>(*spec)[0].getResult().getType().getDims().size(), 2u);
}

TEST_F(Ir, OverridesOfLetsDimsAndTypes) {
  std::string text = specOf("\"x\": \"T[b, i]\"", "\"o = x + w\"", "\"o\": \"T\"",
                            "\"types\": {\"T\": \"bf16\"}, \"let\": {\"w\": 3}");
  Overrides overrides;
  overrides.values = {{"T", "f32"}, {"i", "40"}, {"w", "5"}};
  std::optional<Spec> spec = parse(text, overrides);
  ASSERT_TRUE(spec) << rendered();
  EXPECT_NE(printed(*spec).find("i = 40"), std::string::npos);
  EXPECT_NE(printed(*spec).find("arith.constant 5.0"), std::string::npos);
  EXPECT_EQ(printed(*spec).find("bf16"), std::string::npos);
}

TEST_F(Ir, AllGradientsAreThoseOfInputsOfRealNumbers) {
  std::optional<Spec> spec = parse(
      specOf("\"x\": \"f32[i]\", \"n\": \"i32[i]\", \"y\": \"f64[i]\"", "\"o = x * n + y * t\"",
             "\"o\": \"f32\"", "\"params\": {\"t\": \"f32\"}, \"grad\": [\"all\", \"t\"]"));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(spec->grad, (std::vector<std::string>{"x", "y", "t"}));
}

TEST_F(Ir, HintsAreHandedOn) {
  std::optional<Spec> spec =
      parse(specOf("\"x\": \"f32[i]\"", "\"o = x\"", "\"o\": \"f32\"",
                   "\"schedule\": {\"fold\": \"one_pass\"}, \"grad\": [\"x\"], \"save\": \"less\", "
                   "\"doc\": \"d\", "
                   "\"name\": \"n\", \"reference\": {\"shape\": {\"i\": 7}}"));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(spec->schedule["fold"], "one_pass");
  EXPECT_EQ(spec->grad, std::vector<std::string>{"x"});
  EXPECT_TRUE(spec->savesLess);
  EXPECT_EQ(spec->reference["shape"]["i"], 7);
  EXPECT_EQ(spec->name, "n");
  EXPECT_EQ(spec->doc, "d");
  EXPECT_EQ(programOf(*spec).getSymName(), "n");
}

} // namespace
} // namespace attnc
