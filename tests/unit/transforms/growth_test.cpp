// The code of a program grows with its length, no faster.
#include "compiler/codegen/cpu/cpu_target.h"
#include "compiler/codegen/cpu/loops/lower_nests.h"
#include "compiler/codegen/cpu/object/llvm_lowering.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tests/unit/transforms/fused_program.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc {
namespace {

std::string spec(const std::string &inputs, const std::string &body, const std::string &output) {
  return R"j({"attnc": 1, "name": "t", "dims": {"d": 8, "e": 8}, "inputs": {)j" + inputs +
         R"j(}, "body": [)j" + body + R"j(], "outputs": {")j" + output + R"j(": "f32"}})j";
}

/// Each value is used by the next one and by a later one, so none is part of another's expression.
std::string chain(unsigned statements) {
  std::string body = R"j("x0[b,i] = x[b,i]")j";
  for (unsigned n = 1; n <= statements; ++n)
    body += ", \"x" + std::to_string(n) + " = tanh(x" + std::to_string(n - 1) + ") * 0.5 + x" +
            std::to_string(n < 3 ? 0 : n - 3) + "\"";
  return spec(R"j("x": "f32[b,i]")j", body, "x" + std::to_string(statements));
}

/// Sums of weights over one stream, which become states of one nest.
std::string attentions(unsigned count) {
  std::string body, sum;
  for (unsigned n = 0; n < count; ++n) {
    std::string o = "o" + std::to_string(n);
    body += "\"" + o + "[i,e] = sum(j, softmax(j, sum(d, q[i,d] * k[j,d]) * " +
            std::to_string(n + 1) + ") * v[j,e])\", ";
    sum += (n ? " + " : "") + o;
  }
  return spec(R"j("q": "f32[i,d]", "k": "f32[j,d]", "v": "f32[j,e]")j",
              body + "\"y = " + sum + "\"", "y");
}

ModuleOp moduleOf(FusedProgram &program) { return program.fused()->getParentOfType<ModuleOp>(); }

std::string llvmIr(const std::string &text) {
  FusedProgram program(text);
  auto code = cpu::compileObject(moduleOf(program), {.keepLlvmIr = true});
  return code ? code->llvmIr : llvm::toString(code.takeError());
}

size_t instructions(const std::string &ir) {
  SmallVector<StringRef> lines;
  StringRef(ir).split(lines, '\n');
  return llvm::count_if(lines, [](StringRef line) { return line.starts_with("  "); });
}

TEST(Growth, OfMachineCodeIsLinearInTheStatements) {
  size_t shorter = instructions(llvmIr(chain(64))), longer = instructions(llvmIr(chain(256)));
  // A value takes a load or two, a call, a product, a sum, a store and their addresses, once.
  EXPECT_LT(longer, 256 * 30u);
  EXPECT_LT(longer, 5 * shorter);
}

TEST(Growth, FunctionsThatNobodyCallsAreNotCompiled) {
  EXPECT_EQ(llvmIr(chain(1)).find("_mlir_"), std::string::npos);
}

TEST(Growth, LargeProgramsKeepTheirVectors) {
  EXPECT_NE(llvmIr(attentions(1)).find("x float>"), std::string::npos);
  EXPECT_NE(llvmIr(attentions(64)).find("x float>"), std::string::npos);
}

TEST(Growth, NoFunctionHasHundredsOfLoops) {
  FusedProgram program(attentions(40));
  ASSERT_EQ(program.nests().size(), 1u);
  cpu::prepareContext(*moduleOf(program).getContext());
  auto lowered = cpu::lowerNests(moduleOf(program));
  ASSERT_TRUE(bool(lowered)) << llvm::toString(lowered.takeError());
  size_t all = 0;
  for (auto function : (*lowered)->getOps<LLVM::LLVMFuncOp>()) {
    size_t loops = 0;
    function.walk([&](scf::ForOp) { ++loops; });
    EXPECT_LE(loops, 200u) << function.getName().str();
    all += loops;
  }
  EXPECT_GT(all, 400u); // so there was something to divide
}

} // namespace
} // namespace attnc
