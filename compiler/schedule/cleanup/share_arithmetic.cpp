#include "compiler/schedule/cleanup/share_arithmetic.h"
#include "compiler/schedule/cleanup/kernel_cleanup.h"
#include "dialects/Attn/ScalarProperties.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

class MapRewriter {
public:
  MapRewriter(tile::MapOp map, bool spreadsFactors) : map(map), spreadsFactors(spreadsFactors) {}

  void run() {
    forEach<arith::DivFOp>([&](auto division) { multiplyByReciprocal(division); });
    // A product of products comes after its factors.
    forEach<arith::MulFOp>([&](auto product) { multiplyTogether(product); });
    forEach<arith::SIToFPOp>([&](auto conversion) { convertFirstColumn(conversion); });
    forEach<arith::CmpIOp>([&](auto comparison) { divideFirstColumn(comparison); });
  }

private:
  // Each of the ops that are there now. `rewrite` may erase it and what was visited before.
  template <class Op> void forEach(llvm::function_ref<void(Op)> rewrite) {
    for (Op op : llvm::to_vector(map.getBodyBlock()->getOps<Op>()))
      rewrite(op);
  }

  bool isShared(Value value) {
    return value.getParentRegion()->isProperAncestor(&map.getBody()) ||
           isa_and_nonnull<arith::ConstantOp>(value.getDefiningOp());
  }

  // True if a comparison, or a rounding to a whole number, depends on the op's result: another last
  // bit could make it another one.
  bool decides(Operation *op) {
    llvm::SmallDenseSet<Operation *> seen;
    return decides(op, seen);
  }

  bool decides(Operation *op, llvm::SmallDenseSet<Operation *> &seen) {
    if (!seen.insert(op).second)
      return false;
    if (op->hasAttr(attn::kExactAttr))
      return true;
    for (Operation *user : op->getUsers()) {
      bool steps = isa<arith::CmpFOp, arith::FPToSIOp, arith::RemFOp, math::FloorOp, math::CeilOp,
                       math::RoundOp, math::RoundEvenOp, math::TruncOp>(user);
      bool isInner = user->getBlock() != map.getBodyBlock() || user->getNumRegions() > 0;
      if (steps || isInner || decides(user, seen))
        return true;
    }
    return false;
  }

  Value reciprocalOf(OpBuilder &b, Value y) {
    Value &known = reciprocals[y];
    return known ? known : known = buildReciprocal(b, y);
  }

  static Value buildReciprocal(OpBuilder &b, Value y) {
    auto constant = [&](float value) -> Value {
      return arith::ConstantOp::create(b, y.getLoc(), b.getF32FloatAttr(value));
    };
    FloatAttr known;
    if (matchPattern(y, m_Constant(&known)))
      return constant(1 / known.getValue().convertToFloat());
    return arith::DivFOp::create(b, y.getLoc(), constant(1), y);
  }

  // True of what all elements of a row share.
  bool isOfRow(Value value) {
    if (auto known = ofRow.find(value); known != ofRow.end())
      return known->second;
    return ofRow[value] = findOfRow(value);
  }

