#include "compiler/jit/spec_texts.h"
#include "tests/unit/jit/parsed_spec.h"

#include <gmock/gmock.h>

using namespace attnc;
using namespace attnc::test;
using testing::HasSubstr;
using testing::Not;

namespace {

driver::Compilation compiled(const ParsedSpec &parsed) {
  Result<driver::Compilation> compilation = driver::compile(*parsed.spec, {});
  if (!compilation)
    throw std::runtime_error(compilation.error().text());
  addSpec(*parsed.spec, compilation->program);
  addExplanation(*parsed.spec, *compilation);
  return *std::move(compilation);
}

TEST(SpecTexts, NameNoFolder) {
  driver::Compilation here = compiled(ParsedSpec());
  // The second is one that texts write otherwise than it is.
  for (const char *folder : {"/home/somebody/specs/", "/home/d\u00e9 \"quoted\" \\/"}) {
    driver::Compilation there =
        compiled(ParsedSpec(softmaxSpec, folder + std::string("softmax.json")));
    Result<std::string> bytes = serializeProgram(there.program);
    ASSERT_TRUE(bytes) << bytes.error().text();
    EXPECT_THAT(*bytes, Not(HasSubstr("/home/")));
    EXPECT_EQ(*bytes, *serializeProgram(here.program));
  }
}

TEST(SpecTexts, TheSpecComesBackWithItsReferenceShape) {
  driver::Compilation compilation = compiled(ParsedSpec());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<Spec> spec = readSpec(context, compilation.program, diagnostics);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "softmax");
  EXPECT_EQ(referenceShape(*spec), (std::map<std::string, int64_t>{{"i", 5}, {"j", 7}}));
}

TEST(SpecTexts, ExplainCountsAtTheReferenceShape) {
  driver::Compilation compilation = compiled(ParsedSpec());
  const Source *text = compilation.program.findSource(explanationText);
  ASSERT_TRUE(text);
  EXPECT_THAT(text->text, HasSubstr("softmax for cpu"));
  const Source *json = compilation.program.findSource(explanationJson);
  ASSERT_TRUE(json);
  EXPECT_EQ(nlohmann::json::parse(json->text).at("spec"), "softmax");
}

TEST(SpecTexts, AProgramWithoutItsSpecSaysNothing) {
  mlir::MLIRContext context;
  Diagnostics diagnostics;
  EXPECT_FALSE(readSpec(context, {}, diagnostics));
  EXPECT_FALSE(diagnostics.hasErrors());
}

} // namespace
