// What a nest needs from the portable form: operand tiles, products, states.
#ifndef ATTNC_COMPILER_SCHEDULE_STREAM_STREAM_PLAN_H
#define ATTNC_COMPILER_SCHEDULE_STREAM_STREAM_PLAN_H

#include "compiler/schedule/model/scalar_cost.h"
#include "compiler/schedule/nest/signature.h"
#include "compiler/schedule/stream/register_needs.h"

namespace attnc::schedule {

/// A tensor read as a tile: one row for each index of the row or of the stream dim, one column for
/// each of an inner dim. Every other subscript depends on grid dims only.
struct OperandTile {
  attn::ReadOp read;
  unsigned rowAxis; ///< storage axis of the row or stream dim; the last axis is the inner dim
  int64_t cols;     ///< of a tile: the extent of the inner dim, or a part of it
  mlir::Type element;
  /// Rows from this number on are zero and not read: an i64 array over grid dims. Null where the
  /// extent is the only end.
  mlir::Value length = {};
  /// Not empty: `read` is null, and the tile is the product of these, computed into shared memory
  /// element by element along `inner`.
  llvm::SmallVector<mlir::Value> factors = {};
  mlir::StringAttr inner = {};
  mlir::Operation *source = nullptr; ///< what two operands have in common that share a tile
  /// Of a computed tile: the read of which the tile consists if its rows lie in a tensor as they
  /// are wanted, but not one behind the other, as with those that a table names; null for others.
  attn::ReadOp gathered = {};
  /// Of a tile that is computed only because the other side of its product is f32: the read of f16
  /// of which it consists, with rows along `rowAxis` as they lie in the tensor; null for others.
  attn::ReadOp exact = {};
  int64_t extent = 0; ///< of the inner dim where tiles have a part of it (tiled_plan.h); else 0

  bool isComputed() const { return !factors.empty(); }
  /// The read of which the tile consists; null if it is computed element by element.
  attn::ReadOp tensorRead() const { return isComputed() ? gathered : read; }
  int64_t wholeCols() const { return extent ? extent : cols; }
};

/// sum over an inner dim of (row x inner) * (stream x inner): a row x stream array.
struct Contraction {
  red::FoldOp fold;
  OperandTile resident;
  unsigned streamed; ///< index into StreamPlan::streamed
};

/// A tensor with an element for each row and stream index, read by the step's scalar code. The last
/// axis is the stream dim, `rowAxis` that of the rows; where it is turned, the last axis is the row
/// dim and `rowAxis` that of the stream. Every other subscript depends on grid dims only.
struct InputTile {
  attn::ReadOp read;
  unsigned rowAxis;
  mlir::Type element;
};

/// A sum behind the stream over the `width` rows of a tensor from `begin` behind the row at hand
/// on, 0 where there is none, each times a weight of its number. It is the product of a matrix with
/// a band of weights and the rows around those of a tile.
struct BandProduct {
  red::FoldOp fold;        ///< the sum
  attn::ReadOp weight;     ///< of 16 bits: of grid dims and `within`
  attn::ReadOp read;       ///< of the same type; its last axis is an inner dim
  unsigned rowAxis;        ///< of the tensor that is read
  int64_t cols;            ///< the extent of the inner dim
  mlir::StringAttr within; ///< the dim that the sum is over
  int64_t begin, width;
  bool isReversed; ///< the first row has the last weight
};

/// A number for each row and stream index that depends on both through their difference alone: a
/// step has as many of them as rows and columns together, not one for each score.
struct Difference {
  mlir::Value array; ///< f32, of row x stream
  ScalarCost cost;   ///< of a value
};

/// What is added to a contraction: `slope`, which does not vary along the stream, times the integer
/// `number`, which grows by `step` (1 or -1) with each index of it.
struct Addend {
  red::FoldOp fold; ///< of the contraction, which only `sum` needs
  mlir::Value sum, slope, number;
  int64_t step;
  int reference; ///< index into StreamPlan::references: whose scores alone are made of it
};

/// What scores grow by with each index of the stream: `slope`, of grid dims, times `step`.
struct Growth {
  mlir::Value slope;
  int64_t step;
};

/// A result with a row for each index of the row dim and a column for each of an inner dim, or a
/// part of these, stored with 16 bits. Every other axis is a grid dim.
struct ResultTile {
  mlir::Value result;
  unsigned rowAxis;
  int64_t cols;
  mlir::Type element;
};

/// A grid dim of which consecutive indices see the same stream, `divisor` of them from each
/// multiple of it on: query heads that share a key head. The streamed operands are read at `index
/// // divisor`, or at no index of the dim.
struct Packing {
  /// A number from 1 to the largest extent, or a 0-d i64 array in the nest.
  struct Divisor {
    mlir::Value array;
    int64_t number = 0;

