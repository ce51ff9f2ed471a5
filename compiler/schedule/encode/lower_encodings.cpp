#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/encode/power_of_two.h"
#include "compiler/schedule/encode/thread_code.h"
#include "compiler/schedule/encode/walk_blocks.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "compiler/schedule/nest/symbol_name.h"
#include "compiler/schedule/packed/zero_rows.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/slab/clear_sums.h"
#include "compiler/schedule/slab/multipliers.h"
#include "compiler/schedule/threads/point_evaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

// Of a block: where each reads a large part of a tensor once, as many as fit.
constexpr int64_t kTopsThreads = 1024, kEncodeThreads = 256;
// Rows of a tile whose rows have scales of their own, and of all tiles of a block, at most: what
// each column is times is found once for all of them.
constexpr int64_t kLoneRows = 64, kBlockRows = 256;
// Rows of a warp that are on their way at a time, and elements that a lane keeps from the look for
// the largest to the encoding; more are read again, from the cache.
constexpr int64_t kRowsTogether = 4, kKept = 32;
// The largest magnitude goes to 2^14 or above, below 2^15.
constexpr int64_t kTopExponent = 14;
// A row whose largest element is below 2^-10 of the largest that shares its scale is said to be
// lost: the others keep 2^-29 of their own largest (docs/notes/error-analysis.md). The bits of
// that, 2^4. Rows of a warp whose columns are looked at in the same way: of so many none is that
// small by chance.
constexpr int64_t kLeastKept = (127 + kTopExponent - 10) << 23;
constexpr int64_t kRowsOfColumn = 4;

/// The code of a kernel that finds the largest magnitudes of columns.
class TopsCode : ThreadCode {
public:
  TopsCode(red::NestOp nest, const KernelMemory &memory, OpBuilder &b)
      : ThreadCode(nest, memory, b, kTopsThreads), ops(topsOf(nest)) {}

  void build() {
    int64_t widest = 0;
    for (red::TopsOp op : ops)
      widest = std::max(widest, columnsOf(op.getTensor()));
    ofWarps = array({warps(), partsOf(widest) * kLanes}, "of_warps", /*shared=*/true);
    if (red::LostOp lost = lostOf(nest))
      clear(lost.getLost());
    shareBlocks(
        ops.size(),
        [&](size_t i) { return cellsOf(ops[i].getTensor(), ops[i].getAxis(), parts(ops[i])); },
        [&](size_t i, Value work) { findTops(ops[i], work); });
  }

private:
  // Nothing is lost as yet.
  void clear(Value number) {
    Value block = tile::BlockOp::create(b, named("block"));
    Value others = arith::OrIOp::create(b, loc, block, arith::OrIOp::create(b, loc, warp, lane));
    when(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, others, constant(0)),
         [&] { tile::StoreOp::create(b, loc, wide(0), memory.pointer(number), wide(0)); });
  }

  Value parts(red::TopsOp op) {
    SmallVector<StringAttr> dims = tensorOf(op.getTops()).dims;
    return memory.extent(b, loc, dims[dims.size() - 2]);
  }

  void findTops(red::TopsOp op, Value work) {
    Value tensor = op.getTensor(), count = parts(op);
    unsigned axis = op.getAxis();
    int64_t cols = columnsOf(tensor);
    SmallVector<Value> cell = indicesOf(tensor, axis, count, work);
    Value part = cell[axis];
    Value extent = memory.extent(b, loc, tensorOf(tensor).dims[axis]);
    Value rows = ceilDiv(extent, count);
    Value first = mul(part, rows, "first");
    Value left = arith::MinSIOp::create(
        b, loc, rows,
        arith::MaxSIOp::create(b, loc, arith::SubIOp::create(b, loc, extent, first), wide(0)));
    left = arith::TruncIOp::create(b, named("left"), b.getI32Type(), left);
    Value own = array({partsOf(cols)}, "own", /*shared=*/false);
    eachColumn(cols, {}, [&](Value part, Value, Value) {
      tile::SetOp::create(b, loc, real(0), own, part);
      return Value();
    });
    loop("row", warp, left, warps(), {}, kRowsTogether, [&](Value row, Value) {
      cell[axis] = add(first, widen(row, ""));
      Value base = memory.offset(b, loc, tensor, withColumn(cell));
      eachColumn(cols, {}, [&](Value part, Value column, Value) {
        Value x = tile::LoadOp::create(b, named("x"), b.getF32Type(), memory.pointer(tensor),
                                       add(base, widen(column, "")));
        tile::SetOp::create(b, loc, largerFinite(x, get(own, part)), own, part);
        return Value();
      });
      return Value();
    });
    cell[axis] = part;
    storeTops(op, own, cols, cell);
  }

  static SmallVector<Value> withColumn(ArrayRef<Value> cell) {
    SmallVector<Value> at(cell);
    at.push_back({});
    return at;
  }

  // The largest of all warps.
  void storeTops(red::TopsOp op, Value own, int64_t cols, SmallVector<Value> cell) {
    eachColumn(cols, {}, [&](Value part, Value column, Value) {
      tile::SetOp::create(b, loc, get(own, part), ofWarps, ValueRange{warp, column});
      return Value();
    });
    tile::BarrierOp::create(b, loc);
    // The parts lie before the columns, where the tensor has the rows' place further out.
    Value part = cell[op.getAxis()];
    cell.erase(cell.begin() + op.getAxis());
    cell.push_back(part);
    Value base = memory.offset(b, loc, op.getTops(), withColumn(cell));
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp, constant(0));
    when(isFirst, [&] {
      eachColumn(cols, {}, [&](Value, Value column, Value) {
        auto larger = [&](Value other, Value carried) -> Value {
          return arith::MaximumFOp::create(b, named("top"), carried,
                                           get(ofWarps, ValueRange{other, column}));
        };
        Value top =
            loop("other", constant(0), constant(warps()), 1, real(0), kRowsTogether, larger);
        tile::StoreOp::create(b, loc, top, memory.pointer(op.getTops()),
                              add(base, widen(column, "")));
        return Value();
      });
    });
  }

  SmallVector<red::TopsOp> ops;
  Value ofWarps; ///< array
};

