#include "compiler/frontend/bounds/check_reads.h"
#include "compiler/frontend/bounds/subscript_arithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace attnc {
namespace {

/// The integers and conditions of a program as scalar expressions, over its indices, sizes and
/// params. What is computed in another way is a leaf of which nothing is known.
class ScalarView {
public:
  ScalarView(attn::ProgramOp program, SizeFacts &facts, IntervalAnalysis &intervals)
      : program(program), facts(facts), intervals(intervals) {
    program.walk<WalkOrder::PreOrder>([&](Operation *op) { add(op); });
  }

  const Scalar *of(Value array) {
    const Scalar *&known = scalars[array];
    if (!known)
      known = leaf(array);
    return known;
  }

  /// What the maps compute, each after what it is computed from.
  ArrayRef<const Scalar *> inOrder() const { return order; }
  ScalarFactory &all() { return factory; }

  Polynomial size(StringAttr dim) {
    attn::DimAttr known = program.lookupDim(dim);
    return facts.size(dim.getValue(),
                      known.isStatic() ? std::optional(known.getExtent()) : std::nullopt);
  }

private:
  void add(Operation *op) {
    if (auto index = dyn_cast<attn::IndexOp>(op))
      intervals.setLeaf(index, Interval::ofIndex(size(index.getDimAttr())));
    else if (auto extent = dyn_cast<attn::SizeOp>(op))
      intervals.setLeaf(extent, Interval::of(size(extent.getDimAttr())));
    else if (auto param = dyn_cast<attn::ParamOp>(op))
      intervals.setLeaf(param, rangeOf(param).ofIntegers());
    else if (auto map = dyn_cast<attn::MapOp>(op))
      scalars[map] = ofMap(map);
  }

  static ParamRange rangeOf(attn::ParamOp param) {
    auto bound = [](std::optional<APFloat> value) {
      return value ? std::optional(value->convertToDouble()) : std::nullopt;
    };
    return {bound(param.getLower()), bound(param.getUpper()), param.getLowerOpen(),
            param.getUpperOpen()};
  }

  const Scalar *ofMap(attn::MapOp map) {
    for (auto [operand, scalar] : llvm::zip(map.getOperands(), map.getBodyBlock()->getArguments()))
      scalars[scalar] = of(operand);
    for (Operation &op : map.getBodyBlock()->without_terminator()) {
      const Scalar *scalar = ofOperation(&op);
      scalars[op.getResult(0)] = scalar;
      order.push_back(scalar);
    }
    return scalars.lookup(map.getYielded());
  }

  static bool isInteger(Value value) { return value.getType().isSignlessInteger(64); }
  static bool isCondition(Value value) { return value.getType().isSignlessInteger(1); }

  const Scalar *leaf(Value value) {
    auto array = dyn_cast<attn::ArrayType>(value.getType());
    Type element = array ? array.getElementType() : value.getType();
    Scalar &node = leaves.emplace_back(value.getLoc());
    node.kind = value.getDefiningOp() ? Scalar::Array : Scalar::Poison;
    node.type = element.isSignlessInteger(64)  ? ScalarType::Int
                : element.isSignlessInteger(1) ? ScalarType::Bool
                                               : ScalarType::F32;
    node.array = value;
    return &node;
  }

  const Scalar *ofOperation(Operation *op) {
    Value result = op->getResult(0);
    if (!isInteger(result) && !isCondition(result))
      return leaf(result);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      int64_t value = cast<IntegerAttr>(constant.getValue()).getInt();
      return isInteger(result) ? factory.integer(op->getLoc(), value)
                               : factory.condition(op->getLoc(), value != 0);
    }
    std::optional<ScalarOp> kind = kindOf(op);
    if (!kind)
      return leaf(result);
    SmallVector<const Scalar *> args;
    for (Value operand : op->getOperands())
      args.push_back(scalars.lookup(operand));
    return factory.operation(op->getLoc(), *kind,
                             isInteger(result) ? ScalarType::Int : ScalarType::Bool, args);
  }

  static std::optional<ScalarOp> kindOf(Operation *op) {
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return isInteger(compare.getLhs()) ? kindOf(compare.getPredicate()) : std::nullopt;
    if (isa<arith::SelectOp>(op) && isInteger(op->getResult(0)))
      return ScalarOp::Where;
    if (isCondition(op->getResult(0)))
      return isa<arith::AndIOp>(op) ? std::optional(ScalarOp::And) : std::nullopt;
    return llvm::TypeSwitch<Operation *, std::optional<ScalarOp>>(op)
        .Case([](arith::AddIOp) { return ScalarOp::Add; })
        .Case([](arith::SubIOp) { return ScalarOp::Sub; })
        .Case([](arith::MulIOp) { return ScalarOp::Mul; })
        .Case([](arith::FloorDivSIOp) { return ScalarOp::FloorDiv; })
        .Case([](attn::ModOp) { return ScalarOp::Mod; })
        .Case([](arith::MinSIOp) { return ScalarOp::Min; })
        .Case([](arith::MaxSIOp) { return ScalarOp::Max; })
        .Case([](math::AbsIOp) { return ScalarOp::Abs; })
        .Default([](Operation *) { return std::nullopt; });
  }

