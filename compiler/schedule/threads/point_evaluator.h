// Evaluates a nest's arrays at single points, as scalar code.
#ifndef ATTNC_COMPILER_SCHEDULE_THREADS_POINT_EVALUATOR_H
#define ATTNC_COMPILER_SCHEDULE_THREADS_POINT_EVALUATOR_H

#include "compiler/schedule/nest/kernel_memory.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <functional>
#include <vector>

namespace attnc::schedule {

/// Writes scalar code for elements of the arrays of a nest's body at the indices that are bound.
/// Folds become loops; all states over the same dims run in one loop, sums of exponents rescaled
/// when their running maximum moves. Whatever does not depend on a loop's indices is computed
/// before the loop. A value is computed once where it is still in scope.
class PointEvaluator {
public:
  PointEvaluator(red::NestOp nest, const KernelMemory &memory, mlir::OpBuilder &builder);

  /// The index that the dim has from here on in the current scope.
  void bind(mlir::StringAttr dim, mlir::Value index);
  /// From here on the dim has none.
  void unbind(mlir::StringAttr dim) { indices.erase(dim); }
  mlir::Value index(mlir::StringAttr dim) const { return indices.lookup(dim); }

  /// The element of `array` in the current scope, known from elsewhere.
  void define(mlir::Value array, mlir::Value element) { scopes.back().elements[array] = element; }

  /// How elements of `array` are found at the indices that are bound, instead of by its definition.
  void provide(mlir::Value array, std::function<mlir::Value(PointEvaluator &)> element) {
    provided[array] = std::move(element);
  }

  /// From here on maps take the sides of their selects that hold in a full tile (red.full).
  void assumeFull() { full = true; }

  /// From here on loops over parts of a stream read several of them before they fold.
  void readPartsBeside() { partsBeside = true; }

  /// From here on reads at indices that depend on `dim` read nothing, 0, unless `condition` (i1).
  void readOnlyIf(mlir::StringAttr dim, mlir::Value condition) { readable[dim] = condition; }

  /// Computes now the parts of `array` that do not depend on the `varying` dims, to be found by
  /// later evaluations in this scope or in copies of this evaluator. With `knowsStates` false also
  /// without what depends on a state, which the kernel finds by itself.
  void hoist(mlir::Value array, llvm::ArrayRef<mlir::StringAttr> varying, bool knowsStates = true);

  /// Evaluators for several indices of `dim`, each with what is known here. The states with that
  /// dim fold in one loop for all of them, where no centre moves along.
  std::vector<PointEvaluator> neighbours(mlir::StringAttr dim, mlir::ValueRange points);

  /// Computes now those extremes of the nest's domain, if it has one, that are elements at the
  /// bound indices of grid dims.
  void hoistExtremes();

  /// What the nest's domain says, given its block arguments: `wanted` are operands of its bounds.
  llvm::SmallVector<mlir::Value> domain(mlir::ValueRange args, mlir::ValueRange wanted);
  /// The bounds of the nest, which must have a domain.
  red::BoundsOp bounds() {
    return mlir::cast<red::BoundsOp>(nest.getDomainBlock()->getTerminator());
  }

  /// The element of `array` at the bound indices of its dims, in its compute type.
  mlir::Value evaluate(mlir::Value array);

  /// Indices of a dim that follow each other, whether there are such or not.
  struct Run {
    mlir::StringAttr dim; ///< null: there is none
    llvm::SmallVector<mlir::Value> places;

    Run allButLast() const { return {dim, llvm::to_vector(llvm::ArrayRef(places).drop_back())}; }
    Run last() const { return {dim, {places.back()}}; }
  };

  /// Computes at all `points`, which differ in the indices that are bound, the folds over dims that
  /// are not bound which `array` is made of, but no states: each in one loop for those where it
  /// differs, so what some of them read is read once. If the points are those of a run, one beyond
  /// the extent taken for the last, elements of a window that slides along with them are handed
  /// from one to the next (sliding_values.h).
  static void foldTogether(llvm::MutableArrayRef<PointEvaluator> points, mlir::Value array,
                           const Run &run = {});

  /// Where the element of a read lies at the bound indices, and whether it does (null: always).
  struct Place {
    mlir::Value offset;
    llvm::SmallVector<mlir::Value> subscripts; ///< of the tensor's axes
    mlir::Value inside;
  };
  Place locate(attn::ReadOp read);

  /// The index along an axis of a result's tensor at which the element at the bound indices is
  /// stored; that of `dim`, unless rows are packed there.
  mlir::Value storeIndex(mlir::Value result, mlir::StringAttr dim);
  /// i1: the row at the bound indices is one that the sequence has.
  mlir::Value isStored(red::PackOp pack);

  /// The fold `running` with the element at the bound indices; `by` is how far that is from what
  /// the fold is relative to, one distance for each of its frames.
  mlir::Value takeIn(red::FoldOp fold, mlir::Value running, mlir::ValueRange by,
                     mlir::Location loc);

private:
  using State = red::FoldOp;

