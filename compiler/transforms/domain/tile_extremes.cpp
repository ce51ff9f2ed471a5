#include "compiler/transforms/domain/tile_extremes.h"
#include "compiler/transforms/derivation/derivation.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;
using attnc::red::NestOp;

namespace attnc {
namespace {

/// Builds the body of one nest.
class Extremes {
public:
  Extremes(OpBuilder &b, ProgramOp program, Value array, StringAttr dim, StringAttr part)
      : b(b), program(program), array(array), dim(dim), part(part) {}

  FoldOp fold(FoldKind kind, StringRef name) {
    bool largest = kind == FoldKind::Max;
    Value elements = read(), inside = isInside();
    SmallVector<Value> operands = {inside, elements};
    int64_t identity =
        largest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    Value own = MapOp::create(b, array.getLoc(), type(operands, b.getI64Type()), operands,
                              [&](OpBuilder &s, Location loc, ValueRange x) -> Value {
                                Value other = arith::ConstantOp::create(
                                    s, loc, s.getI64IntegerAttr(identity));
                                return arith::SelectOp::create(s, loc, x[0], x[1], other);
                              });
    SmallVector<StringAttr> kept = unionDims(program, own);
    llvm::erase(kept, dim);
    return FoldOp::create(b, renamed(array.getLoc(), name),
                          attn::ArrayType::get(b.getContext(), kept, b.getI64Type()), kind,
                          b.getArrayAttr({dim}), own, Value(), Value());
  }

private:
  attn::ArrayType type(ValueRange operands, Type element) {
    return attn::ArrayType::get(b.getContext(), unionDims(program, operands), element);
  }

  Value read() {
    if (!elements) {
      auto source = cast<attn::ArrayType>(array.getType());
      SmallVector<Attribute> subscripts(source.getDims().begin(), source.getDims().end());
      elements = ReadOp::create(b, array.getLoc(), type(array, b.getI64Type()), array, ValueRange(),
                                b.getArrayAttr(subscripts), FloatAttr());
    }
    return elements;
  }

  // Part p has the elements from p * length on.
  Value isInside() {
    if (inside)
      return inside;
    Location loc = renamed(array.getLoc(), "part");
    auto integers = [&](ArrayRef<StringAttr> dims) {
      return attn::ArrayType::get(b.getContext(), dims, b.getI64Type());
    };
    Value index = IndexOp::create(b, loc, integers(dim), dim);
    Value number = IndexOp::create(b, loc, integers(part), part);
    SmallVector<Value> operands = {index, number};
    inside = MapOp::create(
        b, loc, type(operands, b.getI1Type()), operands,
        [&](OpBuilder &s, Location at, ValueRange x) -> Value {
          IndexArithmetic a(s, at);
          Value length = a.constant(TileExtremes::kPartLength);
          Value first = a.mul(x[1], length), end = a.add(first, length);
          Value after = arith::CmpIOp::create(s, at, arith::CmpIPredicate::sge, x[0], first);
          Value before = arith::CmpIOp::create(s, at, arith::CmpIPredicate::slt, x[0], end);
          return a.both(after, before);
        });
    return inside;
  }

