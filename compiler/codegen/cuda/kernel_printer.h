// The state of printing one kernel: lines, indentation, names, and which values are inline.
#ifndef ATTNC_COMPILER_CODEGEN_CUDA_KERNEL_PRINTER_H
#define ATTNC_COMPILER_CODEGEN_CUDA_KERNEL_PRINTER_H

#include "compiler/codegen/cuda/names.h"
#include "compiler/codegen/cuda/scalar_text.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attnc::cuda {

/// Prints blocks of ops. A scalar that is used once, in the block that computes it, is written
/// where it is used; any other one becomes a variable.
class KernelPrinter {
public:
  explicit KernelPrinter(tile::KernelOp kernel) : kernel(kernel) {}

  mlir::FailureOr<std::string> print();

private:
  void line(const llvm::Twine &text);
  /// Starts a block, with names of its own, after `text`; `close` ends it. The `note` is a comment.
  void open(const llvm::Twine &text, llvm::StringRef note = "");
  void close();
  /// Ends a block and starts one that belongs to it: `else`.
  void reopen(const llvm::Twine &text, llvm::StringRef note = "");
  /// A comment with the spec's statement that `loc` comes from, unless it was the last one.
  void comment(mlir::Location loc);

  void printHead();
  void printBlock(mlir::Block &block);
  void printOp(mlir::Operation &op);
  void printScalar(mlir::Operation &op);
  void printFor(mlir::scf::ForOp loop);
  void printWhile(mlir::scf::WhileOp loop);
  void printIf(mlir::scf::IfOp op);
  void printYield(mlir::scf::YieldOp yield);
  void printStore(tile::StoreOp store);
  void printCall(tile::CallOp call);
  /// Assigns values to variables all at once.
  void assignTogether(llvm::ArrayRef<std::pair<std::string, mlir::Value>> list);
  void assign(llvm::StringRef variable, mlir::Value value);

  // tile_printer.cpp: ops on tiles.
  std::string tileText(mlir::Value tile);
  bool printTileOp(mlir::Operation &op);
  void printMap(tile::MapOp map);
  void printTabulate(tile::TabulateOp tabulate);
  bool openTurns(tile::TabulateOp tabulate, const std::string &n);
  void printAny(tile::AnyOp any);
  void printBallot(tile::BallotOp ballot);
  Text bitText(mlir::Operation &op);
  Text laneColumnText(mlir::Operation &op);
  std::string columnsText(mlir::Value cols);
  void printCopy(tile::CopyOp copy);
  void printCopyRows(tile::CopyRowsOp copy);
  std::string openWithoutRuns(tile::CopyRowsOp copy, const std::string &first);
  std::string sharedText(int64_t offset);
  void declareSharedMemory();
  void declareSharedBase();
  void printShared(tile::SharedOp shared);
  void printPipe(tile::PipeOp pipe);
  void printRegisters(tile::RegistersOp registers);
  std::string openElements(llvm::StringRef of, llvm::StringRef index);
  void declarePackedFragments(tile::MapOp map);

  // random_printer.cpp: random numbers that lanes compute together.
  void declareLaneRandoms(tile::MapOp map);
  void printLaneRandom(attn::RandOp random, llvm::StringRef element);

  // thread_printer.cpp: arrays of single threads.
  bool printThreadOp(mlir::Operation &op);
  std::string elementText(mlir::Value array, mlir::ValueRange indices);
  bool mayChange(tile::GetOp get);

  // async_printer.cpp: roles of warps, and ops that copy and multiply on their own.
  bool printAsyncOp(mlir::Operation &op);
  bool printMeetingOp(mlir::Operation &op);
  bool printBulkOp(mlir::Operation &op);
  std::string productText(tile::MmaStartOp mma);
  void printRoles(tile::RoleOp role);
  void printSingle(tile::SingleOp single);
  void printStartPipes(tile::StartPipesOp start);
  void printBarrierSync(tile::BarrierSyncOp meet);
  Text groupText(tile::GroupOp group);
  std::string coordinatesText(mlir::ValueRange coordinates);

  bool isInline(mlir::Value value);
  bool reads(mlir::Value value, llvm::StringRef variable);
  Text expression(mlir::Value value);
  std::string text(mlir::Value value) { return expression(value).text; }
  Text memoryText(tile::LoadOp load);
  std::string declare(mlir::Value value, llvm::StringRef fallback);

  tile::KernelOp kernel;
  Names names;
  llvm::DenseMap<mlir::Value, std::string> variables;
  std::string out;
  unsigned depth = 0;
  std::string lastStatement;
  bool commenting = true;
  bool sharedMemory = false; ///< the block's shared memory has a name already
  bool sharedBase = false;   ///< its address has
  std::string mapElement;    ///< the index of the elements that the map being printed loops over
  llvm::DenseMap<mlir::Operation *, std::string> laneRandoms; ///< of that map, with their states
  std::string warpgroup; ///< the variable with the warpgroup's number, in kernels with roles
  bool failed = false;
};

} // namespace attnc::cuda

#endif
