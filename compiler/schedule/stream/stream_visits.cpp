#include "compiler/schedule/stream/stream_visits.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::schedule {
namespace {

using Known = std::optional<int64_t>;

int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

enum class Code : uint8_t {
  Add,
  Sub,
  Mul,
  And,
  Or,
  Max,
  Min,
  FloorDiv,
  CeilDiv,
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  Select
};

std::optional<Code> codeOf(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return Code::Equal;
  case arith::CmpIPredicate::ne:
    return Code::NotEqual;
  case arith::CmpIPredicate::slt:
    return Code::Less;
  case arith::CmpIPredicate::sle:
    return Code::LessOrEqual;
  case arith::CmpIPredicate::sgt:
    return Code::Greater;
  case arith::CmpIPredicate::sge:
    return Code::GreaterOrEqual;
  default:
    return {};
  }
}

// The code of an operation of two integers.
std::optional<Code> codeOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Code>>(op)
      .Case([](arith::AddIOp) { return Code::Add; })
      .Case([](arith::SubIOp) { return Code::Sub; })
      .Case([](arith::MulIOp) { return Code::Mul; })
      .Case([](arith::AndIOp) { return Code::And; })
      .Case([](arith::OrIOp) { return Code::Or; })
      .Case([](arith::MaxSIOp) { return Code::Max; })
      .Case([](arith::MinSIOp) { return Code::Min; })
      .Case([](arith::FloorDivSIOp) { return Code::FloorDiv; })
      .Case([](arith::CeilDivSIOp) { return Code::CeilDiv; })
      .Case([](arith::CmpIOp compare) { return codeOf(compare.getPredicate()); })
      .Default([](auto) { return std::nullopt; });
}

int64_t apply(Code code, int64_t a, int64_t b) {
  auto wrap = [](uint64_t value) { return static_cast<int64_t>(value); };
  uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (code) {
  case Code::Add:
    return wrap(x + y);
  case Code::Sub:
    return wrap(x - y);
  case Code::Mul:
    return wrap(x * y);
  case Code::And:
    return a & b;
  case Code::Or:
    return a | b;
  case Code::Max:
    return std::max(a, b);
  case Code::Min:
    return std::min(a, b);
  case Code::FloorDiv:
    return floorDivide(a, b);
  case Code::CeilDiv:
    return -floorDivide(-a, b);
  case Code::Equal:
    return a == b;
  case Code::NotEqual:
    return a != b;
  case Code::Less:
    return a < b;
  case Code::LessOrEqual:
    return a <= b;
  case Code::Greater:
    return a > b;
  case Code::GreaterOrEqual:
    return a >= b;
  case Code::Select:
    break;
  }
  llvm_unreachable("a choice has three operands");
}

/// Evaluates the integer arithmetic of a domain; a value is unknown if it cannot.
class DomainEvaluator {
public:
  DomainEvaluator(red::NestOp nest, const StreamPlan &plan, int64_t rows, int64_t extent,
                  const GridCell &cell = {})
      : nest(nest), plan(plan), rows(rows), extent(extent), cell(cell) {}

  StreamRange range(int64_t firstRow, int64_t lastRow) {
    Block *block = nest.getDomainBlock();
    if (!block)
      return {0, extent};
    values.clear();
    for (BlockArgument argument : block->getArguments())
      values[argument] = 0;
    unsigned grid = nest.getGrid().size();
    for (auto [i, dim] : llvm::enumerate(nest.getGrid().getAsRange<StringAttr>()))
      if (auto index = cell.indices.find(dim.str()); index != cell.indices.end())
        values[block->getArgument(i)] = index->second;
    values[block->getArgument(grid)] = firstRow;
    values[block->getArgument(grid + 1)] = lastRow;
    auto bounds = cast<red::BoundsOp>(block->getTerminator());
    int64_t lo = evaluate(bounds.getLo().front()).value_or(0);
    int64_t hi = evaluate(bounds.getHi().front()).value_or(extent);
    return {std::clamp<int64_t>(lo, 0, extent), std::clamp<int64_t>(hi, 0, extent)};
  }

  // The value if it is the same for all tiles of the grid's first cell.
  Known uniform(Value value) {
    Block *block = nest.getDomainBlock();
    for (BlockArgument argument : block->getArguments().take_front(nest.getGrid().size()))
      values[argument] = 0;
    return evaluate(value);
  }