    bool operator==(const Divisor &) const = default;
  };
  mlir::StringAttr dim;
  std::optional<Divisor> divisor = {}; ///< without one all indices see the same
};

/// A max fold that serves as reference of exponents.
struct Reference {
  red::FoldOp fold;
};

/// What the elements of an add fold over the stream are, apart from a streamed operand: a product
/// of factors, times exp(exponent - reference) if there is a reference.
struct Weight {
  int reference = -1;                     ///< index into StreamPlan::references
  llvm::SmallVector<mlir::Value> factors; ///< none depends on inner dims
  bool inHalves = false; ///< PlannedNest::ofHalves: the products take it as two of f16
};

/// A state that is not a reference.
struct StreamState {
  red::FoldOp fold;
  int weight = -1;   ///< add folds: index into StreamPlan::weights
  int streamed = -1; ///< add folds into row x inner: index into StreamPlan::streamed
};

/// A result with the stream dim and an inner one: a sum over the rows of all blocks, of the product
/// of a weight and a tensor with a row for each index of the row dim. Each block adds what its rows
/// give to memory that is 0 before, tile by tile of the stream, in any order.
struct RowSum {
  red::FoldOp fold;
  int weight; ///< index into StreamPlan::weights, of a state, too
  OperandTile resident;
  mlir::OpResult result; ///< f32, the inner dim last
};

/// The parts of a nest that the portable form computes with tiles. All else is scalar code per
/// element.
struct StreamPlan {
  mlir::StringAttr row, stream;
  llvm::SmallVector<OperandTile> streamed;
  llvm::SmallVector<Contraction> contractions;
  /// Folds over inner dims into row x stream that are no products: computed by scalar code, one
  /// inner index after the other for a whole tile.
  llvm::SmallVector<red::FoldOp> direct;
  /// Folds over an inner dim of what the states make: all of the dim is in a tile.
  llvm::SmallVector<red::FoldOp> epilogue;
  llvm::SmallVector<InputTile> inputs, turned;
  /// Of needs.columns those that can arrive as tiles: every subscript but the last depends on grid
  /// dims only.
  llvm::SmallVector<attn::ReadOp> vectors;
  /// Tensors with a row for each index of the row dim and a column for each of the last axis, an
  /// inner dim, which only scalar code behind the stream reads.
  llvm::SmallVector<InputTile> finishInputs;
  llvm::SmallVector<BandProduct> bands;      ///< bandsIn: those that are products
  llvm::SmallVector<Difference> differences; ///< where tabulatesDifferences: each is worth a table
  std::optional<Growth> growth;              ///< its sign says from which end the stream is walked
  llvm::SmallVector<Addend> addends; ///< of contractions of 16 bits: joinsAddends takes them in
  llvm::SmallVector<Reference> references;
  llvm::SmallVector<Weight> weights;
  llvm::SmallVector<StreamState> states;
  llvm::SmallVector<ResultTile> results;
  /// Results with an element for each row and stream index, the stream dim last: stored tile by
  /// tile. A nest with such has no states.
  llvm::SmallVector<mlir::OpResult> pairs;
  llvm::SmallVector<RowSum> rowSums; ///< in the form "warpgroups" alone, behind staged weights
  std::optional<Packing> packing;
  RegisterNeeds needs;
  int64_t depthBlocks = 1; ///< blocks that each have a part of the depth of scores (tiled_plan.h)

  /// The nest, of a plan that has folds for each row.
  red::NestOp nest() const;

  /// True if each tile arrives as it lies in memory and every fold of the step is a product.
  bool isOfTensorsOnly() const;
  /// The same, but rows of a tile may lie anywhere in a tensor: all that asynchronous copies and
  /// products take.
  bool isOfRowsOnly() const;
  /// True if a result of the nest is added up across blocks.
  bool isRowSum(mlir::Value result) const;
  /// True if something in it is a matrix product.
  bool hasProducts() const { return !contractions.empty() || !streamed.empty(); }
};

/// Reads a plan off the nest's roles and body. Fails with the reason in `why`: what the form cannot
/// express, by the name in the spec. Such a nest has the generic form.
mlir::FailureOr<StreamPlan> planStream(red::NestOp nest, std::string &why);

/// True if the portable form can express the nest; `why` says what it lacks if not.
bool canLowerPortable(red::NestOp nest, std::string &why);

} // namespace attnc::schedule

#endif