int64_t tileRows(red::EncodeOp op) { return op.getRows() ? op.getRows() : kLoneRows; }

int64_t tilesOfBlock(red::EncodeOp op) { return std::max<int64_t>(kBlockRows / tileRows(op), 1); }

/// The code of a kernel that encodes: a block has some tiles of rows, one after the other.
class EncodeCode : ThreadCode {
public:
  EncodeCode(red::NestOp nest, const KernelMemory &memory, OpBuilder &b)
      : ThreadCode(nest, memory, b, kEncodeThreads), ops(encodingsOf(nest)) {}

  void build() {
    shareBlocks(
        ops.size(),
        [&](size_t i) { return cellsOf(ops[i].getTensor(), ops[i].getAxis(), blocks(ops[i])); },
        [&](size_t i, Value work) { encode(ops[i], work); });
  }

private:
  Value rowExtent(red::EncodeOp op) {
    return memory.extent(b, loc, tensorOf(op.getTensor()).dims[op.getAxis()]);
  }
  Value blocks(red::EncodeOp op) {
    return ceilDiv(rowExtent(op), wide(tileRows(op) * tilesOfBlock(op)));
  }

  /// The rows of a tile, and where they lie.
  struct Tile {
    red::EncodeOp op;
    SmallVector<Value> cell; ///< of each axis but the last; along the rows the first one
    Value block;             ///< i64: the number of its block along the rows
    Value left;              ///< i32: its rows up to the extent
    int64_t cols;
    Value columns; ///< array: what each of the lane's columns is times; null for 1
    Value tops;    ///< array: the largest of the warp's rows, of each of the lane's columns
    Value kept;    ///< array: elements by the warp's rows and the lane's columns; null for none
  };

  void encode(red::EncodeOp op, Value work) {
    Tile tile = locate(op, work);
    if (op.getTops())
      findColumns(tile);
    if (op.getRows())
      ofWarps = array({tilesOfBlock(op), warps()}, "of_warps", /*shared=*/true);
    Value first = mul(tile.block, wide(tileRows(op) * tilesOfBlock(op)), "first");
    Value lost = loop("tile", constant(0), constant(tilesOfBlock(op)), 1, no(), /*unroll=*/1,
                      [&](Value number, Value lost) {
                        Value begin = mul(number, constant(tileRows(op)));
                        Value at = add(first, widen(begin, ""), "at");
                        return when(less(at, rowExtent(op)), lost,
                                    [&] { return encodeTile(tile, number, at, lost); });
                      });
    if (red::LostOp flag = lostOf(nest))
      raise(flag.getLost(), lost);
  }

