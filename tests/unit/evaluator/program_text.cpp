#include "program_text.h"

#include "compiler/evaluator/inputs/inputs.h"
#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc::evaluator {

Program::Program(const std::string &text) : context(std::make_unique<MLIRContext>()) {
  DialectRegistry registry;
  registry.insert<attn::AttnDialect, red::RedDialect, arith::ArithDialect, math::MathDialect,
                  tile::TileDialect>();
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  module = parseSourceString<ModuleOp>(text, context.get());
  if (!module)
    llvm::report_fatal_error("the program of a test does not parse");
  program = *module->getOps<attn::ProgramOp>().begin();
}

Outputs Program::run(const EvalInputs &inputs, const EvalOptions &options) const {
  llvm::Expected<Outputs> outputs = evaluate(program, inputs, options);
  if (outputs)
    return std::move(*outputs);
  ADD_FAILURE() << llvm::toString(outputs.takeError());
  return {};
}

std::string Program::refusal(const EvalInputs &inputs, const EvalOptions &options) const {
  llvm::Expected<Outputs> outputs = evaluate(program, inputs, options);
  return outputs ? "evaluated" : llvm::toString(outputs.takeError());
}

Array reals(std::vector<int64_t> shape, std::vector<double> value) {
  Array array;
  array.shape = std::move(shape);
  array.value = std::move(value);
  return array;
}

Array wholes(std::vector<int64_t> shape, std::vector<int64_t> value) {
  Array array;
  array.shape = std::move(shape);
  array.kind = ElementKind::Whole;
  array.integer = std::move(value);
  return array;
}

EvalInputs given(std::map<std::string, Array> tensors) {
  EvalInputs inputs;
  inputs.tensors = std::move(tensors);
  return inputs;
}

EvalInputs randomInputs(const Program &program, const std::map<std::string, int64_t> &extents,
                        uint64_t seed) {
  return llvm::cantFail(makeInputs(program.op(), extents, seed));
}

std::string attentionText(const std::string &type, const std::string &mask) {
  std::string text = R"(
attn.program @attention dims [b, h, i, d, j, e] {
  %q = attn.input "q" : !attn.array<[b, h, i, d], T>
  %k = attn.input "k" : !attn.array<[b, h, j, d], T>
  %v = attn.input "v" : !attn.array<[b, h, j, e], T>
  %size = attn.size d : !attn.array<[], i64>
  %root = attn.map (%n = %size : !attn.array<[], i64>) -> !attn.array<[], f32> {
    %x = arith.sitofp %n : i64 to f32
    %y = math.rsqrt %x : f32
    attn.yield %y : f32
  }
  %scale = attn.param "scale" default %root : !attn.array<[], f32> -> !attn.array<[], f32>
  %0 = attn.read %q[b, h, i, d] : (!attn.array<[b, h, i, d], T>) -> !attn.array<[b, h, i, d], f32>
  %1 = attn.read %k[b, h, j, d] : (!attn.array<[b, h, j, d], T>) -> !attn.array<[b, h, d, j], f32>
  %2 = attn.read %v[b, h, j, e] : (!attn.array<[b, h, j, e], T>) -> !attn.array<[b, h, j, e], f32>
  %3 = attn.map (%x = %0 : !attn.array<[b, h, i, d], f32>, %y = %1 : !attn.array<[b, h, d, j], f32>) -> !attn.array<[b, h, i, d, j], f32> {
    %z = arith.mulf %x, %y : f32
    attn.yield %z : f32
  }
  %4 = attn.reduce add over [d] %3 : !attn.array<[b, h, i, d, j], f32> -> !attn.array<[b, h, i, j], f32>
  %rows = attn.index i : !attn.array<[i], i64>
  %keys = attn.index j : !attn.array<[j], i64>
  %s = attn.map (%a = %4 : !attn.array<[b, h, i, j], f32>, %c = %scale : !attn.array<[], f32>, %i = %rows : !attn.array<[i], i64>, %j = %keys : !attn.array<[j], i64>) -> !attn.array<[b, h, i, j], f32> {
    %zero = arith.constant 0.0 : f32
    %inf = arith.constant 0xFF800000 : f32
    %x = arith.mulf %a, %c : f32
    MASK
    attn.yield %y : f32
  }
  %p = attn.softmax over [j] %s : !attn.array<[b, h, i, j], f32> -> !attn.array<[b, h, i, j], f32>
  %6 = attn.map (%x = %p : !attn.array<[b, h, i, j], f32>, %y = %2 : !attn.array<[b, h, j, e], f32>) -> !attn.array<[b, h, i, j, e], f32> {
    %z = arith.mulf %x, %y : f32
    attn.yield %z : f32
  }
  %o = attn.reduce add over [j] %6 : !attn.array<[b, h, i, j, e], f32> -> !attn.array<[b, h, i, e], f32>
  %lse = attn.reduce logsumexp over [j] %s : !attn.array<[b, h, i, j], f32> -> !attn.array<[b, h, i], f32>
  attn.output "o" [b, h, i, e] %o as T : !attn.array<[b, h, i, e], f32>
  attn.output "lse" [b, h, i] %lse as f32 : !attn.array<[b, h, i], f32>
})";
  auto replaceAll = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replaceAll("MASK", mask);
  replaceAll(", T>", ", " + type + ">");
  replaceAll("as T", "as " + type);
  return text;
}

} // namespace attnc::evaluator
