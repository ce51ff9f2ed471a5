// The specs of the library compile to verified programs without a finding.
#include "spec_fixture.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <filesystem>

namespace attnc {
namespace {

std::vector<std::string> librarySpecs() {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(ATTNC_SPEC_DIR))
    if (entry.path().extension() == ".json")
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Library : public SpecFixture, public ::testing::WithParamInterface<std::string> {
protected:
  std::string text() const {
    auto buffer = llvm::MemoryBuffer::getFile(GetParam());
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
};

TEST_P(Library, CompilesWithoutFindings) {
  std::optional<Spec> spec = parse(text());
  ASSERT_TRUE(spec) << rendered();
  EXPECT_EQ(rendered(), "");
  EXPECT_EQ(spec->name, std::filesystem::path(GetParam()).stem().string());
  EXPECT_FALSE(spec->doc.empty());
  if (std::getenv("ATTNC_PRINT"))
    llvm::outs() << printed(*spec);
}

TEST_P(Library, IsAcceptedAsAnAttnFile) {
  std::optional<Spec> spec = parse(text());
  ASSERT_TRUE(spec) << rendered();
  EXPECT_TRUE(parseAttnFile(context, spec->name + ".mlir", printed(*spec), diagnostics))
      << rendered();
}

TEST_P(Library, ReferenceShapeGivesEveryDynamicDim) {
  std::optional<Spec> spec = parse(text());
  ASSERT_TRUE(spec) << rendered();
  llvm::SmallDenseSet<mlir::StringAttr> computed;
  for (attn::ExtentOp extent : opsOf<attn::ExtentOp>(*spec))
    computed.insert(extent.getDimAttr());
  for (attn::DimAttr dim : programOf(*spec).getDims().getAsRange<attn::DimAttr>())
    if (!dim.isStatic() && !computed.contains(dim.getName()))
      EXPECT_TRUE(spec->reference["shape"].contains(dim.getName().str())) << dim.getName().str();
}

TEST_P(Library, TakesAnotherTypeAndHeadDim) {
  // Latent attention has columns of keys that are those of values, c, and no others.
  std::map<std::string, int64_t> columns = {{"d", 96}, {"e", 40}};
  if (text().find("\"c\": 512") != std::string::npos)
    columns = {{"c", 96}};
  Overrides overrides;
  overrides.values = {{"T", "f16"}};
  for (const auto &[dim, extent] : columns)
    overrides.values[dim] = std::to_string(extent);
  std::optional<Spec> spec = parse(text(), overrides);
  ASSERT_TRUE(spec) << rendered();
  auto program = programOf(*spec);
  mlir::Builder builder(&context);
  for (const auto &[dim, extent] : columns)
    EXPECT_EQ(program.lookupDim(builder.getStringAttr(dim)).getExtent(), extent) << dim;
  for (attn::OutputOp output : opsOf<attn::OutputOp>(*spec))
    if (output.getName() == "o")
      EXPECT_TRUE(output.getType().isF16());
}

INSTANTIATE_TEST_SUITE_P(Specs, Library, ::testing::ValuesIn(librarySpecs()),
                         [](const ::testing::TestParamInfo<std::string> &info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

} // namespace
} // namespace attnc