  // Whether a row of the tile or of one before it is lost.
  Value encodeTile(Tile tile, Value number, Value first, Value lost) {
    placeTile(tile, first);
    if (tile.kept)
      eachRow(tile, {}, [&](Value slot, Value row, Value) { return keep(tile, slot, row); });
    std::pair<Value, Value> scale;
    if (tile.op.getRows()) {
      Value largest = eachRow(tile, real(0), [&](Value slot, Value row, Value largest) {
        return largestOf(tile, slot, row, largest);
      });
      scale = powerOfTwo(b, loc, largestOfBlock(largest, number), kTopExponent);
    }
    lost = eachRow(tile, lost, [&](Value slot, Value row, Value lost) {
      if (!tile.op.getRows())
        scale = powerOfTwo(b, loc, fold(largestOf(tile, slot, row, real(0))), kTopExponent);
      return either(lost, store(tile, slot, row, scale));
    });
    return tile.op.getRows() ? either(lost, losesColumns(tile)) : lost;
  }

  Value no() { return arith::ConstantOp::create(b, loc, b.getBoolAttr(false)); }

  Value either(Value x, Value y) { return arith::OrIOp::create(b, named("lost"), x, y); }

  // i32: the bits of the magnitude, which are in the order of magnitudes.
  Value magnitudeBits(Value x) {
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), x);
    return arith::AndIOp::create(b, named("magnitude"), bits, constant(0x7fffffff));
  }

  // True if something of which the largest, times the scale, has these bits is not kept as it
  // should be.
  Value isLost(Value bits) {
    auto isBelow = [&](int64_t bound) { return less(bits, constant(bound)); };
    Value isSmall = arith::AndIOp::create(b, loc, less(constant(0), bits), isBelow(kLeastKept));
    Value isNumber = isBelow(0x7f800000);
    Value isOther = arith::XOrIOp::create(b, loc, isNumber,
                                          arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    return arith::OrIOp::create(b, named("lost"), isSmall, isOther);
  }

  // Whether a column of the warp's rows is lost, if they are more than a few.
  Value losesColumns(const Tile &tile) {
    Value lost = eachColumn(tile.cols, no(), [&](Value part, Value, Value lost) {
      return either(lost, isLost(magnitudeBits(get(tile.tops, part))));
    });
    Value several = less(constant(kRowsOfColumn * warps() - 1), tile.left);
    return arith::AndIOp::create(b, named("lost"), several, lost);
  }

  Tile locate(red::EncodeOp op, Value work) {
    Tile tile{op, {}, {}, {}, columnsOf(op.getTensor()), {}, {}, {}};
    tile.cell = indicesOf(op.getTensor(), op.getAxis(), blocks(op), work);
    tile.block = tile.cell[op.getAxis()];
    if (op.getTops())
      tile.columns = array({partsOf(tile.cols)}, "columns", /*shared=*/false);
    return tile;
  }

  int64_t slotsOf(red::EncodeOp op) { return llvm::divideCeil(tileRows(op), warps()); }
  bool keeps(const Tile &tile) { return slotsOf(tile.op) * partsOf(tile.cols) <= kKept; }

  void placeTile(Tile &tile, Value first) {
    red::EncodeOp op = tile.op;
    tile.cell[op.getAxis()] = first;
    Value left = arith::SubIOp::create(b, loc, rowExtent(op), first);
    left = arith::MinSIOp::create(b, loc, left, wide(tileRows(op)));
    tile.left = arith::TruncIOp::create(b, named("left"), b.getI32Type(), left);
    tile.tops = array({partsOf(tile.cols)}, "tops", /*shared=*/false);
    eachColumn(tile.cols, {}, [&](Value part, Value, Value) {
      tile::SetOp::create(b, loc, real(0), tile.tops, part);
      return Value();
    });
    if (keeps(tile))
      tile.kept = array({slotsOf(op), partsOf(tile.cols)}, "kept", /*shared=*/false);
  }

  // What each column is times before its tile's scale is known. The first block of a cell keeps the
  // powers of two of its columns.
  void findColumns(const Tile &tile) {
    red::EncodeOp op = tile.op;
    SmallVector<StringAttr> dims = tensorOf(op.getTops()).dims;
    Value parts = memory.extent(b, loc, dims[dims.size() - 2]);
    SmallVector<Value> cell = op.getColumns() ? cellOfOwnTops(tile) : cellOfStreamed(tile);
    eachColumn(tile.cols, {}, [&](Value part, Value column, Value) {
      Value count = arith::TruncIOp::create(b, loc, b.getI32Type(), parts);
      Value largest = real(std::numeric_limits<float>::infinity());
      Value top = loop("top_part", constant(0), count, 1, largest, /*unroll=*/0,
                       [&](Value number, Value carried) -> Value {
                         SmallVector<Value> at = cell;
                         at.append({widen(number, ""), widen(column, "")});
                         Value offset = memory.offset(b, loc, op.getTops(), at);
                         Value x = tile::LoadOp::create(b, loc, b.getF32Type(),
                                                        memory.pointer(op.getTops()), offset);
                         Value isSmaller = arith::AndIOp::create(b, loc, isAbove(x, real(0)),
                                                                 isAbove(carried, x));
                         return arith::SelectOp::create(b, named("top"), isSmaller, x, carried);
                       });
      top = arith::SelectOp::create(b, named("top"), isFinite(top), top, real(1));
      auto [power, inverse] = powerOfTwo(b, loc, top, 0);
      tile::SetOp::create(b, loc, op.getColumns() ? inverse : power, tile.columns, part);
      if (op.getColumns())
        storeColumn(tile, cell, column, power);
      return Value();
    });
  }

  void storeColumn(const Tile &tile, SmallVector<Value> cell, Value column, Value power) {
    red::EncodeOp op = tile.op;
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, tile.block, wide(0));
    Value isFirstWarp = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, warp, constant(0));
    when(arith::AndIOp::create(b, loc, isFirst, isFirstWarp), [&] {
      cell.push_back(widen(column, ""));
      tile::StoreOp::create(b, loc, power, memory.pointer(op.getColumns()),
                            memory.offset(b, loc, op.getColumns(), cell));
    });
  }

  SmallVector<Value> cellOfOwnTops(const Tile &tile) {
    SmallVector<Value> cell = tile.cell;
    cell.erase(cell.begin() + red::EncodeOp(tile.op).getAxis());
    return cell;
  }

  // Where the nest reads the tensor whose columns these rows are multiplied with.
  SmallVector<Value> cellOfStreamed(const Tile &tile) {
    PlannedNest planned(nest);
    PointEvaluator evaluator(nest, memory, b);
    for (const Contraction &contraction : planned.ofHalves()->contractions) {
      attn::ReadOp read = contraction.resident.tensorRead();
      const OperandTile &streamed = planned.ofHalves()->streamed[contraction.streamed];
      red::EncodeOp op = tile.op;
      if (read.getSource() != op.getTensor() || contraction.resident.rowAxis != op.getAxis() ||
          encodingOf(nest, streamed, true).getTops() != op.getTops())
        continue;
      for (auto [axis, index] : llvm::enumerate(tile.cell))
        if (axis != op.getAxis())
          evaluator.bind(read.subscriptDim(axis), index);
      SmallVector<Value> cell;
      attn::ReadOp other = streamed.tensorRead();
      for (unsigned axis = 0; axis + 1 < tensorOf(other.getSource()).dims.size(); ++axis) {
        if (axis == streamed.rowAxis)
          continue;
        StringAttr dim = other.subscriptDim(axis);
        cell.push_back(dim ? evaluator.index(dim) : evaluator.evaluate(other.subscriptValue(axis)));
      }
      return cell;
    }
    llvm_unreachable("rows are encoded for a contraction");
  }

  // The rows of the warp by their number among them; for those beyond the last one that one, so
  // that many are read at a time.
  Value eachRow(const Tile &tile, Value init,
                llvm::function_ref<Value(Value slot, Value row, Value carried)> body) {
    Value last = arith::SubIOp::create(b, loc, tile.left, constant(1));
    return loop("slot", constant(0), constant(slotsOf(tile.op)), 1, init,
                tile.kept ? 0 : kRowsTogether, [&](Value slot, Value carried) {
                  Value row = add(warp, mul(slot, constant(warps())));
                  row = arith::MinSIOp::create(b, named("row"), row, last);
                  return body(slot, row, carried);
                });
  }

  // An element times what its column is.
  Value load(const Tile &tile, Value base, Value part, Value column) {
    red::EncodeOp op = tile.op;
    Value x = tile::LoadOp::create(b, named("x"), b.getF32Type(), memory.pointer(op.getTensor()),
                                   add(base, widen(column, "")));
    return tile.columns ? arith::MulFOp::create(b, named("x"), x, get(tile.columns, part)) : x;
  }

  Value isAbove(Value x, Value y) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, y);
  }

  Value keep(const Tile &tile, Value slot, Value row) {
    Value base = offset(red::EncodeOp(tile.op).getTensor(), tile, row);
    return eachColumn(tile.cols, {}, [&](Value part, Value column, Value) {
      Value x = load(tile, base, part, column);
      tile::SetOp::create(b, loc, x, tile.kept, ValueRange{slot, part});
      return Value();
    });
  }

  // One of the lane's elements.
  Value element(const Tile &tile, Value slot, Value base, Value part, Value column) {
    return tile.kept ? get(tile.kept, ValueRange{slot, part}) : load(tile, base, part, column);
  }

  // The largest finite magnitude of a row's elements that the lane has, and `largest`.
  Value largestOf(const Tile &tile, Value slot, Value row, Value largest) {
    Value base = offset(red::EncodeOp(tile.op).getTensor(), tile, row);
    return eachColumn(tile.cols, largest, [&](Value part, Value column, Value carried) {
      return largerFinite(element(tile, slot, base, part, column), carried);
    });
  }

  // Whether the row is lost.
  Value store(const Tile &tile, Value slot, Value row, std::pair<Value, Value> scale) {
    red::EncodeOp op = tile.op;
    Value exists = less(add(warp, mul(slot, constant(warps()))), tile.left);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, constant(0));
    when(arith::AndIOp::create(b, loc, exists, isFirst), [&] {
      tile::StoreOp::create(b, loc, scale.first, memory.pointer(op.getScale()),
                            offset(op.getScale(), tile, row));
    });
    Value base = offset(op.getTensor(), tile, row), highBase = offset(op.getHigh(), tile, row),
          lowBase = offset(op.getLow(), tile, row);
    Value largest =
        eachColumn(tile.cols, constant(0), [&](Value part, Value column, Value largest) {
          Value x = element(tile, slot, base, part, column);
          x = arith::MulFOp::create(b, named("scaled"), x, scale.second);
          Value magnitude = arith::MaximumFOp::create(b, named("top"), get(tile.tops, part),
                                                      math::AbsFOp::create(b, loc, x));
          tile::SetOp::create(b, loc, magnitude, tile.tops, part);
          largest = arith::MaxSIOp::create(b, named("largest"), largest, magnitudeBits(x));
          Value high = arith::TruncFOp::create(b, loc, b.getF16Type(), x);
          high = arith::ExtFOp::create(b, named("high"), b.getF32Type(), high);
          Value rest = arith::SubFOp::create(b, loc, x, high);
          Value low = arith::SelectOp::create(b, named("low"), isFinite(x), rest, real(0));
          when(exists, [&] {
            for (auto [value, into, at] :
                 {std::tuple(high, op.getHigh(), highBase), std::tuple(low, op.getLow(), lowBase)})
              tile::StoreOp::create(b, loc, value, memory.pointer(into),
                                    add(at, widen(column, "")));
          });
          return largest;
        });
    return isLost(fold(largest));
  }

  Value fold(Value x) {
    return tile::FoldLanesOp::create(b, named("largest"), x.getType(), tile::Combine::Max, x);
  }

  Value largestOfBlock(Value x, Value tile) {
    x = fold(x);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, constant(0));
    when(isFirst, [&] { tile::SetOp::create(b, loc, x, ofWarps, ValueRange{tile, warp}); });
    tile::BarrierOp::create(b, loc);
    return loop("other", warps(), real(0), [&](Value other, Value carried) -> Value {
      return arith::MaximumFOp::create(b, named("largest"), carried,
                                       get(ofWarps, ValueRange{tile, other}));
    });
  }

  // i64: where a row of the tile begins in a tensor of an encoding.
  Value offset(Value tensor, const Tile &tile, Value row) {
    red::EncodeOp op = tile.op;
    SmallVector<Value> at = tile.cell;
    at[op.getAxis()] = add(at[op.getAxis()], widen(row, ""));
    if (tensor != op.getScale())
      at.push_back({}); // the first column
    return memory.offset(b, loc, tensor, at);
  }

  SmallVector<red::EncodeOp> ops;
  Value ofWarps; ///< array: the largest that each has in each tile of the block
};

