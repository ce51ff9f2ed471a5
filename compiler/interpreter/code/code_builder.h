// From a tile.kernel to a flat list of instructions.
#ifndef ATTNC_COMPILER_INTERPRETER_CODE_CODE_BUILDER_H
#define ATTNC_COMPILER_INTERPRETER_CODE_CODE_BUILDER_H

#include "compiler/interpreter/code/kernel_code.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attnc::interpreter {

class CodeBuilder {
public:
  explicit CodeBuilder(tile::KernelOp kernel);

  /// The code, or why there is none.
  llvm::Expected<std::shared_ptr<const KernelCode>> build(llvm::StringRef text);

  //===--- for the ops on tiles --------------------------------------------------------------===//

  /// The word that holds a scalar, the address of a shared tile, ring or barriers, or the number of
  /// a pipe.
  unsigned word(mlir::Value value);
  /// The first of the words, or for a shared one of the block's cells, of an array.
  unsigned array(mlir::TypedValue<tile::ArrayType> value);
  /// The number of registers for a tile.
  unsigned place(mlir::Value value);
  /// The registers of an operand, or of columns of one: `first` is where these start.
  unsigned operand(mlir::Value value, unsigned &first);
  /// Appends a step. One that is visible is a point at which the warp can be interrupted.
  void step(mlir::Operation *op, bool visible, Step step);
  /// The code of a region without results, as a piece of its own that ends after its last op: where
  /// it starts.
  unsigned piece(mlir::Block &block);
  /// Makes `op` an error.
  void refuse(mlir::Operation *op, const std::string &why);

  tile::RoleOp role() const { return currentRole; }
  /// True where one thread runs, of the role or of each warp.
  bool isSingle() const { return single; }
  KernelCode &code() { return *result; }

private:
  unsigned newWord();
  Instruction &emit(Instruction::Kind kind, mlir::Operation *op);
  void block(mlir::Block &block);
  void op(mlir::Operation &op);
  void loop(mlir::scf::ForOp op);
  void loop(mlir::scf::WhileOp op);
  void branch(mlir::scf::IfOp op);
  void constant(mlir::Operation &op, mlir::TypedAttr value);
  void move(mlir::Operation *op, unsigned from, unsigned to);
  void assign(mlir::Operation *yield, mlir::ValueRange from, llvm::ArrayRef<unsigned> to);
  void memory(mlir::Operation &op);
  void peek(tile::PeekOp op);
  void group(tile::GroupOp op);
  /// Runs the block where first <= warp < first + count.
  void onWarps(mlir::Operation *op, int64_t first, int64_t count, mlir::Block &body);

  tile::KernelOp kernel;
  std::shared_ptr<KernelCode> result = std::make_shared<KernelCode>();
  llvm::DenseMap<mlir::Value, unsigned> words, places, arrays;
  std::string problem;
  tile::RoleOp currentRole;
  bool single = false;
};

/// Each adds the step of an op of its subject; false if it knows no such op.
bool addRegisterStep(CodeBuilder &builder, mlir::Operation &op);
bool addSharedStep(CodeBuilder &builder, mlir::Operation &op);
bool addAsyncStep(CodeBuilder &builder, mlir::Operation &op);
bool addProductStep(CodeBuilder &builder, mlir::Operation &op);
bool addBarrierStep(CodeBuilder &builder, mlir::Operation &op);
bool addVectorStep(CodeBuilder &builder, mlir::Operation &op);
bool addBallotStep(CodeBuilder &builder, mlir::Operation &op);
bool addThreadStep(CodeBuilder &builder, mlir::Operation &op);

} // namespace attnc::interpreter

#endif
