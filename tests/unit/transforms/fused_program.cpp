#include "tests/unit/transforms/fused_program.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/pipeline.h"
#include "compiler/transforms/split.h"
#include "kernels_spec/library.h"
#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc {

FusedProgram::FusedProgram(const std::string &text) { parse(text); }

FusedProgram::FusedProgram(const std::string &body, const std::string &outputs) {
  parse(R"j({"attnc": 1, "name": "t", "dims": {"d": 8, "e": 8},
    "params": {"w": "f32 > 0 = 1"},
    "inputs": {"q": "f32[b,h,i,d]", "k": "f32[b,h,j,d]", "v": "f32[b,h,j,e]",
               "r": "f32[i]", "c": "f32[j]"},
    "body": )j" +
        body + R"j(, "outputs": )j" + outputs + "}");
}

void FusedProgram::parse(const std::string &text) {
  driver::loadDialects(context);
  Diagnostics diagnostics;
  spec = parseSpec(context, "test.json", text, {}, diagnostics, libraryBases());
  if (!spec) {
    std::string errors;
    llvm::raw_string_ostream os(errors);
    diagnostics.render(os, false);
    throw std::runtime_error(errors);
  }
  module = cast<ModuleOp>(spec->module.get()->clone());
  for (const driver::Step &step : driver::targetIndependentSteps()) {
    if (!step.run(fused()) || failed(verify(*module)))
      throw std::runtime_error(std::string("invalid after ") + step.name);
  }
}

std::map<std::string, int64_t> FusedProgram::referenceShape() const {
  return spec->reference.value("shape", std::map<std::string, int64_t>());
}

void FusedProgram::splitStreams(int64_t parts, int64_t granule, int64_t scatter) {
  Builder b(&context);
  fused()->setAttr(kSplitsAttr, b.getI64IntegerAttr(parts));
  fused()->setAttr(kGranuleAttr, b.getI64IntegerAttr(granule));
  fused()->setAttr(kScatterAttr, b.getI64IntegerAttr(scatter));
  split(fused());
  if (failed(verify(*module)))
    throw std::runtime_error("invalid after split");
}

std::vector<red::NestOp> FusedProgram::nests() {
  auto range = fused().getBodyBlock()->getOps<red::NestOp>();
  return {range.begin(), range.end()};
}

} // namespace attnc