// Of the blocks that a tensor has, `count` for each index of the axes but `axis` and the last.
Attribute blocksOf(red::NestOp nest, Value tensor, unsigned axis, Attribute count) {
  for (auto [i, dim] : llvm::enumerate(ArrayRef(tensorOf(tensor).dims).drop_back()))
    if (i != axis)
      count = gridApply("mul", count, gridExtent(nest, dim));
  return count;
}

Attribute topsBlocks(red::NestOp nest, Builder &builder) {
  Attribute blocks = builder.getI64IntegerAttr(0);
  for (red::TopsOp op : topsOf(nest)) {
    SmallVector<StringAttr> dims = tensorOf(op.getTops()).dims;
    blocks = gridApply(
        "add", blocks,
        blocksOf(nest, op.getTensor(), op.getAxis(), gridExtent(nest, dims[dims.size() - 2])));
  }
  return blocks;
}

Attribute encodeBlocks(red::NestOp nest, Builder &builder) {
  Attribute blocks = builder.getI64IntegerAttr(0);
  for (red::EncodeOp op : encodingsOf(nest)) {
    Attribute ofRows =
        gridApply("ceildiv", gridExtent(nest, tensorOf(op.getTensor()).dims[op.getAxis()]),
                  builder.getI64IntegerAttr(tileRows(op) * tilesOfBlock(op)));
    blocks = gridApply("add", blocks, blocksOf(nest, op.getTensor(), op.getAxis(), ofRows));
  }
  return blocks;
}

