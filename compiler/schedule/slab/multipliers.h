// Nests that multiply weights with tiles of 16-bit tensors, and what several of them have in
// common.
#ifndef ATTNC_COMPILER_SCHEDULE_SLAB_MULTIPLIERS_H
#define ATTNC_COMPILER_SCHEDULE_SLAB_MULTIPLIERS_H

#include "compiler/schedule/stream/weight_stages.h"
#include "mlir/IR/IRMapping.h"

namespace attnc::schedule {

/// What a nest multiplies, if that is weights and tiles of 16-bit tensors alone.
struct Multiplier {
  red::NestOp nest;
  StreamPlan plan;
  std::vector<WeightStage> stages;
};

std::optional<Multiplier> multiplierOf(red::NestOp nest);
/// All of the program, in its order.
std::vector<Multiplier> multipliersOf(attn::ProgramOp program);

/// The type of what a weight of the plan is multiplied with.
mlir::Type elementOf(const StreamPlan &plan, size_t weight);

/// True if both have one grid, and the rows of one are the rows or the stream of the other.
bool havePairsAlike(const Multiplier &a, const Multiplier &b);

/// Whether values of two nests are the same, whatever the roles of dims. Remembers those that are.
class SameValues {
public:
  bool operator()(mlir::Value a, mlir::Value b);
  /// In any order.
  bool operator()(llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b);
  /// `all` but for `some`, if all of these are among them.
  std::optional<llvm::SmallVector<mlir::Value>> without(llvm::ArrayRef<mlir::Value> all,
                                                        llvm::ArrayRef<mlir::Value> some);

private:
  llvm::DenseSet<std::pair<mlir::Value, mlir::Value>> known;
};

/// The arrays of which the value is the product; itself if it is none.
llvm::SmallVector<mlir::Value> factorsOf(mlir::Value value);
/// True if the one map that takes the sum multiplies it with `factors`, among others, and takes no
/// other sum: it could do without them.
bool takesFactors(red::FoldOp sum, llvm::ArrayRef<mlir::Value> factors, SameValues &same);
/// Clones that map, with 1 in the place of these factors.
void cloneWithout(mlir::OpBuilder &b, red::FoldOp sum, llvm::ArrayRef<mlir::Value> factors,
                  SameValues &same, mlir::IRMapping &mapping);

/// The ops of the body that `wanted` are computed by, in their order.
llvm::SmallVector<mlir::Operation *> sliceOf(red::NestOp nest, llvm::ArrayRef<mlir::Value> wanted);
/// Erases what nothing reads from the body, and inner dims that nothing has.
void eraseUnused(red::NestOp nest);

/// The results of the nest that are sums over its rows.
llvm::SmallVector<mlir::Value> rowSumsOf(red::NestOp nest);
/// True if no form but that of warpgroups knows what the nest does: part of it lies in a slab, or
/// it has sums over its rows.
bool isOfWarpgroupsOnly(red::NestOp nest);

/// Reads all of an intermediate, as a value of the body that the builder is in.
mlir::Value readWhole(mlir::OpBuilder &b, mlir::Value memory, mlir::Value as);

} // namespace attnc::schedule

#endif