  static std::optional<ScalarOp> kindOf(arith::CmpIPredicate predicate) {
    switch (predicate) {
    case arith::CmpIPredicate::eq:
      return ScalarOp::Eq;
    case arith::CmpIPredicate::ne:
      return ScalarOp::Ne;
    case arith::CmpIPredicate::slt:
      return ScalarOp::Lt;
    case arith::CmpIPredicate::sle:
      return ScalarOp::Le;
    case arith::CmpIPredicate::sgt:
      return ScalarOp::Gt;
    case arith::CmpIPredicate::sge:
      return ScalarOp::Ge;
    default:
      return std::nullopt;
    }
  }

  attn::ProgramOp program;
  SizeFacts &facts;
  IntervalAnalysis &intervals;
  ScalarFactory factory;
  std::deque<Scalar> leaves;
  llvm::DenseMap<Value, const Scalar *> scalars; // of arrays and of the scalars in maps
  std::vector<const Scalar *> order;
};

class ReadChecker {
public:
  explicit ReadChecker(attn::ProgramOp program)
      : program(program), view(program, facts, intervals) {
    program.walk([&](attn::RequireOp fact) { intervals.assume(view.of(fact.getCondition())); });
    program.walk([&](attn::ExtentOp extent) {
      if (extent.getValue().getType().isScalar())
        intervals.assumeSize(view.size(extent.getDimAttr()), view.of(extent.getValue()));
    });
  }

  std::vector<UnprovenRead> run() {
    std::vector<attn::ReadOp> reads;
    program.walk<WalkOrder::PreOrder>([&](attn::ReadOp read) {
      if (!read.getOtherwise())
        reads.push_back(read);
    });
    computeIntervals(reads);
    for (attn::ReadOp read : reads)
      check(read);
    return std::move(unproven);
  }

private:
  // In order, so that a long chain of operations is not walked at once; and only of what subscripts
  // are computed from, since proofs have a budget.
  void computeIntervals(ArrayRef<attn::ReadOp> reads) {
    llvm::SmallPtrSet<const Scalar *, 32> needed;
    SmallVector<const Scalar *> next;
    for (attn::ReadOp read : reads)
      for (Value index : read.getIndices())
        next.push_back(view.of(index));
    while (!next.empty())
      if (const Scalar *scalar = next.pop_back_val(); needed.insert(scalar).second)
        llvm::append_range(next, scalar->args);
    for (const Scalar *scalar : view.inOrder())
      if (needed.contains(scalar)) {
        (void)intervals.interval(scalar);
        (void)arithmetic.mayWrap(scalar);
      }
  }

  // One finding for a read is enough.
  void check(attn::ReadOp read) {
    for (auto [axis, dim] : llvm::enumerate(read.getSource().getType().getDims()))
      if (std::string finding = checkSubscript(read, axis, dim); !finding.empty()) {
        unproven.push_back({read,
                            "cannot show that subscript " + std::to_string(axis + 1) +
                                " stays inside '" + dim.str() + "':" + finding,
                            "add `else 0.0` after the subscripts, or an attn.require from which "
                            "it follows"});
        return;
      }
  }

  // What is not proven about a subscript, or "".
  std::string checkSubscript(attn::ReadOp read, unsigned axis, StringAttr dim) {
    Polynomial size = view.size(dim);
    std::optional<Polynomial> last = Polynomial::subtract(size, Polynomial(1));
    if (StringAttr plain = read.subscriptDim(axis))
      return plain == dim || facts.provesAtMost(view.size(plain), size)
                 ? ""
                 : " size(" + plain.str() + ") may be larger than size(" + dim.str() + ")";
    const Scalar *value = view.of(read.subscriptValue(axis));
    Interval interval = intervals.interval(value);
    std::string finding;
    if (!intervals.provesAtLeast(value, Polynomial(0)))
      finding = " it may be below 0" + end("least", interval.lower);
    if (!last || !intervals.provesAtMost(value, *last))
      finding += std::string(finding.empty() ? "" : " and") + " it may reach size(" + dim.str() +
                 ")" + end("greatest", interval.upper);
    // The proof counts with integers that have no end.
    if (finding.empty() && arithmetic.mayWrap(value) && arithmetic.isMeasured(value))
      finding = " its arithmetic may leave 64 bits";
    return finding;
  }

  std::string end(StringRef which, ArrayRef<Polynomial> bounds) const {
    if (bounds.empty())
      return "";
    return (" (its " + which + " value is " + facts.print(bounds.front()) + ")").str();
  }

  attn::ProgramOp program;
  SizeFacts facts;
  IntervalAnalysis intervals{facts};
  ScalarView view;
  SubscriptArithmetic arithmetic{view.all(), intervals};
  std::vector<UnprovenRead> unproven;
};

} // namespace

std::vector<UnprovenRead> unprovenReads(attn::ProgramOp program) {
  return ReadChecker(program).run();
}

} // namespace attnc
