#include "compiler/driver/report/nest_work.h"
#include "compiler/schedule/stream/stream_visits.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::driver {
namespace {

using Kind = WorkTerm::Kind;
using Dims = llvm::SetVector<StringAttr>;

/// What one operation on scalars counts as; nothing for what is not floating-point arithmetic.
std::optional<Kind> kindOf(Operation *op) {
  if (op->getNumResults() != 1 || !isa<FloatType>(op->getResult(0).getType()))
    return std::nullopt;
  if (isa<arith::DivFOp>(op))
    return Kind::Special;
  if (isa<attn::RandOp>(op))
    return Kind::Other;
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, arith::MaximumFOp,
          arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, attn::SubOp, attn::ModOp,
          math::AbsFOp, math::FloorOp, math::CeilOp, math::RoundOp>(op))
    return Kind::Other;
  return isa<math::MathDialect>(op->getDialect()) ? std::optional(Kind::Special) : std::nullopt;
}

// Of a block of four random numbers: ten rounds of two products of 32 bits with 64, each of which
// takes the time of two operations, and of two exclusive ors of three. That much it takes whoever
// computes it; what ours takes beside it, scalar_cost.cpp counts.
constexpr int64_t kRandomBlock = 10 * (2 * 2 + 2);

int64_t countOf(Operation *op) { return isa<attn::RandOp>(op) ? kRandomBlock / 4 : 1; }

/// The dim of the grid whose cells divide the stream between them; null if none does.
StringAttr partsOf(red::NestOp nest) {
  for (auto [dim, index] :
       llvm::zip(nest.getGrid().getAsRange<StringAttr>(), nest.getDomainBlock()->getArguments()))
    if (!index.use_empty() && schedule::computedExtent(attn::programOf(nest), dim))
      return dim;
  return {};
}

class Counter {
public:
  explicit Counter(red::NestOp nest)
      : nest(nest), program(attn::programOf(nest)),
        parts(nest.getDomainBlock() ? partsOf(nest) : StringAttr()) {}

  std::vector<WorkTerm> count() {
    for (Operation &op : *nest.getBodyBlock())
      llvm::TypeSwitch<Operation *>(&op)
          .Case<red::FoldOp>([&](red::FoldOp fold) { countFold(fold); })
          .Case<attn::MapOp>([&](attn::MapOp map) { countMap(map); });
    return std::move(terms);
  }

private:
  static Dims dimsOf(Value array) {
    Dims dims;
    dims.insert_range(cast<attn::ArrayType>(array.getType()).getDims());
    return dims;
  }

  static Dims join(const Dims &a, const Dims &b) {
    Dims all = a;
    all.insert_range(b);
    return all;
  }

  bool has(const Dims &dims, ArrayAttr role) const {
    return llvm::any_of(dims, [&](StringAttr dim) { return llvm::is_contained(role, dim); });
  }

  void add(Kind kind, int64_t count, Dims dims) {
    if (dims.empty())
      return;
    WorkTerm term{kind, count, {}, has(dims, nest.getRow()) && has(dims, nest.getStream())};
    if (parts && term.masked) // each part computes what it visits
      dims.insert(parts);
    for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
      if (dims.contains(dim.getName()))
        term.dims.push_back(dim.getName().getValue().str());
    for (WorkTerm &known : terms)
      if (known.kind == kind && known.dims == term.dims) {
        known.count += count;
        return;
      }
    terms.push_back(std::move(term));
  }

  // Factors are multiplied where their product is smallest, until two are left for the sum.
  void countFold(red::FoldOp fold) {
    std::vector<Dims> factors;
    for (Value factor : fold.getFactors())
      factors.push_back(dimsOf(factor));
    if (fold.getExponent())
      factors.push_back(weightOf(fold));
    while (factors.size() > 2)
      mergeTwo(factors);
    Dims all;
    for (const Dims &factor : factors)
      all.insert_range(factor);
    all.insert_range(fold.getDims().getAsRange<StringAttr>());
    if (factors.size() == 2)
      add(Kind::Products, 2, all);
    else
      add(Kind::Other, 1, all);
  }

  // exp(exponent - reference), once for all folds that have it.
  Dims weightOf(red::FoldOp fold) {
    Dims dims = join(dimsOf(fold.getExponent()), dimsOf(fold.getReference()));
    if (weights.insert({fold.getExponent(), fold.getReference()}).second) {
      add(Kind::Other, 1, dims);
      add(Kind::Special, 1, dims);
    }
    return dims;
  }

