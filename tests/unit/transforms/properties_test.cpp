// A scalar op of another dialect gets fused by what it declares of itself.
#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"
#include "dialects/Attn/ScalarProperties.h"
#include "dialects/Red/Red.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc {
namespace {

template <typename Concrete>
using Scalar =
    Op<Concrete, OpTrait::ZeroRegions, OpTrait::OneResult, OpTrait::OneOperand,
       OpTrait::ZeroSuccessors, MemoryEffectOpInterface::Trait, attn::ScalarProperties::Trait>;

/// 10^x.
class PowerOfTenOp : public Scalar<PowerOfTenOp> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "outside.exp10"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  void getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &) {}
  double getExponentialBase() { return 10; }
};

/// x / (1 + |x|), which grows.
class SoftSignOp : public Scalar<SoftSignOp> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "outside.softsign"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  void getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &) {}
  attn::Growth growth(unsigned, ArrayRef<attn::Sign>) { return attn::Growth::Grows; }
};

/// x^(1/3) of what is not negative.
class CubeRootOp : public Scalar<CubeRootOp> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "outside.cbrt"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  void getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &) {}
  OpFoldResult getPower() { return Builder(getContext()).getF32FloatAttr(1.0f / 3); }
};

/// Declares nothing.
class OpaqueOp : public Scalar<OpaqueOp> {
public:
  using Op::Op;
  static StringRef getOperationName() { return "outside.opaque"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  void getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &) {}
};

class OutsideDialect : public Dialect {
public:
  explicit OutsideDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<OutsideDialect>()) {
    addOperations<PowerOfTenOp, SoftSignOp, CubeRootOp, OpaqueOp>();
  }
  static StringRef getDialectNamespace() { return "outside"; }
};

// The nests of: m = max(j, s); o[i] = kind(j, op(weight(s - m))).
size_t nestsWith(StringRef op, StringRef kind, StringRef weight = "arith.negf") {
  MLIRContext context;
  driver::loadDialects(context);
  context.loadDialect<OutsideDialect>();
  std::string text = R"(attn.program @t dims [i, j] {
    %s = attn.input "s" : <[i, j], f32>
    %x = attn.read %s [i, j] : (!attn.array<[i, j], f32>) -> !attn.array<[i, j], f32>
    %m = attn.reduce max over [j] %x : <[i, j], f32> -> <[i], f32>
    %y = attn.map (%a = %x : !attn.array<[i, j], f32>, %b = %m : !attn.array<[i], f32>)
        -> !attn.array<[i, j], f32> {
      %1 = attn.sub %a, %b : f32
      %2 = ")" + weight.str() +
                     R"("(%1) : (f32) -> f32
      %3 = ")" + op.str() +
                     R"("(%2) : (f32) -> f32
      attn.yield %3 : f32
    }
    %o = attn.reduce )" +
                     kind.str() + R"( over [j] %y : <[i, j], f32> -> <[i], f32>
    attn.output "o" [i] %o as f32 : <[i], f32>
  })";
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return 0;
  auto program = *module->getOps<attn::ProgramOp>().begin();
  for (const driver::Step &step : driver::targetIndependentSteps())
    EXPECT_TRUE(step.run(program));
  return llvm::range_size(program.getBodyBlock()->getOps<red::NestOp>());
}

TEST(Properties, AnExponentialFromOutsideIsFused) {
  EXPECT_EQ(nestsWith("outside.exp10", "add"), 1u);
}

TEST(Properties, AGrowingOpFromOutsideLeavesAMaximum) {
  EXPECT_EQ(nestsWith("outside.softsign", "max"), 1u);
  EXPECT_EQ(nestsWith("outside.softsign", "min"), 1u);
  EXPECT_EQ(nestsWith("outside.softsign", "add"), 2u);
}

TEST(Properties, APowerFromOutsideIsTakenIntoTheExponent) {
  EXPECT_EQ(nestsWith("outside.cbrt", "add", "math.exp"), 1u);
  EXPECT_EQ(nestsWith("outside.opaque", "add", "math.exp"), 2u);
  // The sign of s - m is not proven: it has no root.
  EXPECT_EQ(nestsWith("outside.cbrt", "add"), 2u);
}

TEST(Properties, AnOpThatDeclaresNothingIsNot) {
  EXPECT_EQ(nestsWith("outside.opaque", "add"), 2u);
  EXPECT_EQ(nestsWith("outside.opaque", "max"), 2u);
}

} // namespace
} // namespace attnc