// Enough for any GPU, and few to start where there is nothing to do.
constexpr int64_t kFallbackBlocks = 288;

constexpr StringLiteral kZerosSuffix = "_zeros", kClearSuffix = "_clear", kTopsSuffix = "_tops",
                        kEncodeSuffix = "_encode", kFallbackSuffix = "_fallback";

// Names of the program's nests may be others with the suffix.
std::string companionName(red::NestOp nest, StringRef suffix) {
  llvm::StringSet<> taken;
  for (auto each : attn::programOf(nest).getBodyBlock()->getOps<red::NestOp>())
    taken.insert(kernelName(each));
  std::string name = kernelName(nest) + suffix.str();
  while (taken.contains(name))
    name += "_";
  return name;
}

template <class Code>
tile::KernelOp lowerPreparation(red::NestOp nest, const Companion &companion, Attribute blocks,
                                int64_t threads, OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  auto kernel = tile::KernelOp::create(builder, nest.getLoc(), companion.name,
                                       argumentTypes(companion.signature, nest.getContext()),
                                       builder.getArrayAttr({blocks}), threads, /*smem=*/0);
  kernel.setCompanion(true);
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  Code(nest, KernelMemory(nest, companion.signature, kernel), builder).build();
  return kernel;
}

/// Gives the nest the schedule of its fallback for a while.
class FallbackSchedule {
public:
  FallbackSchedule(red::NestOp nest, red::LostOp lost) : nest(nest), own(nest.getScheduleAttr()) {
    nest.setScheduleAttr(lost.getSchedule());
  }
  FallbackSchedule(const FallbackSchedule &) = delete;
  FallbackSchedule &operator=(const FallbackSchedule &) = delete;
  ~FallbackSchedule() { nest.setScheduleAttr(own); }

private:
  red::NestOp nest;
  red::Schedule own;
};