  OpBuilder &b;
  ProgramOp program;
  Value array;
  StringAttr dim, part;
  Value elements, inside;
};

} // namespace

// The parts of `dim`, whose extent follows from that of the dim.
static void addExtent(ProgramOp program, StringAttr part, StringAttr dim) {
  OpBuilder b(*program.getBodyBlock()->getOps<NestOp>().begin());
  Location loc = renamed(program.getLoc(), part.getValue());
  auto type = attn::ArrayType::get(program.getContext(), {}, b.getI64Type());
  Value size = SizeOp::create(b, loc, type, dim);
  Value parts = MapOp::create(b, loc, type, size, [](OpBuilder &s, Location at, ValueRange x) {
    IndexArithmetic a(s, at);
    return a.ceilDiv(x[0], a.constant(TileExtremes::kPartLength));
  });
  ExtentOp::create(b, loc, part, parts);
}

// The outermost dim, so that the order of the others stays.
static StringAttr addDim(ProgramOp program, StringAttr dim) {
  std::string name = dim.getValue().str() + "_tile";
  while (program.lookupDim(StringAttr::get(program.getContext(), name)))
    name += "_";
  DimAttr whole = program.lookupDim(dim);
  int64_t extent = whole.isStatic() ? llvm::divideCeil(whole.getExtent(), TileExtremes::kPartLength)
                                    : ShapedType::kDynamic;
  auto added =
      DimAttr::get(program.getContext(), StringAttr::get(program.getContext(), name), extent);
  SmallVector<Attribute> dims(program.getDims().begin(), program.getDims().end());
  dims.insert(dims.begin(), added);
  program.setDimsAttr(ArrayAttr::get(program.getContext(), dims));
  if (!whole.isStatic())
    addExtent(program, added.getName(), dim);
  return added.getName();
}

// What addExtent has made is used by nothing else.
static void eraseDim(ProgramOp program, StringAttr part) {
  for (auto extent : llvm::make_early_inc_range(program.getBodyBlock()->getOps<ExtentOp>()))
    if (extent.getDimAttr() == part) {
      Operation *parts = extent.getValue().getDefiningOp(),
                *size = parts->getOperand(0).getDefiningOp();
      for (Operation *op : {extent.getOperation(), parts, size})
        op->erase();
    }
  SmallVector<Attribute> dims(program.getDims().begin(), program.getDims().end());
  llvm::erase_if(dims, [&](Attribute dim) { return cast<DimAttr>(dim).getName() == part; });
  program.setDimsAttr(ArrayAttr::get(program.getContext(), dims));
}

TileExtremes::Parts TileExtremes::partsOf(Value array, StringAttr dim, NestOp user) {
  Parts &parts = known[{array.getAsOpaquePointer(), const_cast<void *>(dim.getAsOpaquePointer())}];
  if (parts.max)
    return parts;
  StringAttr &part = partsOfDims[dim];
  if (!part)
    part = addDim(program, dim);
  parts.part = part;
  OpBuilder b(user);
  Block body;
  OpBuilder inner(b.getContext());
  inner.setInsertionPointToStart(&body);
  Extremes extremes(inner, program, array, dim, parts.part);
  std::string name = specName(array.getLoc()).str();
  FoldOp max = extremes.fold(FoldKind::Max, name + "_tile_max");
  FoldOp min = extremes.fold(FoldKind::Min, name + "_tile_min");
  red::YieldOp::create(inner, array.getLoc(), ValueRange{max, min});
  SmallVector<Value> results = {max, min};
  auto nest = NestOp::create(b, array.getLoc(), ValueRange(results).getTypes(),
                             unionDims(program, results), {}, dim, {});
  nest.getBodyBlock()->getOperations().splice(nest.getBodyBlock()->end(), body.getOperations());
  derivation::record(nest, derivation::stepAt(derivation::Rule::TileExtremes, array.getLoc(), "",
                                              {{"array", name}, {"dims", dim.getValue().str()}}));
  nests.push_back(nest);
  parts.max = nest.getResult(0);
  parts.min = nest.getResult(1);
  return parts;
}

SmallVector<NestOp> TileExtremes::finish() {
  SmallVector<NestOp> used;
  for (NestOp nest : nests)
    if (nest.use_empty())
      nest.erase();
    else
      used.push_back(nest);
  for (auto [dim, part] : partsOfDims)
    if (llvm::none_of(used, [&](NestOp nest) { return llvm::is_contained(nest.getGrid(), part); }))
      eraseDim(program, part);
  partsOfDims.clear();
  nests.clear();
  known.clear();
  return used;
}

} // namespace attnc