  mlir::Value compute(mlir::Value array);
  mlir::Value computeRead(attn::ReadOp read);
  mlir::Value computeMap(attn::MapOp map);
  mlir::Value computeCaptured(mlir::Value array);
  std::pair<llvm::SmallVector<mlir::Value>, mlir::Value> subscriptsOf(attn::ReadOp read);
  mlir::Value load(mlir::Location loc, mlir::Value source, llvm::ArrayRef<mlir::Value> subscripts,
                   mlir::Type type, mlir::Value inside, double otherwise);
  mlir::Value readableAt(attn::ArrayType type) const;
  llvm::SmallVector<mlir::Value> computeExtremes(llvm::ArrayRef<red::ExtremeOp> alike,
                                                 mlir::IRMapping &mapping);
  void computeFolds(State wanted);
  static void computeFoldsAt(llvm::ArrayRef<PointEvaluator *> points, State wanted, const Run &run);
  void alongRun(const Run &run, llvm::function_ref<void(PointEvaluator &)> use);
  llvm::SmallVector<mlir::Value> beginWindow(mlir::Value array, mlir::StringAttr window,
                                             const Run &run);
  llvm::SmallVector<State> foldsOf(mlir::Value array);
  llvm::SmallVector<mlir::Value> prepare(llvm::ArrayRef<State> states);

  llvm::SmallVector<State> foldsTogether(State wanted);
  /// The domain's arguments at the bound point, the tile of one element; empty if it is not bound.
  llvm::SmallVector<mlir::Value> domainArguments(bool withStream);
  std::pair<mlir::Value, mlir::Value> loopBounds(mlir::StringAttr dim, mlir::Location loc);
  /// The values that loops carry after one more element, given those before it.
  using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> stepIfLive(State first, mlir::ValueRange running, Step step);
  llvm::SmallVector<mlir::Value> loops(llvm::ArrayRef<mlir::StringAttr> dims,
                                       llvm::ArrayRef<State> states, mlir::ValueRange init,
                                       Step step);
  bool areBeside(llvm::ArrayRef<mlir::StringAttr> dims) const;
  mlir::scf::ForOp
  loop(mlir::Location loc, mlir::StringAttr index, mlir::Value lo, mlir::Value hi, int64_t by,
       mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> step);
  llvm::SmallVector<mlir::Value> at(mlir::StringAttr dim, mlir::Value index,
                                    llvm::function_ref<llvm::SmallVector<mlir::Value>()> use);
  llvm::SmallVector<mlir::Value> step(llvm::MutableArrayRef<State> states,
                                      mlir::ValueRange running);
  // Moments: their centres follow the states among the values that loops carry.
  using Elements = llvm::DenseMap<mlir::Value, mlir::Value>;
  static llvm::SetVector<mlir::Value> centresOf(llvm::ArrayRef<State> states);
  mlir::Value fromStates(mlir::Value array, Elements &elements);
  void settle(llvm::MutableArrayRef<State> states, llvm::MutableArrayRef<mlir::Value> results);
  bool isBound(attn::ArrayType type) const;
  mlir::Value *remembered(mlir::Value array);

  red::NestOp nest;
  const KernelMemory &memory;
  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> indices;
  llvm::SmallDenseMap<mlir::StringAttr, mlir::Value> readable;
  llvm::SmallDenseMap<mlir::Operation *, mlir::Value> extremes; ///< that are known
  llvm::DenseMap<mlir::Value, std::function<mlir::Value(PointEvaluator &)>> provided;
  /// The elements that are known in a scope. Within it, `rebound` has another index than around it,
  /// so elements from further out that depend on that dim are others.
  struct Scope {
    llvm::DenseMap<mlir::Value, mlir::Value> elements;
    mlir::StringAttr rebound;
  };
  /// Those that are open; the innermost last.
  llvm::SmallVector<Scope> scopes;
  bool full = false;
  bool partsBeside = false;
};

/// Where a centre of moments begins.
mlir::Value startOf(mlir::OpBuilder &builder, mlir::Value centre);

/// Where the centre of `moment` goes from `old` when the states make it `next`, and how far that
/// is.
mlir::Value movedCentre(mlir::OpBuilder &builder, red::FoldOp moment, mlir::Value old,
                        mlir::Value next);
mlir::Value shiftOf(mlir::OpBuilder &builder, red::FoldOp moment, mlir::Value old, mlir::Value now);

/// The moment `value` when its centre moves by `shift`; `lower` are those below it, by degree,
/// before they move.
mlir::Value shiftedMoment(mlir::OpBuilder &builder, red::FoldOp moment, mlir::Value value,
                          mlir::Value shift, mlir::ValueRange lower);

/// Clones the scalar region of a map; `operands` are its scalars. With `full`, a select that
/// carries red.full is the side that the attribute names.
mlir::Value cloneScalars(mlir::OpBuilder &builder, attn::MapOp map, mlir::ValueRange operands,
                         bool full = false);

} // namespace attnc::schedule

#endif
