#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/nest/kernel_memory.h"
#include "compiler/schedule/nest/signature.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

constexpr int64_t kWarp = 32, kThreads = 256, kMostThreads = 1024;
// Elements of a tile that a thread keeps between the search for the largest and the rounding.
constexpr int64_t kMostElements = 64;
// Rows of a block whose rows have scales of their own.
constexpr int64_t kLoneRows = 64;

// An f32's exponent, and where a field of it begins.
constexpr int64_t kExponentMask = 0x7f800000, kExponentOne = 0x00800000;
// The largest magnitude goes to 2^14 or above, below 2^15; of what is smaller than 2^-112 both the
// scale and its reciprocal stay numbers.
constexpr int64_t kTopExponent = 14, kReciprocals = 254;

/// Writes the work of a block of the kernel that encodes.
class Encoder {
public:
  Encoder(red::NestOp nest, const KernelMemory &memory, OpBuilder &b, int64_t threads)
      : nest(nest), memory(memory), b(b), loc(nest.getLoc()), threads(threads) {}

  void build() {
    Value thread = tile::ThreadOp::create(b, named("thread"));
    lane = arith::RemSIOp::create(b, named("lane"), thread, constant(kWarp));
    warp = arith::DivSIOp::create(b, named("warp"), thread, constant(kWarp));
    Value work = widen(tile::BlockOp::create(b, named("block")), "work");
    for (red::EncodeOp op : encodingsOf(nest)) {
      Value count = blocksOf(op);
      Value isOwn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, work, count);
      auto branch = scf::IfOp::create(b, loc, isOwn, /*withElseRegion=*/true);
      b.setInsertionPointToStart(branch.thenBlock());
      encode(op, work);
      b.setInsertionPointToStart(branch.elseBlock());
      work = arith::SubIOp::create(b, named("work"), work, count);
    }
  }

  static int64_t rowsOf(red::EncodeOp op) { return op.getRows() ? op.getRows() : kLoneRows; }

