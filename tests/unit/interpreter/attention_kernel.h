// An attention kernel of the tile dialect with its tensors, to be run in the interpreter, whole or
// with a fault planted.
#ifndef ATTNC_TESTS_UNIT_INTERPRETER_ATTENTION_KERNEL_H
#define ATTNC_TESTS_UNIT_INTERPRETER_ATTENTION_KERNEL_H

#include "compiler/interpreter/interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attnc::interpreter {

/// The module in a file of tests/lit/tile, and its text. Fails the test if there is none.
mlir::OwningOpRef<mlir::ModuleOp> parseKernelFile(mlir::MLIRContext &context, llvm::StringRef file,
                                                  std::string &text);

/// `count` numbers in [-1, 1), the same for the same seed.
std::vector<uint16_t> randomElements(DType dtype, int64_t count, uint32_t seed);

/// softmax(scale q k^T) v of one batch, and how a kernel in tests/lit/tile takes it.
struct AttentionCase {
  const char *file;
  DType dtype;
  int64_t heads, rows, keys, width;
  int64_t queryBox, keyBox, valueBox; ///< rows of the tensor maps' boxes
  bool takesBatch;                    ///< the number of batches is an argument
  int64_t blocks;                     ///< that a run launches
  int64_t partial =
      0; ///< f32 elements of state that each block saves; then blocks also draw tickets

  /// The FlashAttention-3 loop with two tiles of rows and six of keys, the last of each partial,
  /// for each of two heads: blocks that stay take several, and rings of three wrap around within a
  /// tile of rows.
  static AttentionCase fa3Loop();
  /// The seesaw with two tiles of rows and three steps of two key tiles, the last partial.
  static AttentionCase seesaw();
  /// The split fold with two tiles of rows for each of two heads; the parts of the keys are not
  /// equal, and the last one is partial.
  static AttentionCase splitFold();
};

/// The kernel, or a change of it.
class AttentionKernel {
public:
  /// Parses the file; fails the test if it cannot.
  explicit AttentionKernel(AttentionCase of);

  tile::KernelOp kernel();
  /// The ops of a kind, in order.
  template <class Op> std::vector<Op> all() {
    std::vector<Op> list;
    kernel().walk([&](Op op) { list.push_back(op); });
    return list;
  }
  /// Op number `index` of a kind; negative numbers count from the last.
  template <class Op> Op op(int index) {
    std::vector<Op> list = all<Op>();
    return list.at(index < 0 ? list.size() + index : index);
  }

  /// Runs it in one order. Empty if all went well, or what the interpreter says, or that the result
  /// is wrong: further from the float64 one than the rounding of weights and result explains.
  std::string run(uint64_t seed);
  /// What all orders below `seeds` say: one text for each that finds a fault.
  std::vector<std::string> runAll(uint64_t seeds = 10);

private:
  AttentionCase of;
  std::unique_ptr<mlir::MLIRContext> context;
  std::string text;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Tests of what goes wrong with one kernel.
class PlantedFault : public testing::Test {
protected:
  PlantedFault(AttentionCase of, uint64_t orders) : kernel(std::move(of)), orders(orders) {}

  /// Every order finds a fault whose text contains `why`.
  void expectAlways(const std::string &why) {
    EXPECT_THAT(kernel.runAll(orders),
                testing::AllOf(testing::SizeIs(orders), testing::Each(testing::HasSubstr(why))));
  }

  AttentionKernel kernel;

private:
  uint64_t orders;
};

} // namespace attnc::interpreter

#endif
