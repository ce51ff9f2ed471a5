// An attention kernel of the tile dialect with its tensors, to be run in the interpreter, whole or
// with a fault planted.
#ifndef ATTNC_TESTS_UNIT_INTERPRETER_ATTENTION_KERNEL_H
#define ATTNC_TESTS_UNIT_INTERPRETER_ATTENTION_KERNEL_H

#include "compiler/evaluator/interpreter/interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace attnc::interpreter {

/// softmax(scale q k^T) v in bf16, random inputs, one batch.
struct AttentionTensors {
  int64_t heads, rows, keys, width;
  float scale;
  std::vector<uint16_t> q, k, v;
  std::vector<double> expected;

  AttentionTensors(int64_t heads, int64_t rows, int64_t keys, int64_t width);
  /// The largest difference of `o` from `expected`; infinity if an element was not written.
  double error(const std::vector<uint16_t> &o) const;
};

/// A kernel in a file of tests/lit/tile with the arguments of fa3-loop.mlir, or a change of it.
class AttentionKernel {
public:
  /// Parses the file; fails the test if it cannot.
  explicit AttentionKernel(llvm::StringRef file);

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

  /// Runs it with one order. Empty if all went well, or what the interpreter says.
  std::string run(uint64_t seed, int64_t blocks = 2);
  /// What all orders below `seeds` say: one text for each that finds a fault.
  std::vector<std::string> runAll(uint64_t seeds = 10);

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::string text;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace attnc::interpreter

#endif