  Known extentOf(StringAttr dim) {
    if (dim == plan.row)
      return rows;
    if (dim == plan.stream)
      return extent;
    if (auto given = cell.extents.find(dim.str()); given != cell.extents.end())
      return given->second;
    attn::ProgramOp program = attn::programOf(nest);
    attn::DimAttr declared = program.lookupDim(dim);
    if (declared.isStatic())
      return declared.getExtent();
    Value computed = computedExtent(program, dim);
    return computed ? ofArray(computed) : Known();
  }

private:
  Known evaluate(Value value) {
    if (auto known = values.find(value); known != values.end())
      return known->second;
    Known result = compute(value.getDefiningOp());
    return values[value] = result;
  }

  Known compute(Operation *op) {
    if (!op)
      return {}; // of a tile
    APInt literal;
    if (matchPattern(op, m_ConstantInt(&literal)))
      return literal.isIntN(1) && literal.getBitWidth() == 1 ? literal.getZExtValue()
                                                             : literal.getSExtValue();
    if (auto scalar = dyn_cast<red::ScalarOp>(op))
      return ofArray(scalar.getArray());
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      Known condition = evaluate(select.getCondition());
      return condition ? evaluate(*condition ? select.getTrueValue() : select.getFalseValue())
                       : Known();
    }
    if (op->getNumOperands() != 2)
      return {};
    Known a = evaluate(op->getOperand(0)), b = evaluate(op->getOperand(1));
    return a && b ? binary(op, *a, *b) : Known();
  }

  static Known binary(Operation *op, int64_t a, int64_t b) {
    std::optional<Code> code = codeOf(op);
    bool divides = code == Code::FloorDiv || code == Code::CeilDiv;
    return code && !(divides && b == 0) ? Known(apply(*code, a, b)) : Known();
  }

  // A 0-d array: the extent of a dim, a param's default, a literal. The same for every tile, and
  // computed once however many use it.
  Known ofArray(Value array) {
    if (auto known = arrays.find(array); known != arrays.end())
      return known->second;
    Known result = computeArray(array);
    return arrays[array] = result;
  }

  Known computeArray(Value array) {
    Operation *op = array.getDefiningOp();
    if (auto size = dyn_cast_or_null<attn::SizeOp>(op))
      return extentOf(size.getDimAttr());
    if (auto param = dyn_cast_or_null<attn::ParamOp>(op))
      return param.getDefaultValue() ? ofArray(param.getDefaultValue()) : Known();
    auto map = dyn_cast_or_null<attn::MapOp>(op);
    if (!map)
      return {};
    for (auto [argument, operand] :
         llvm::zip(map.getBodyBlock()->getArguments(), map.getOperands()))
      values[argument] =
          cast<attn::ArrayType>(operand.getType()).isScalar() ? ofArray(operand) : Known();
    return evaluate(map.getYielded());
  }

  red::NestOp nest;
  const StreamPlan &plan;
  int64_t rows, extent;
  GridCell cell;
  llvm::DenseMap<Value, Known> values, arrays;
};

/// The conditions of a domain for single tiles as a list of operations: they are evaluated for many
/// tiles.
class TileProgram {
public:
  /// Nothing if an operation cannot be evaluated.
  static std::optional<TileProgram> of(red::NestOp nest, DomainEvaluator &uniform) {
    Value live = liveCondition(nest);
    if (!live)
      return std::nullopt;
    TileProgram program;
    unsigned grid = nest.getGrid().size();
    for (unsigned i = 0; i < kArguments; ++i)
      program.places[nest.getDomainBlock()->getArgument(grid + i)] = i;
    program.slots.resize(kArguments);
    auto bounds = cast<red::BoundsOp>(nest.getDomainBlock()->getTerminator());
    Value wanted[] = {live, bounds.getFull()};
    for (Operation *op : domainSlice(nest, wanted))
      if (!program.add(op, uniform))
        return std::nullopt;
    program.live = program.place(wanted[0], uniform);
    program.full = program.place(wanted[1], uniform);
    return program;
  }

  TileClass classOf(int64_t firstRow, int64_t lastRow, int64_t first, int64_t last) {
    slots[0] = firstRow;
    slots[1] = lastRow;
    slots[2] = first;
    slots[3] = last;
    for (const Step &step : steps) {
      int64_t a = slots[step.a], b = slots[step.b];
      slots[step.into] =
          step.code == Code::Select ? (a ? b : slots[step.c]) : apply(step.code, a, b);
    }
    return !slots[live] ? TileClass::Skipped : slots[full] ? TileClass::Full : TileClass::Partial;
  }

private:
  static constexpr unsigned kArguments = 4; // first and last row, first and last stream index

  struct Step {
    Code code;
    unsigned a, b, c, into;
  };