  bool findOfRow(Value value) {
    if (isShared(value) || value == map.rowIndex())
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == map.getBodyBlock() && argument != map.columnIndex() &&
             isa<tile::RowsType>(placeOf(argument).getType());
    Operation *op = value.getDefiningOp();
    bool isKnown =
        isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) || isa<tile::LoadOp>(op);
    return isKnown &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isOfRow(operand); });
  }

  // Where the elements are that an argument of the map stands for.
  Value placeOf(BlockArgument argument) { return map.getIns()[argument.getArgNumber() - 2]; }

  // What a number of the row is computed from, in the map, in order.
  void addSlice(Value value, llvm::SetVector<Operation *> &ops, llvm::SetVector<Value> &arguments) {
    if (isShared(value) || value == map.rowIndex())
      return;
    if (isa<BlockArgument>(value)) {
      arguments.insert(value);
      return;
    }
    if (ops.contains(value.getDefiningOp()))
      return;
    for (Value operand : value.getDefiningOp()->getOperands())
      addSlice(operand, ops, arguments);
    ops.insert(value.getDefiningOp());
  }

  // The element of a row vector that is computed before the map: 1 / y.
  Value reciprocalOfRows(Value y) {
    if (Value known = reciprocals.lookup(y))
      return known;
    llvm::SetVector<Operation *> ops;
    llvm::SetVector<Value> arguments;
    addSlice(y, ops, arguments);
    SmallVector<Value> ins;
    for (Value argument : arguments)
      ins.push_back(placeOf(cast<BlockArgument>(argument)));
    OpBuilder b(map);
    Location loc = y.getLoc();
    int64_t count = cast<tile::FragmentType>(map.getOuts().front().getType()).getRows();
    Value place =
        tile::RegistersOp::create(b, loc, tile::RowsType::get(b.getContext(), count), FloatAttr());
    auto rows = tile::MapOp::create(b, loc, map.getRows(), Value(), ins, place);
    Block &body = rows.getBody().emplaceBlock();
    IRMapping mapping;
    mapping.map(map.rowIndex(), body.addArgument(b.getI32Type(), loc));
    for (Value argument : arguments)
      mapping.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
    b.setInsertionPointToStart(&body);
    for (Operation *op : ops)
      b.clone(*op, mapping);
    tile::YieldOp::create(b, loc, buildReciprocal(b, mapping.lookup(y)));
    map.getInsMutable().append(place);
    return reciprocals[y] = map.getBodyBlock()->addArgument(b.getF32Type(), loc);
  }

  void multiplyByReciprocal(arith::DivFOp division) {
    Value y = division.getRhs();
    if (!isOfRow(y) || isOfRow(division.getLhs()) || decides(division))
      return;
    OpBuilder b(map);
    Value reciprocal = isShared(y) ? reciprocalOf(b, y) : reciprocalOfRows(y);
    b.setInsertionPoint(division);
    Value product = arith::MulFOp::create(b, division.getLoc(), division.getLhs(), reciprocal);
    division.replaceAllUsesWith(product);
    division.erase();
  }

  // The factor that all elements share, and the other one; null if there is none or only such.
  std::pair<Value, Value> sharedFactor(arith::MulFOp product) {
    bool left = isShared(product.getLhs()), right = isShared(product.getRhs());
    if (left == right)
      return {};
    return left ? std::pair(product.getLhs(), product.getRhs())
                : std::pair(product.getRhs(), product.getLhs());
  }

  void multiplyTogether(arith::MulFOp outer) {
    auto [z, rest] = sharedFactor(outer);
    auto inner = rest ? rest.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!inner || !inner->hasOneUse())
      return;
    auto [y, x] = sharedFactor(inner);
    if (!y || y.getParentRegion() == &map.getBody() || z.getParentRegion() == &map.getBody() ||
        decides(outer))
      return;
    OpBuilder b(map);
    Value factor = b.createOrFold<arith::MulFOp>(outer.getLoc(), y, z);
    b.setInsertionPoint(outer);
    Value product = arith::MulFOp::create(b, outer.getLoc(), x, factor);
    outer.replaceAllUsesWith(product);
    outer.erase();
    inner.erase();
  }

  // By how much an i32 grows from a column to the next: 0, 1 or -1. Nothing for other dependences.
  std::optional<int> slope(Value value) {
    if (auto known = slopes.find(value); known != slopes.end())
      return known->second;
    std::optional<int> result = computeSlope(value);
    return slopes[value] = result;
  }

  std::optional<int> computeSlope(Value value) {
    if (value == map.columnIndex())
      return 1;
    if (isShared(value) || isa<BlockArgument>(value))
      return 0;
    Operation *op = value.getDefiningOp();
    SmallVector<int> each;
    for (Value operand : op->getOperands()) {
      std::optional<int> s = slope(operand);
      if (!s)
        return {};
      each.push_back(*s);
    }
    if (llvm::all_of(each, [](int s) { return s == 0; }))
      return 0;
    std::optional<int> sum;
    if (isa<arith::AddIOp>(op))
      sum = each[0] + each[1];
    else if (isa<arith::SubIOp>(op))
      sum = each[0] - each[1];
    return sum && std::abs(*sum) <= 1 ? sum : std::nullopt;
  }

  // The value with `from` instead of the column.
  Value atColumn(OpBuilder &b, Value value, Value from, DenseMap<Value, Value> &known) {
    if (value == map.columnIndex())
      return from;
    if (slope(value) == 0)
      return value;
    Value &copy = known[value];
    if (!copy) {
      Operation *op = value.getDefiningOp();
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand, atColumn(b, operand, from, known));
      copy = b.clone(*op, mapping)->getResult(0);
    }
    return copy;
  }

  void convertFirstColumn(arith::SIToFPOp conversion) {
    slopes.clear(); // the rewrites before may have erased what they were of
    std::optional<int> s = slope(conversion.getIn());
    if (!s || *s == 0 || !conversion.getIn().getType().isInteger(32) ||
        !conversion.getType().isF32())
      return;
    OpBuilder b(conversion);
    Location loc = conversion.getLoc();
    Value first = tile::FirstColumnOp::create(b, loc);
    DenseMap<Value, Value> known;
    Value start = atColumn(b, conversion.getIn(), first, known);
    Value converted = arith::SIToFPOp::create(b, loc, conversion.getType(), start);
    Value distance = tile::ColumnDistanceOp::create(b, loc);
    auto sum = [&](OpBuilder &at, Value x, Value y) -> Value {
      return *s > 0 ? arith::AddFOp::create(at, loc, x, y).getResult()
                    : arith::SubFOp::create(at, loc, x, y).getResult();
    };
    // y * (converted + distance): the first product is one for all elements of a row, the second
    // one and the sum are one instruction.
    for (Operation *user : llvm::make_early_inc_range(conversion->getUsers())) {
      auto product = dyn_cast<arith::MulFOp>(user);
      auto [y, rest] = product ? sharedFactor(product) : std::pair<Value, Value>();
      if (!y || !spreadsFactors || decides(product))
        continue;
      OpBuilder at(product);
      product.replaceAllUsesWith(sum(at, arith::MulFOp::create(at, loc, y, converted),
                                     arith::MulFOp::create(at, loc, y, distance)));
      product.erase();
    }
    if (!conversion->use_empty())
      conversion.replaceAllUsesWith(sum(b, converted, distance));
    conversion.erase();
  }

  // (x + distance) mod m == k, where x is that of the lane's first column: x mod m, one for all
  // elements of a row, is compared with (k - distance) mod m, a constant for each element.
  void divideFirstColumn(arith::CmpIOp comparison) {
    slopes.clear();
    bool isEqual = comparison.getPredicate() == arith::CmpIPredicate::eq ||
                   comparison.getPredicate() == arith::CmpIPredicate::ne;
    Operation *rest = comparison.getLhs().getDefiningOp();
    APInt m, k;
    if (!isEqual || !isa_and_nonnull<attn::ModOp, arith::RemUIOp>(rest) ||
        !rest->getResult(0).getType().isInteger(32) ||
        !matchPattern(rest->getOperand(1), m_ConstantInt(&m)) || m.getSExtValue() < 1 ||
        !matchPattern(comparison.getRhs(), m_ConstantInt(&k)))
      return;
    std::optional<int> s = slope(rest->getOperand(0));
    if (!s || *s == 0 || k.isNegative() || k.sge(m))
      return;
    OpBuilder b(comparison);
    Location loc = comparison.getLoc();
    DenseMap<Value, Value> known;
    Value start = atColumn(b, rest->getOperand(0), tile::FirstColumnOp::create(b, loc), known);
    IRMapping mapping;
    mapping.map(rest->getOperand(0), start);
    Value ofFirst = b.clone(*rest, mapping)->getResult(0);
    Value distance =
        arith::FPToSIOp::create(b, loc, b.getI32Type(), tile::ColumnDistanceOp::create(b, loc));
    Value wanted = comparison.getRhs();
    wanted = *s > 0 ? arith::SubIOp::create(b, loc, wanted, distance).getResult()
                    : arith::AddIOp::create(b, loc, wanted, distance).getResult();
    wanted = attn::ModOp::create(b, loc, wanted, rest->getOperand(1));
    comparison.replaceAllUsesWith(
        arith::CmpIOp::create(b, loc, comparison.getPredicate(), ofFirst, wanted).getResult());
    comparison.erase();
  }

  tile::MapOp map;
  bool spreadsFactors;
  DenseMap<Value, std::optional<int>> slopes;
  DenseMap<Value, Value> reciprocals;
  DenseMap<Value, bool> ofRow;
};

} // namespace

void shareElementArithmetic(tile::KernelOp kernel) {
  bool spreadsFactors =
      cast<DictionaryAttr>(kernel->removeAttr(kCleanUpAttr)).contains("spreads_factors");
  SmallVector<tile::MapOp> maps;
  kernel.walk([&](tile::MapOp map) {
    if (!map.isOverRows())
      maps.push_back(map);
  });
  for (tile::MapOp map : maps)
    MapRewriter(map, spreadsFactors).run();
  (void)applyPatternsGreedily(kernel, FrozenRewritePatternSet());
}

} // namespace attnc::schedule