FailureOr<tile::KernelOp> lowerFallback(red::NestOp nest, const Companion &companion,
                                        OpBuilder &builder) {
  FallbackSchedule schedule(nest, lostOf(nest));
  FailureOr<tile::KernelOp> kernel = lowerNest(nest, builder);
  if (failed(kernel))
    return failure();
  kernel->setSymName(companion.name);
  kernel->setCompanion(true);
  kernel->setOnlyIf(companion.signature.args().size() - 1);
  walkBlocks(*kernel, nest, companion.signature, kFallbackBlocks);
  return kernel;
}

} // namespace

// What stores zeros for rows of packed results; nothing if there are none.
static SmallVector<Companion> zerosOf(red::NestOp nest) {
  llvm::SetVector<Value> tensors;
  for (red::PackOp pack : packsOf(nest))
    tensors.insert_range(pack.getOperands());
  if (tensors.empty())
    return {};
  return {{Companion::Kind::Zeros, companionName(nest, kZerosSuffix),
           KernelSignature(attn::programOf(nest), tensors.getArrayRef(), {})}};
}

SmallVector<Companion> companionsOf(red::NestOp nest) {
  SmallVector<Companion> all = zerosOf(nest);
  if (SmallVector<Value> sums = rowSumsOf(nest); !sums.empty())
    all.push_back({Companion::Kind::Clear, companionName(nest, kClearSuffix),
                   KernelSignature(attn::programOf(nest), sums, {})});
  if (encodingsOf(nest).empty())
    return all;
  attn::ProgramOp program = attn::programOf(nest);
  llvm::SetVector<Value> read, encoded;
  for (red::TopsOp op : topsOf(nest))
    for (Value tensor : {op.getTensor(), op.getTops()})
      read.insert(tensor);
  for (red::EncodeOp op : encodingsOf(nest)) {
    encoded.insert(op->operand_begin(), op->operand_end());
    encoded.insert(op->result_begin(), op->result_end());
  }
  red::LostOp lost = lostOf(nest);
  if (lost) {
    read.insert(lost.getLost());
    encoded.insert(lost.getLost());
  }
  SmallVector<Value> params;
  for (Value value : nest.captures())
    if (value.getDefiningOp<attn::ParamOp>())
      params.push_back(value);
  if (!read.empty())
    all.push_back({Companion::Kind::Tops, companionName(nest, kTopsSuffix),
                   KernelSignature(program, read.getArrayRef(), {})});
  all.push_back({Companion::Kind::Encode, companionName(nest, kEncodeSuffix),
                 KernelSignature(program, encoded.getArrayRef(), params)});
  if (lost) {
    FallbackSchedule schedule(nest, lost);
    PlannedNest planned(nest);
    all.push_back({Companion::Kind::Fallback, companionName(nest, kFallbackSuffix),
                   KernelSignature(planned)});
  }
  return all;
}