  unsigned place(Value value, DomainEvaluator &uniform) {
    auto [found, added] = places.try_emplace(value, slots.size());
    if (added)
      slots.push_back(uniform.uniform(value).value_or(0));
    return found->second;
  }

  bool add(Operation *op, DomainEvaluator &uniform) {
    Value result = op->getResult(0);
    if (uniform.uniform(result))
      return true;
    bool chooses = isa<arith::SelectOp>(op);
    std::optional<Code> code = chooses ? Code::Select : codeOf(op);
    if (!code || (*code == Code::FloorDiv || *code == Code::CeilDiv
                      ? uniform.uniform(op->getOperand(1)).value_or(0) <= 0
                      : false))
      return false;
    auto at = [&](unsigned i) { return place(op->getOperand(i), uniform); };
    Step step{*code, at(0), at(1), chooses ? at(2) : 0, 0};
    step.into = place(result, uniform);
    steps.push_back(step);
    return true;
  }

  llvm::DenseMap<Value, unsigned> places;
  std::vector<int64_t> slots; // arguments, constants, results
  std::vector<Step> steps;
  unsigned live = 0, full = 0;
};

} // namespace

std::optional<std::vector<std::vector<TileClass>>> tileClasses(red::NestOp nest,
                                                               const StreamPlan &plan,
                                                               int64_t rowTile, int64_t columns,
                                                               int64_t rows, int64_t extent) {
  DomainEvaluator uniform(nest, plan, rows, extent), domain(nest, plan, rows, extent);
  std::optional<TileProgram> program = TileProgram::of(nest, uniform);
  if (!program)
    return std::nullopt;
  std::vector<std::vector<TileClass>> classes;
  for (int64_t row = 0; row < rows; row += rowTile) {
    int64_t lastRow = std::min(row + rowTile, rows) - 1;
    auto [lo, hi] = domain.range(row, lastRow);
    std::vector<TileClass> &tiles =
        classes.emplace_back(llvm::divideCeil(extent, columns), TileClass::Skipped);
    for (int64_t tile = lo / columns; tile * columns < hi; ++tile) {
      int64_t first = tile * columns, end = first + columns;
      TileClass &is = tiles[tile];
      is = program->classOf(row, lastRow, first, std::min(end, extent) - 1);
      if (is == TileClass::Full && end > extent)
        is = TileClass::Partial;
    }
  }
  return classes;
}

// True if the conditions depend on nothing but the places of tiles and constants.
static bool dependOnPlacesOnly(red::NestOp nest, ValueRange conditions) {
  unsigned grid = nest.getGrid().size();
  auto isGrid = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() < grid;
  };
  return llvm::none_of(domainSlice(nest, conditions), [&](Operation *op) {
    return isa<red::ScalarOp, red::ExtremeOp>(op) || llvm::any_of(op->getOperands(), isGrid);
  });
}

bool maySkipTiles(red::NestOp nest, const StreamPlan &plan, int64_t rows, int64_t extent) {
  constexpr int64_t kRows = 16, kColumns = 16; // the smallest tiles
  Value live = liveCondition(nest);
  if (!live || !dependOnPlacesOnly(nest, live))
    return bool(live);
  auto classes = tileClasses(nest, plan, kRows, kColumns, rows, extent);
  if (!classes)
    return true;
  auto ranges = streamRanges(nest, plan, kRows, rows, extent);
  for (auto [range, tiles] : llvm::zip(ranges, *classes))
    for (int64_t tile = range.lo / kColumns; tile * kColumns < range.hi; ++tile)
      if (tiles[tile] == TileClass::Skipped)
        return true;
  return false;
}

std::optional<int64_t> extentIn(red::NestOp nest, const StreamPlan &plan, StringAttr dim,
                                int64_t rows, int64_t extent, const GridCell &cell) {
  return DomainEvaluator(nest, plan, rows, extent, cell).extentOf(dim);
}

Value computedExtent(attn::ProgramOp program, StringAttr dim) {
  for (auto extent : program.getBodyBlock()->getOps<attn::ExtentOp>())
    if (extent.getDimAttr() == dim && cast<attn::ArrayType>(extent.getValue().getType()).isScalar())
      return extent.getValue();
  return Value();
}

std::vector<StreamRange> streamRanges(red::NestOp nest, const StreamPlan &plan, int64_t rowTile,
                                      int64_t rows, int64_t extent, const GridCell &cell) {
  DomainEvaluator domain(nest, plan, rows, extent, cell);
  std::vector<StreamRange> ranges;
  for (int64_t first = 0; first < rows; first += rowTile)
    ranges.push_back(domain.range(first, std::min(first + rowTile, rows) - 1));
  return ranges;
}

} // namespace attnc::schedule
