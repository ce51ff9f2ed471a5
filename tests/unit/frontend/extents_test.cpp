// Dims whose extent comes from no input: computed, from the caller, from a tensor, packed.
#include "spec_fixture.h"

namespace attnc {
namespace {

class ExtentsOfDims : public SpecFixture {
protected:
  static std::string dims(const std::string &members) { return "\"dims\": {" + members + "}"; }

  /// The extent of a dim of the parsed program; nothing if it is dynamic.
  std::optional<int64_t> extentOf(Spec &spec, const std::string &dim) {
    attn::DimAttr found = programOf(spec).lookupDim(mlir::StringAttr::get(&context, dim));
    return found && found.isStatic() ? std::optional(found.getExtent()) : std::nullopt;
  }

  /// Expects one error that holds all these pieces.
  void expectError(const std::string &text, const std::vector<std::string> &pieces,
                   const Overrides &overrides = {}) {
    EXPECT_FALSE(parse(text, overrides)) << text;
    EXPECT_EQ(diagnostics.errorCount(), 1u) << rendered();
    for (const std::string &piece : pieces)
      EXPECT_NE(rendered().find(piece), std::string::npos) << piece << "\nnot in\n" << rendered();
  }
};

//===----------------------------------------------------------------------===//
// Computed
//===----------------------------------------------------------------------===//

TEST_F(ExtentsOfDims, ComputedOnesAreUsedInProofs) {
  std::string inputs = "\"x\": \"f32[w, t]\"", outputs = "\"o\": \"f32\"";
  EXPECT_TRUE(parse(specOf(inputs, "\"o = x[j // size(t), j % size(t)]\"", outputs,
                           dims("\"j\": \"size(w) * size(t)\""))))
      << rendered();
  EXPECT_FALSE(parse(specOf(inputs, "\"o = x[j // size(t), j % size(t)]\"", outputs,
                            dims("\"j\": \"size(w) * size(t) + 1\""))));
  EXPECT_TRUE(parse(specOf("\"x\": \"f32[n]\"", "\"o = sum(r, x[m * 4 + r])\"", outputs,
                           dims("\"r\": 4, \"m\": \"size(n) // 4\""))))
      << rendered();
  EXPECT_FALSE(parse(specOf("\"x\": \"f32[n]\"", "\"o = sum(r, x[m * 4 + r])\"", outputs,
                            dims("\"r\": 4, \"m\": \"(size(n) + 3) // 4\""))));
}

TEST_F(ExtentsOfDims, ComputedOnesMayUseLetsRequirementsAndEachOther) {
  auto spec = parse(specOf("\"x\": \"f32[n]\"", "\"o = x[c * size(f) + f]\"", "\"o\": \"f32\"",
                           "\"let\": {\"g\": \"size(n) // 8\"}, "
                           "\"require\": [\"size(n) % 8 == 0\"], " +
                               dims("\"c\": \"size(n) // size(f)\", \"f\": \"g\"")));
  ASSERT_TRUE(spec) << rendered();
  std::vector<attn::ExtentOp> extents = opsOf<attn::ExtentOp>(*spec);
  ASSERT_EQ(extents.size(), 2u);
  // What is needed stands first.
  EXPECT_EQ(extents[0].getDim(), "f");
  EXPECT_EQ(extents[1].getDim(), "c");
}

TEST_F(ExtentsOfDims, AComputedConstantIsStatic) {
  auto spec = parse(specOf("\"x\": \"f32[n]\"", "\"o = x + j\"", "\"o\": \"f32\"",
                           dims("\"n\": 6, \"j\": \"size(n) * 2\"")));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(extentOf(*spec, "j"), 12);
  EXPECT_TRUE(opsOf<attn::ExtentOp>(*spec).empty());
}

TEST_F(ExtentsOfDims, WhatIsWrongWithAComputedOneIsSaid) {
  auto withDims = [&](const std::string &members) {
    return specOf("\"x\": \"f32[n]\"", "\"o = x + j\"", "\"o\": \"f32\"", dims(members));
  };
  expectError(withDims("\"j\": \"size(k)\", \"k\": \"size(j)\""),
              {"depends on itself", "size(j) -> size(k) -> size(j)"});
  expectError(withDims("\"j\": \"size(n) / 2\""), {"an extent is an integer", "`//`"});
  expectError(withDims("\"j\": \"4 - 4\""), {"between 1 and", "this is 0"});
  expectError(withDims("\"j\": \"x[0]\""), {"'x' has no value here"});
  expectError(withDims("\"j\": \"size(n)\""), {"is computed: size(n)"}, {{{"j", "4"}}});
  expectError(withDims("\"j\": true"), {"the extent of a dim is an integer", "null"});
  expectError(
      specOf("\"x\": \"f32[n]\"", "\"o = x + j\"", "\"o\": \"f32\"",
             dims("\"j\": \"size(n)\"") + ", \"reference\": {\"shape\": {\"n\": 3, \"j\": 3}}"),
      {"the extent of 'j' is computed: size(n)", "leave it out"});
}

//===----------------------------------------------------------------------===//
// From the caller
//===----------------------------------------------------------------------===//

TEST_F(ExtentsOfDims, NullLeavesAnExtentToTheCaller) {
  auto spec =
      parse(specOf("\"x\": \"f32[n]\"", "\"o = x + j\"", "\"o\": \"f32\"", dims("\"j\": null")));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(extentOf(*spec, "j"), std::nullopt);
  expectError(specOf("\"x\": \"f32[n]\"", "\"o = x + j\"", "\"o\": \"f32\"",
                     dims("\"j\": null") + ", \"reference\": {\"shape\": {\"n\": 3}}"),
              {"no extent of 'j'"});
}

//===----------------------------------------------------------------------===//
// From a tensor
//===----------------------------------------------------------------------===//

constexpr const char *kLengthInputs = "\"x\": \"f32[b, j]\", \"len\": \"i32[b]\"";
constexpr const char *kLength = "\"j\": {\"extent\": \"len[b]\"}";

TEST_F(ExtentsOfDims, ReadsAndReductionsStayWithinALength) {
  auto spec = parse(specOf(kLengthInputs, "\"o = max(j, x)\"", "\"o\": \"f32\"", dims(kLength)));
  ASSERT_TRUE(spec) << rendered();
  ASSERT_EQ(opsOf<attn::ExtentOp>(*spec).size(), 1u);
  unsigned guarded = 0;
  for (attn::ReadOp read : opsOf<attn::ReadOp>(*spec))
    guarded += read.getOtherwise().has_value();
  EXPECT_EQ(guarded, 1u); // x; len is read as it is
  // The operand of the maximum is chosen element by element.
  attn::ReduceOp reduce = opsOf<attn::ReduceOp>(*spec).front();
  EXPECT_TRUE(reduce.getOperand().getDefiningOp<attn::MapOp>());
}

TEST_F(ExtentsOfDims, ASumOfWhatVanishesNeedsNoChoice) {
  auto spec =
      parse(specOf(kLengthInputs, "\"o = sum(j, x * x)\"", "\"o\": \"f32\"", dims(kLength)));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(printed(*spec).find("arith.select"), printed(*spec).rfind("arith.select"))
      << printed(*spec); // that of the subscript alone
  auto chosen =
      parse(specOf(kLengthInputs, "\"o = sum(j, exp(x))\"", "\"o\": \"f32\"", dims(kLength)));
  ASSERT_TRUE(chosen) << rendered();
  EXPECT_NE(printed(*chosen).find("arith.select"), printed(*chosen).rfind("arith.select"));
}

TEST_F(ExtentsOfDims, AMeanDividesByTheLength) {
  auto spec = parse(specOf(kLengthInputs, "\"o = mean(j, x)\"", "\"o\": \"f32\"", dims(kLength)));
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(opsOf<attn::ReduceOp>(*spec).front().getKind(), attn::ReduceKind::Add);
}

TEST_F(ExtentsOfDims, WhatIsWrongWithALengthIsSaid) {
  auto withLength = [&](const std::string &dim, const std::string &body = "o = sum(j, x)",
                        const std::string &more = "") {
    return specOf(kLengthInputs, "\"" + body + "\"", "\"o\": \"f32\"", dims(dim) + more);
  };
  expectError(withLength("\"j\": {\"extent\": \"len[b] + 0.5\"}"), {"a length is an integer"});
  expectError(withLength("\"j\": {\"extent\": \"len[b] - j\"}"), {"depends on the index j"});
  expectError(withLength("\"j\": {\"extent\": \"size(j)\"}"), {"depends on itself"});
  expectError(withLength("\"j\": {\"extent\": \"len[b]\", \"most\": 4}"), {"unknown key 'most'"});
  expectError(withLength("\"j\": {\"max\": 4}"), {"the length of a dim is a text"});
  expectError(withLength("\"j\": {\"extent\": \"len[b]\", \"max\": {}}"),
              {"the greatest length is the same everywhere"});
  expectError(withLength(kLength, "o = sum(j, x)", ", \"require\": [\"size(j) <= 9\"]"),
              {"size(j) is known only in the body"});
  expectError(specOf("\"x\": \"f32[j]\", \"len\": \"i32[b]\"", "\"o = x\"", "\"o\": \"f32\"",
                     dims(kLength)),
              {"differs from one b to the next", "no dim 'b'"});
}

//===----------------------------------------------------------------------===//
// Packed
//===----------------------------------------------------------------------===//

TEST_F(ExtentsOfDims, RaggedDimsArePackedInInputsAndOutputs) {
  std::string ragged = "\"b\": \"size(n) - 1\", \"i\": {\"ragged\": \"cu\", \"over\": \"b\"}";
  auto spec = parse(specOf("\"x\": \"f32[i, h]\", \"cu\": \"i32[n]\"", "\"o[b,h,i] = x + i\"",
                           "\"o\": \"f32\"", dims(ragged)));
  ASSERT_TRUE(spec) << rendered();
  auto dimsOf = [](mlir::ArrayRef<mlir::StringAttr> names) {
    std::string text;
    for (mlir::StringAttr name : names)
      text += name.str() + " ";
    return text;
  };
  EXPECT_EQ(dimsOf(opsOf<attn::InputOp>(*spec).front().getType().getDims()), "i_rows h ");
  EXPECT_EQ(dimsOf(attn::dimNames(opsOf<attn::OutputOp>(*spec).front().getDims())), "h i_rows ");
}

TEST_F(ExtentsOfDims, WhatIsWrongWithARaggedDimIsSaid) {
  auto withDim = [&](const std::string &dim, const std::string &body = "o = x + b") {
    return specOf("\"x\": \"f32[i, h]\", \"cu\": \"i32[n]\"", "\"" + body + "\"", "\"o\": \"f32\"",
                  dims("\"b\": \"size(n) - 1\", " + dim));
  };
  expectError(withDim("\"i\": {\"ragged\": \"cu\"}"), {"names an input with the offsets"});
  expectError(withDim("\"i\": {\"ragged\": \"cu\", \"over\": \"i\"}"),
              {"cannot count its own sequences"});
  expectError(withDim("\"i\": {\"ragged\": \"cu\", \"over\": \"b\", \"by\": 1}"),
              {"unknown key 'by'"});
}

// Both axes are stored by rows, as those of an input with both are.
TEST_F(ExtentsOfDims, TwoRaggedDimsOfAnOutputAreBothStoredByRows) {
  auto spec = parse(specOf("\"x\": \"f32[i]\", \"y\": \"f32[j]\", \"cu\": \"i32[n]\"",
                           "\"o = x * y\"", "\"o\": \"f32\"",
                           dims("\"b\": \"size(n) - 1\", \"i\": {\"ragged\": \"cu\", \"over\": "
                                "\"b\"}, \"j\": {\"ragged\": \"cu\", \"over\": \"b\"}")));
  ASSERT_TRUE(spec);
  std::string stored;
  for (mlir::StringAttr name : attn::dimNames(opsOf<attn::OutputOp>(*spec).front().getDims()))
    stored += name.str() + " ";
  EXPECT_EQ(stored, "i_rows j_rows ");
}

} // namespace
} // namespace attnc
