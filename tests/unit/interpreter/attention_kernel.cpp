#include "tests/unit/interpreter/attention_kernel.h"
#include "compiler/driver/compile.h"
#include "compiler/interpreter/code/tile_layout.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace attnc::interpreter {

OwningOpRef<ModuleOp> parseKernelFile(MLIRContext &context, StringRef file, std::string &text) {
  driver::loadDialects(context);
  auto buffer = llvm::MemoryBuffer::getFile(std::string(ATTNC_TILE_KERNELS "/") + file.str());
  EXPECT_TRUE(buffer) << file.str();
  text = (*buffer)->getBuffer().str();
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  return module;
}

std::vector<uint16_t> randomElements(DType dtype, int64_t count, uint32_t seed) {
  std::vector<uint16_t> elements(count);
  for (uint16_t &element : elements) {
    seed = seed * 1664525u + 1013904223u; // Knuth's linear congruential generator
    storeElement(dtype, double(seed >> 8) / (1 << 23) - 1, &element);
  }
  return elements;
}

namespace {

constexpr uint16_t kPoison = 0xFFFF;

struct Tensors {
  std::vector<uint16_t> q, k, v;
  std::vector<double> expected;
};

std::vector<double> attention(const AttentionCase &c, const Tensors &t) {
  auto at = [&](const std::vector<uint16_t> &x, int64_t row, int64_t col) {
    return loadElement(c.dtype, &x[row * c.width + col]);
  };
  std::vector<double> result;
  for (int64_t h = 0; h < c.heads; ++h)
    for (int64_t i = 0; i < c.rows; ++i) {
      std::vector<double> weights(c.keys), row(c.width);
      double sum = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        double score = 0;
        for (int64_t d = 0; d < c.width; ++d)
          score += at(t.q, h * c.rows + i, d) * at(t.k, h * c.keys + j, d);
        sum += weights[j] = std::exp(score / std::sqrt(c.width));
      }
      for (int64_t j = 0; j < c.keys; ++j)
        for (int64_t d = 0; d < c.width; ++d)
          row[d] += weights[j] / sum * at(t.v, h * c.keys + j, d);
      result.insert(result.end(), row.begin(), row.end());
    }
  return result;
}

/// Computed once for each file.
const Tensors &tensorsOf(const AttentionCase &c) {
  static std::map<std::string, Tensors> known;
  Tensors &t = known[c.file];
  if (t.q.empty()) {
    t.q = randomElements(c.dtype, c.heads * c.rows * c.width, 1);
    t.k = randomElements(c.dtype, c.heads * c.keys * c.width, 2);
    t.v = randomElements(c.dtype, c.heads * c.keys * c.width, 3);
    t.expected = attention(c, t);
  }
  return t;
}

TensorMapArg mapOf(const AttentionCase &c, const std::vector<uint16_t> &tensor, int64_t rows,
                   int64_t boxRows) {
  int64_t row = 2 * c.width;
  return {const_cast<uint16_t *>(tensor.data()),
          c.dtype,
          {c.width, rows, c.heads, 1},
          {row, row * rows, row * rows * c.heads},
          {64, boxRows, 1, 1},
          128};
}

} // namespace

AttentionCase AttentionCase::fa3Loop() {
  return {"fa3-loop.mlir", DType::BF16, 2, 200, 410, 128, 192, 80, 80, true, 2};
}

AttentionCase AttentionCase::seesaw() {
  return {"seesaw.mlir", DType::F16, 1, 100, 300, 512, 64, 64, 32, false, 2};
}

AttentionCase AttentionCase::splitFold() {
  return {"split-fold.mlir", DType::BF16, 2, 100, 410, 64, 64, 64, 64, false, 16, 4608};
}

AttentionKernel::AttentionKernel(AttentionCase of)
    : of(of), context(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED)),
      module(parseKernelFile(*context, of.file, text)) {}

tile::KernelOp AttentionKernel::kernel() { return *module->getOps<tile::KernelOp>().begin(); }

std::string AttentionKernel::run(uint64_t seed) {
  const Tensors &t = tensorsOf(of);
  EXPECT_TRUE(succeeded(verify(kernel())));
  auto compiled = KernelInterpreter::compile(kernel(), text);
  if (!compiled)
    return llvm::toString(compiled.takeError());
  std::vector<uint16_t> o(t.q.size(), kPoison);
  int64_t head = of.rows * of.width;
  std::vector<float> partial(of.blocks * of.partial, NAN);
  std::vector<int32_t> counters(of.blocks);
  Launch launch;
  launch.blocks = of.blocks;
  launch.args = {mapOf(of, t.q, of.rows, of.queryBox), mapOf(of, t.k, of.keys, of.keyBox),
                 mapOf(of, t.v, of.keys, of.valueBox), static_cast<void *>(o.data())};
  if (of.partial) {
    launch.args.push_back(static_cast<void *>(partial.data()));
    launch.args.push_back(static_cast<void *>(counters.data()));
  }
  for (int64_t stride : {of.heads * head, head, of.width})
    launch.args.push_back(stride);
  if (of.takesBatch)
    launch.args.push_back(int32_t(1));
  for (int64_t size : {of.heads, of.rows, of.keys})
    launch.args.push_back(int32_t(size));
  launch.args.push_back(1 / std::sqrt(float(of.width)));
  auto range = [&]<class T>(const char *name, const std::vector<T> &tensor, bool writable) {
    auto *data = reinterpret_cast<std::byte *>(const_cast<T *>(tensor.data()));
    launch.memory.push_back({name, data, tensor.size() * sizeof(T), writable});
  };
  range("q", t.q, false);
  range("k", t.k, false);
  range("v", t.v, false);
  range("o", o, true);
  if (of.partial) {
    range("partial", partial, true);
    range("counter", counters, true);
  }
  if (llvm::Error fault = compiled->run(launch, seed))
    return llvm::toString(std::move(fault));

  if (llvm::any_of(counters, [](int32_t count) { return count != 0; }))
    return "a counter does not stand at 0 again";
  // Weights lose 2^-9 (bf16) each, of a mean of values below 1, and so does the result.
  for (size_t i = 0; i < o.size(); ++i) {
    double element = loadElement(of.dtype, &o[i]);
    if (o[i] == kPoison || !(std::abs(element - t.expected[i]) <= 0x1p-8))
      return fmt::format("the result is wrong: element {} is {}, not {}", i, element,
                         t.expected[i]);
  }
  return "";
}

std::vector<std::string> AttentionKernel::runAll(uint64_t seeds) {
  std::vector<std::string> faults;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    if (std::string fault = run(seed); !fault.empty())
      faults.push_back(fault);
  return faults;
}

} // namespace attnc::interpreter
