// The gradients of every spec of the library, and of those of the tests, against differences.
#include "gradient_check.h"

#include "compiler/evaluator/inputs/inputs.h"
#include "kernels_spec/library.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace attnc::evaluator {
namespace {

std::vector<std::string> specPaths() {
  std::vector<std::string> paths;
  for (const char *folder : {ATTNC_SPEC_DIR, ATTNC_FURTHER_SPEC_DIR})
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".json")
        paths.push_back(entry.path().string());
  llvm::sort(paths);
  return paths;
}

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A small extent for a large one: the same for the same, and odd ones, too.
int64_t reduced(int64_t extent) { return extent <= 12 ? extent : 10 + extent % 7; }

/// Replaces what `--set` can replace of the spec's static extents and numbers, where it is large.
/// 5, so that windows and kernels with a centre keep it.
Overrides smallNumbers(const nlohmann::ordered_json &spec) {
  Overrides small;
  for (const char *key : {"dims", "let"}) {
    auto numbers = spec.value(key, nlohmann::json::object());
    for (const auto &[name, value] : numbers.items())
      if (value.is_number_integer() && value.get<int64_t>() > 8)
        small.values[name] = "5";
  }
  return small;
}

/// Inputs at the reduced reference shape. Real params are passed as 3/4 and integers as 3, which
/// lie in their ranges; 3/4 is one of f32's numbers, and 3 below the extents that masks are
/// compared with.
EvalInputs smallInputs(const SpecProgram &spec, InputKind kind) {
  std::map<std::string, int64_t> extents;
  auto shape = spec.reference().value("shape", nlohmann::json::object()); // none if all is static
  for (const auto &[dim, extent] : shape.items())
    extents[dim] = reduced(extent.get<int64_t>());
  EvalInputs inputs = llvm::cantFail(makeInputs(spec.op(), extents, /*seed=*/1, kind));
  attn::ProgramOp program = spec.op();
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>())
    inputs.params[param.getName().str()] =
        mlir::isa<mlir::FloatType>(param.getType().getElementType()) ? 0.75 : 3;
  return inputs;
}

/// True if reals are rounded to 16 bits on the way: they have steps, over which a gradient passes
/// and a difference does not.
bool hasSteps(attn::ProgramOp program) {
  return program
      .walk([](mlir::arith::TruncFOp op) {
        mlir::Type type = op.getType();
        return type.isF16() || type.isBF16() ? mlir::WalkResult::interrupt()
                                             : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

class ReverseLibrary : public testing::TestWithParam<std::string> {};

TEST_P(ReverseLibrary, AgreesWithDifferences) {
  std::string text = textOf(GetParam());
  Diagnostics diagnostics;
  auto json = wholeSpec("test.json", text, libraryBases(), diagnostics);
  ASSERT_TRUE(json);
  SpecProgram spec(text, smallNumbers(*json));
  ASSERT_TRUE(spec.isValid());
  for (InputKind kind : {InputKind::Random, InputKind::Planted, InputKind::InfiniteBias}) {
    SCOPED_TRACE(inputKindName(kind).str());
    EvalInputs inputs = smallInputs(spec, kind);
    if (hasSteps(spec.op()))
      EXPECT_EQ(refusalOf(spec.op(), inputs, {}, realSources(spec.op(), inputs)), "differentiated");
    else
      expectDifferences(spec.op(), inputs);
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, ReverseLibrary, testing::ValuesIn(specPaths()),
                         [](const auto &info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

} // namespace
} // namespace attnc::evaluator
