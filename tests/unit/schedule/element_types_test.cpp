#include "dialects/Attn/Attn.h"
#include "dialects/Tile/ElementTypes.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc::tile {
namespace {

// The types that a spec can declare (docs/spec.md).
SmallVector<Type> declared(MLIRContext &context) {
  Builder b(&context);
  return {b.getF16Type(),
          b.getBF16Type(),
          b.getF32Type(),
          b.getF64Type(),
          b.getI1Type(),
          b.getIntegerType(8),
          b.getIntegerType(8, false),
          b.getI32Type(),
          b.getI64Type()};
}

TEST(ElementTypes, WhatSpecsDeclareTakesTheBytesThatTheRuntimeGivesIt) {
  MLIRContext context;
  for (Type type : declared(context)) {
    const ElementType &element = elementType(type);
    EXPECT_EQ(element.bytes, static_cast<int64_t>(dtypeSize(element.dtype))) << element.cuda.str();
    EXPECT_EQ(isFloat(element.dtype), isa<FloatType>(type)) << element.cuda.str();
  }
}

// Each generated name stands for one type: a signed byte read as an unsigned one is another number.
TEST(ElementTypes, AreToldApartInGeneratedCode) {
  MLIRContext context;
  std::set<std::string> names;
  for (Type type : declared(context))
    names.insert(elementType(type).cuda.str());
  EXPECT_EQ(names.size(), declared(context).size());
}

TEST(ElementTypes, OthersAreNotStored) {
  MLIRContext context;
  Builder b(&context);
  for (Type type : {Type(b.getIntegerType(16)), Type(b.getIntegerType(8, true)),
                    Type(b.getIndexType()), Type(Float8E4M3FNType::get(&context))})
    EXPECT_EQ(findElementType(type), nullptr);
}

// The instructions of a product take 32 bytes of a row: PTX ISA, shapes of mma and wgmma.
TEST(ElementTypes, ProductsSumOverTheDepthOfTheirInstructions) {
  MLIRContext context;
  Builder b(&context);
  EXPECT_EQ(elementType(b.getBF16Type()).depth(), 16);
  EXPECT_EQ(elementType(b.getF32Type()).depth(), 8);
  EXPECT_EQ(elementType(b.getF16Type()).panelColumns(), 64);
  EXPECT_EQ(elementType(b.getF16Type()).paddedWidth(40), 48);
  EXPECT_EQ(elementType(b.getF32Type()).paddedWidth(40), 40);
  EXPECT_EQ(elementType(b.getF16Type()).panelBytes(4, 65), 4 * 2 * kPanelBytes);
}

} // namespace
} // namespace attnc::tile