FailureOr<SmallVector<tile::KernelOp>> lowerCompanions(red::NestOp nest, OpBuilder &builder) {
  SmallVector<tile::KernelOp> kernels;
  for (const Companion &companion : companionsOf(nest)) {
    if (companion.kind == Companion::Kind::Fallback) {
      FailureOr<tile::KernelOp> kernel = lowerFallback(nest, companion, builder);
      if (failed(kernel))
        return failure();
      kernels.push_back(*kernel);
    } else if (companion.kind == Companion::Kind::Zeros) {
      kernels.push_back(lowerPreparation<ZeroRowsCode>(
          nest, companion, ZeroRowsCode::blocks(nest, builder), ZeroRowsCode::kThreads, builder));
    } else if (companion.kind == Companion::Kind::Clear) {
      kernels.push_back(lowerPreparation<ClearSumsCode>(
          nest, companion, ClearSumsCode::blocks(nest, builder), ClearSumsCode::kThreads, builder));
    } else if (companion.kind == Companion::Kind::Tops) {
      kernels.push_back(lowerPreparation<TopsCode>(nest, companion, topsBlocks(nest, builder),
                                                   kTopsThreads, builder));
    } else {
      kernels.push_back(lowerPreparation<EncodeCode>(nest, companion, encodeBlocks(nest, builder),
                                                     kEncodeThreads, builder));
    }
  }
  return kernels;
}

} // namespace attnc::schedule