  // The two factors whose product is smallest; of very many, the last two will do.
  void mergeTwo(std::vector<Dims> &factors) {
    constexpr size_t kCompared = 24;
    size_t a = factors.size() - 2, b = factors.size() - 1;
    if (factors.size() <= kCompared)
      for (size_t i = 0; i < factors.size(); ++i)
        for (size_t j = i + 1; j < factors.size(); ++j)
          if (join(factors[i], factors[j]).size() < join(factors[a], factors[b]).size())
            a = i, b = j;
    factors[a] = join(factors[a], factors[b]);
    add(Kind::Other, 1, factors[a]);
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(b));
  }

  void countMap(attn::MapOp map) {
    llvm::DenseMap<Value, Dims> known;
    for (auto [argument, operand] :
         llvm::zip(map.getBodyBlock()->getArguments(), map.getOperands()))
      known[argument] = dimsOf(operand);
    for (Operation &op : *map.getBodyBlock()) {
      Dims dims;
      for (Value operand : op.getOperands())
        dims.insert_range(known[operand]);
      for (Value result : op.getResults())
        known[result] = dims;
      if (std::optional<Kind> kind = kindOf(&op))
        add(*kind, countOf(&op), dims);
    }
  }

  red::NestOp nest;
  attn::ProgramOp program;
  StringAttr parts;
  std::vector<WorkTerm> terms;
  llvm::DenseSet<std::pair<Value, Value>> weights; // that are counted
};

std::optional<int64_t> extentOf(red::NestOp nest, StringAttr dim,
                                const std::map<std::string, int64_t> &extents) {
  if (attn::DimAttr attribute = attn::programOf(nest).lookupDim(dim); attribute.isStatic())
    return attribute.getExtent();
  auto known = extents.find(dim.getValue().str());
  return known == extents.end() ? std::nullopt : std::optional(known->second);
}

/// Whether the 0-d arrays that the bounds use are known from the extents of the row and the stream
/// dim and from those that are given.
bool boundsAreKnown(red::NestOp nest, const schedule::StreamPlan &plan,
                    const std::map<std::string, int64_t> &extents) {
  llvm::SetVector<Value> arrays; // each once, however many use it
  for (red::ScalarOp scalar : nest.getDomainBlock()->getOps<red::ScalarOp>())
    arrays.insert(scalar.getArray());
  for (size_t i = 0; i < arrays.size(); ++i) {
    Operation *op = arrays[i].getDefiningOp();
    if (auto size = dyn_cast_or_null<attn::SizeOp>(op)) {
      StringAttr dim = size.getDimAttr();
      if (dim == plan.row || dim == plan.stream || extentOf(nest, dim, extents))
        continue;
      Value computed = schedule::computedExtent(attn::programOf(nest), dim);
      if (!computed)
        return false;
      arrays.insert(computed);
    } else if (auto param = dyn_cast_or_null<attn::ParamOp>(op)) {
      if (!param.getDefaultValue())
        return false;
      arrays.insert(param.getDefaultValue());
    } else if (isa_and_nonnull<attn::MapOp>(op)) {
      arrays.insert_range(op->getOperands());
    } else {
      return false;
    }
  }
  return true;
}

/// The cells of the grid that visit different parts of the stream.
std::optional<std::vector<schedule::GridCell>>
cellsOf(red::NestOp nest, const schedule::StreamPlan &plan, int64_t rows, int64_t stream,
        const std::map<std::string, int64_t> &extents) {
  constexpr int64_t kMost = 1024;
  schedule::GridCell cell{extents, {}};
  StringAttr parts = partsOf(nest);
  if (!parts)
    return {{cell}};
  std::optional<int64_t> count = schedule::extentIn(nest, plan, parts, rows, stream, cell);
  if (!count || *count < 1 || *count > kMost)
    return std::nullopt;
  std::vector<schedule::GridCell> cells(static_cast<size_t>(*count), cell);
  for (auto [number, of] : llvm::enumerate(cells))
    of.indices[parts.str()] = static_cast<int64_t>(number);
  return cells;
}

void measureDomain(red::NestOp nest, const std::map<std::string, int64_t> &extents,
                   NestWork &work) {
  if (!nest.getDomainBlock()) {
    work.visited = 1;
    return;
  }
  std::string why;
  FailureOr<schedule::StreamPlan> plan = schedule::planStream(nest, why);
  if (failed(plan) || !boundsAreKnown(nest, *plan, extents))
    return;
  std::optional<int64_t> rows = extentOf(nest, plan->row, extents);
  std::optional<int64_t> stream = extentOf(nest, plan->stream, extents);
  if (!rows || !stream || *rows < 1 || *stream < 1)
    return;
  auto cells = cellsOf(nest, *plan, *rows, *stream, extents);
  if (!cells)
    return;
  constexpr int64_t kSamples = 4096, kParts = 12;
  auto length = static_cast<double>(*stream);
  int64_t sample = llvm::divideCeil(*rows * static_cast<int64_t>(cells->size()), kSamples);
  double sum = 0, all = 0;
  for (const schedule::GridCell &cell : *cells)
    for (auto [lo, hi] : schedule::streamRanges(nest, *plan, sample, *rows, *stream, cell)) {
      sum += static_cast<double>(std::max<int64_t>(hi - lo, 0));
      all += length;
    }
  work.visited = sum / all;
  if (cells->size() > 1)
    return;
  for (auto [lo, hi] : schedule::streamRanges(nest, *plan, llvm::divideCeil(*rows, kParts), *rows,
                                              *stream, cells->front()))
    work.parts.push_back({static_cast<double>(lo) / length, static_cast<double>(hi) / length});
}

} // namespace

NestWork countNestWork(red::NestOp nest, const std::map<std::string, int64_t> &extents) {
  NestWork work;
  work.terms = Counter(nest).count();
  measureDomain(nest, extents, work);
  return work;
}

} // namespace attnc::driver