private:
  Value blocksOf(red::EncodeOp op) {
    Value count;
    for (auto [axis, dim] : llvm::enumerate(dimsOf(op))) {
      Value extent = memory.extent(b, loc, dim);
      if (axis == op.getAxis())
        extent = tilesOf(op, extent);
      count = count ? arith::MulIOp::create(b, loc, count, extent).getResult() : extent;
    }
    return count;
  }

  Value tilesOf(red::EncodeOp op, Value extent) {
    Value up = arith::AddIOp::create(b, loc, extent, wide(rowsOf(op) - 1));
    return arith::DivSIOp::create(b, loc, up, wide(rowsOf(op)));
  }

  // The dims of an encoding's rows.
  static SmallVector<StringAttr> dimsOf(red::EncodeOp op) {
    SmallVector<StringAttr> dims = tensorOf(op.getTensor()).dims;
    dims.pop_back();
    return dims;
  }

  /// The rows of a block, and where they lie.
  struct Tile {
    red::EncodeOp op;
    SmallVector<Value> indices; ///< of each axis but the last; along the rows of the first one
    Value left;                 ///< i32: rows to the extent
    int64_t cols, rounds, parts; ///< rows of a warp; elements of a row that a lane has
    Value elements;              ///< array: [rounds, parts]
  };

  void encode(red::EncodeOp op, Value work) {
    Tile tile = locate(op, work);
    auto type = tile::ArrayType::get(b.getContext(), {tile.rounds, tile.parts}, b.getF32Type());
    tile.elements = tile::ArrayOp::create(b, named("elements"), type, UnitAttr());
    Value zero = real(0);
    Value largest = eachRow(tile, zero, [&](Value round, Value row, Value largest) {
      Value ofRow = load(tile, round, row, op.getRows() ? largest : zero);
      if (op.getRows())
        return ofRow;
      ofRow = fold(ofRow);
      store(tile, round, row, scaleBits(ofRow));
      return largest;
    });
    if (!op.getRows())
      return;
    Value bits = scaleBits(largestOfBlock(largest));
    eachRow(tile, zero, [&](Value round, Value row, Value carried) {
      store(tile, round, row, bits);
      return carried;
    });
  }

  Tile locate(red::EncodeOp op, Value work) {
    Tile tile{op, {}, {}, 0, 0, 0, {}};
    tile.cols = attn::programOf(nest).lookupDim(tensorOf(op.getTensor()).dims.back()).getExtent();
    tile.rounds = llvm::divideCeil(rowsOf(op), threads / kWarp);
    tile.parts = llvm::divideCeil(tile.cols, kWarp);
    SmallVector<StringAttr> dims = dimsOf(op);
    tile.indices.resize(dims.size());
    Value rest = work;
    for (size_t axis = dims.size(); axis-- > 0;) {
      Value extent = memory.extent(b, loc, dims[axis]);
      bool isRows = axis == op.getAxis();
      Value count = isRows ? tilesOf(op, extent) : extent;
      Value index = arith::RemSIOp::create(b, named(dims[axis].getValue()), rest, count);
      rest = arith::DivSIOp::create(b, loc, rest, count);
      if (isRows) {
        index = arith::MulIOp::create(b, named("first"), index, wide(rowsOf(op)));
        Value left = arith::SubIOp::create(b, loc, extent, index);
        left = arith::MinSIOp::create(b, loc, left, wide(rowsOf(op)));
        tile.left = arith::TruncIOp::create(b, named("left"), b.getI32Type(), left);
      }
      tile.indices[axis] = index;
    }
    return tile;
  }

  // The rows of the warp that exist.
  Value eachRow(const Tile &tile, Value init,
                llvm::function_ref<Value(Value round, Value row, Value carried)> body) {
    return loop("round", tile.rounds, init, [&](Value round, Value carried) {
      Value row = arith::MulIOp::create(b, loc, round, constant(threads / kWarp));
      row = arith::AddIOp::create(b, named("row"), row, warp);
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, row, tile.left);
      return when(exists, carried, [&] { return body(round, row, carried); });
    });
  }

  // Keeps the elements of a row, and returns the largest finite magnitude of these and `largest`.
  Value load(const Tile &tile, Value round, Value row, Value largest) {
    red::EncodeOp op = tile.op;
    Value base = offset(op.getTensor(), tile, row);
    return eachColumn(tile, largest, [&](Value part, Value column, Value carried) -> Value {
      Value at = arith::AddIOp::create(b, loc, base, widen(column, ""));
      Value x = tile::LoadOp::create(b, named("x"), b.getF32Type(), memory.pointer(op.getTensor()),
                                     at);
      tile::SetOp::create(b, loc, x, tile.elements, ValueRange{round, part});
      Value magnitude = math::AbsFOp::create(b, loc, x);
      Value isLarger =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, magnitude, carried);
      Value isFinite = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, magnitude,
                                             real(std::numeric_limits<float>::infinity()));
      Value takes = arith::AndIOp::create(b, loc, isLarger, isFinite);
      return arith::SelectOp::create(b, named("largest"), takes, magnitude, carried);
    });
  }

  // The scale's bits: a power of two.
  Value scaleBits(Value largest) {
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), largest);
    bits = arith::AndIOp::create(b, loc, bits, constant(kExponentMask));
    bits = arith::MaxSIOp::create(b, loc, bits, constant((kTopExponent + 1) * kExponentOne));
    return arith::SubIOp::create(b, named("scale_bits"), bits,
                                 constant(kTopExponent * kExponentOne));
  }

  void store(const Tile &tile, Value round, Value row, Value bits) {
    red::EncodeOp op = tile.op;
    Value scale = arith::BitcastOp::create(b, named("scale"), b.getF32Type(), bits);
    Value inverse =
        arith::SubIOp::create(b, loc, constant(kReciprocals * kExponentOne), bits);
    inverse = arith::BitcastOp::create(b, named("inverse"), b.getF32Type(), inverse);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, constant(0));
    when(isFirst, {}, [&] {
      tile::StoreOp::create(b, loc, scale, memory.pointer(op.getScale()),
                            offset(op.getScale(), tile, row));
      return Value();
    });
    Value highBase = offset(op.getHigh(), tile, row), lowBase = offset(op.getLow(), tile, row);
    eachColumn(tile, {}, [&](Value part, Value column, Value) {
      Value x = tile::GetOp::create(b, loc, b.getF32Type(), tile.elements, ValueRange{round, part});
      x = arith::MulFOp::create(b, named("scaled"), x, inverse);
      Value high = rounded(x);
      Value rest = arith::SubFOp::create(b, loc, x, high);
      Value isFinite =
          arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                math::AbsFOp::create(b, loc, x),
                                real(std::numeric_limits<float>::infinity()));
      Value low = arith::SelectOp::create(b, named("low"), isFinite, rest, real(0));
      auto put = [&](Value value, Value into, Value base) {
        Value at = arith::AddIOp::create(b, loc, base, widen(column, ""));
        tile::StoreOp::create(b, loc, value, memory.pointer(into), at);
      };
      put(high, op.getHigh(), highBase);
      put(low, op.getLow(), lowBase);
      return Value();
    });
  }

  Value rounded(Value x) {
    Value half = arith::TruncFOp::create(b, loc, b.getF16Type(), x);
    return arith::ExtFOp::create(b, named("high"), b.getF32Type(), half);
  }

  // The columns of a row that the lane has and that exist.
  Value eachColumn(const Tile &tile, Value init,
                   llvm::function_ref<Value(Value part, Value column, Value carried)> body) {
    return loop("part", tile.parts, init, [&](Value part, Value carried) {
      Value column = arith::MulIOp::create(b, loc, part, constant(kWarp));
      column = arith::AddIOp::create(b, named("column"), column, lane);
      if (tile.cols % kWarp == 0)
        return body(part, column, carried);
      Value exists =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, column, constant(tile.cols));
      return when(exists, carried, [&] { return body(part, column, carried); });
    });
  }

  Value fold(Value x) {
    return tile::FoldLanesOp::create(b, named("largest"), x.getType(), tile::Combine::Max, x);
  }

  Value largestOfBlock(Value x) {
    int64_t warps = threads / kWarp;
    auto type = tile::ArrayType::get(b.getContext(), {warps}, b.getF32Type());
    Value all = tile::ArrayOp::create(b, named("of_warps"), type, b.getUnitAttr());
    x = fold(x);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane, constant(0));
    when(isFirst, {}, [&] {
      tile::SetOp::create(b, loc, x, all, ValueRange{warp});
      return Value();
    });
    tile::BarrierOp::create(b, loc);
    return loop("other", warps, real(0), [&](Value other, Value carried) -> Value {
      Value y = tile::GetOp::create(b, loc, b.getF32Type(), all, ValueRange{other});
      return arith::MaximumFOp::create(b, named("largest"), carried, y);
    });
  }

  // i64: where a row of the tile begins in a tensor of an encoding.
  Value offset(Value tensor, const Tile &tile, Value row) {
    SmallVector<Value> at = tile.indices;
    red::EncodeOp op = tile.op;
    at[op.getAxis()] = arith::AddIOp::create(b, loc, at[op.getAxis()], widen(row, ""));
    if (tensor != op.getScale())
      at.push_back({}); // the first column
    return memory.offset(b, loc, tensor, at);
  }

  Value loop(StringRef name, int64_t count, Value init,
             llvm::function_ref<Value(Value index, Value carried)> body) {
    auto loop = scf::ForOp::create(b, named(name), constant(0), constant(count), constant(1),
                                   init ? ValueRange(init) : ValueRange());
    loop.getInductionVar().setLoc(named(name));
    loop->setAttr(tile::kUnrollAttr, b.getI64IntegerAttr(0));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value next = body(loop.getInductionVar(), init ? loop.getRegionIterArg(0) : Value());
    if (!init)
      return {};
    scf::YieldOp::create(b, loc, next);
    return loop.getResult(0);
  }

  // What `body` gives, or else `otherwise`; nothing if that is null.
  Value when(Value condition, Value otherwise, llvm::function_ref<Value()> body) {
    auto branch = scf::IfOp::create(b, loc, otherwise ? TypeRange(otherwise.getType()) : TypeRange(),
                                    condition, /*withElseRegion=*/bool(otherwise));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value result = body();
    if (!otherwise)
      return {};
    scf::YieldOp::create(b, loc, result);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, otherwise);
    return branch.getResult(0);
  }

  Location named(StringRef name) { return NameLoc::get(b.getStringAttr(name)); }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  Value wide(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }
  Value real(double value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value widen(Value index, StringRef name) {
    return arith::ExtSIOp::create(b, named(name), b.getI64Type(), index);
  }

  red::NestOp nest;
  const KernelMemory &memory;
  OpBuilder &b;
  Location loc;
  int64_t threads;
  Value lane, warp; ///< i32
};

} // namespace

