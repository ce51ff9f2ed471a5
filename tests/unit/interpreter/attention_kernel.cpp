#include "tests/unit/interpreter/attention_kernel.h"
#include "compiler/driver/compile.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc::interpreter {

static constexpr uint16_t kPoison = 0xFFFF;

static std::vector<uint16_t> randomElements(int64_t count, uint32_t seed) {
  std::vector<uint16_t> elements;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u; // Knuth's linear congruential generator
    elements.push_back(floatToBFloat(static_cast<float>(seed >> 8) / (1 << 23) - 1));
  }
  return elements;
}

AttentionTensors::AttentionTensors(int64_t heads, int64_t rows, int64_t keys, int64_t width)
    : heads(heads), rows(rows), keys(keys), width(width), scale(1 / std::sqrt(float(width))),
      q(randomElements(heads * rows * width, 1)), k(randomElements(heads * keys * width, 2)),
      v(randomElements(heads * keys * width, 3)) {
  auto at = [&](const std::vector<uint16_t> &x, int64_t row, int64_t col) {
    return double(bfloatToFloat(x[row * width + col]));
  };
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < rows; ++i) {
      std::vector<double> weights(keys), row(width);
      double sum = 0;
      for (int64_t j = 0; j < keys; ++j) {
        double score = 0;
        for (int64_t d = 0; d < width; ++d)
          score += at(q, h * rows + i, d) * at(k, h * keys + j, d);
        sum += weights[j] = std::exp(score * scale);
      }
      for (int64_t j = 0; j < keys; ++j)
        for (int64_t d = 0; d < width; ++d)
          row[d] += weights[j] / sum * at(v, h * keys + j, d);
      expected.insert(expected.end(), row.begin(), row.end());
    }
}

double AttentionTensors::error(const std::vector<uint16_t> &o) const {
  double worst = 0;
  for (size_t i = 0; i < o.size(); ++i)
    worst = std::max(worst, o[i] == kPoison ? INFINITY : std::abs(bfloatToFloat(o[i]) - expected[i]));
  return worst;
}

AttentionKernel::AttentionKernel(StringRef file)
    : context(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED)) {
  driver::loadDialects(*context);
  auto buffer = llvm::MemoryBuffer::getFile(std::string(ATTNC_TILE_KERNELS "/") + file.str());
  EXPECT_TRUE(buffer) << file.str();
  text = (*buffer)->getBuffer().str();
  module = parseSourceString<ModuleOp>(text, context.get());
  EXPECT_TRUE(module);
}

tile::KernelOp AttentionKernel::kernel() { return *module->getOps<tile::KernelOp>().begin(); }

static TensorMapArg mapOf(std::vector<uint16_t> &tensor, int64_t rows, int64_t heads,
                          int64_t width, int64_t boxRows) {
  return {tensor.data(),
          DType::BF16,
          {width, rows, heads, 1},
          {2 * width, 2 * width * rows, 2 * width * rows * heads},
          {64, boxRows, 1, 1},
          128};
}

// Two tiles of rows and four of keys, the last of each partial, for each of two heads: blocks that
// stay take several, and rings wrap around.
static AttentionTensors &tensors() {
  static AttentionTensors shared(2, 200, 250, 128);
  return shared;
}

// The weights are rounded to bf16, 2^-9 each, of a sum of values below 1; the result again.
static constexpr double kTolerance = 0x1p-8;

std::string AttentionKernel::run(uint64_t seed, int64_t blocks) {
  AttentionTensors &t = tensors();
  EXPECT_TRUE(succeeded(verify(kernel())));
  auto compiled = KernelInterpreter::compile(kernel(), text);
  if (!compiled)
    return llvm::toString(compiled.takeError());
  std::vector<uint16_t> o(t.heads * t.rows * t.width, kPoison);
  Launch launch;
  launch.blocks = blocks;
  int64_t head = t.rows * t.width;
  launch.args = {mapOf(t.q, t.rows, t.heads, t.width, 192),
                 mapOf(t.k, t.keys, t.heads, t.width, 80),
                 mapOf(t.v, t.keys, t.heads, t.width, 80),
                 static_cast<void *>(o.data()),
                 int64_t(t.heads * head),
                 head,
                 t.width,
                 int32_t(1),
                 int32_t(t.heads),
                 int32_t(t.rows),
                 int32_t(t.keys),
                 t.scale};
  auto range = [&](const char *name, std::vector<uint16_t> &tensor, bool writable) {
    launch.memory.push_back({name, reinterpret_cast<std::byte *>(tensor.data()),
                             tensor.size() * sizeof(uint16_t), writable});
  };
  range("q", t.q, false);
  range("k", t.k, false);
  range("v", t.v, false);
  range("o", o, true);
  if (llvm::Error fault = compiled->run(launch, seed))
    return llvm::toString(std::move(fault));
  double error = t.error(o);
  return error <= kTolerance ? "" : fmt::format("the result is wrong by {}", error);
}

std::vector<std::string> AttentionKernel::runAll(uint64_t seeds) {
  std::vector<std::string> faults;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    if (std::string fault = run(seed); !fault.empty())
      faults.push_back(fault);
  return faults;
}

} // namespace attnc::interpreter