tile::KernelOp lowerEncodings(red::NestOp nest, OpBuilder &builder) {
  SmallVector<red::EncodeOp> encodings = encodingsOf(nest);
  if (encodings.empty())
    return {};
  Attribute blocks = builder.getI64IntegerAttr(0);
  int64_t elements = 0;
  for (red::EncodeOp op : encodings) {
    Attribute each = builder.getI64IntegerAttr(1);
    SmallVector<StringAttr> dims = tensorOf(op.getTensor()).dims;
    int64_t cols = attn::programOf(nest).lookupDim(dims.back()).getExtent();
    elements = std::max<int64_t>(elements, Encoder::rowsOf(op) * llvm::alignTo(cols, kWarp));
    for (auto [axis, dim] : llvm::enumerate(ArrayRef(dims).drop_back())) {
      Attribute extent = gridExtent(nest, dim);
      if (axis == op.getAxis())
        extent = gridApply("ceildiv", extent, builder.getI64IntegerAttr(Encoder::rowsOf(op)));
      each = gridApply("mul", each, extent);
    }
    blocks = gridApply("add", blocks, each);
  }
  int64_t threads = kThreads;
  while (threads < kMostThreads && elements / threads > kMostElements)
    threads *= 2;
  OpBuilder::InsertionGuard guard(builder);
  KernelSignature signature(attn::programOf(nest), encodedTensors(nest));
  auto kernel = tile::KernelOp::create(builder, nest.getLoc(), kernelName(nest) + kEncodeSuffix.str(),
                                       argumentTypes(signature, nest.getContext()),
                                       builder.getArrayAttr({blocks}), threads, /*smem=*/0);
  kernel.setPrepares(true);
  builder.setInsertionPointToStart(kernel.getBodyBlock());
  KernelMemory memory(nest, signature, kernel);
  Encoder(nest, memory, builder, threads).build();
  return kernel;
}

} // namespace attnc::schedule
