#include "compiler/evaluator/float64/domain_check.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// Single elements; odd tiles, the last of which are short; tiles of several elements each.
constexpr std::pair<int64_t, int64_t> kTiles[] = {{1, 1}, {3, 5}, {16, 8}};

double elementAt(const Tensor &array, int64_t offset) {
  return array.kind == ElementKind::Real ? array.value[offset]
                                         : static_cast<double>(array.integer[offset]);
}

/// True if the element leaves a state as it is. So may one that is NaN: it is 0 times what is not
/// finite, and whether that counts is not said.
bool isNeutral(double element, double identity) {
  return element == identity || std::isnan(element);
}

/// Calls `body(index)` for every point of a box until it returns false.
void forEachPoint(ArrayRef<int64_t> shape, llvm::function_ref<bool(ArrayRef<int64_t>)> body) {
  if (llvm::is_contained(shape, 0))
    return;
  Extents index(shape.size(), 0);
  while (body(index)) {
    size_t axis = shape.size();
    while (axis-- > 0 && ++index[axis] == shape[axis])
      index[axis] = 0;
    if (axis == size_t(-1))
      return;
  }
}

int64_t offsetAt(const Tensor &array, const Space &space, ArrayRef<int64_t> index) {
  int64_t offset = 0;
  for (auto [dim, at] : llvm::zip(space.dims, index))
    offset += array.strideOf(dim) * at;
  return offset;
}

/// The value of a 0-d array in every element of a register.
void broadcast(const Tensor &array, Register &into) {
  for (int64_t i = 0; i < kChunk; ++i)
    if (array.kind == ElementKind::Real)
      into.set(i, Real{array.value[0], 0});
    else
      into.set(i, Whole{array.integer[0], 0});
}

/// The arithmetic of a domain, one register for each of its values.
class Arithmetic {
public:
  Arithmetic(Block &block, const ArraySource &arrays, const std::map<std::string, int64_t> &extents)
      : block(block), arrays(arrays), extents(extents) {
    for (Value argument : block.getArguments())
      number(argument);
  }

  llvm::Error compile() {
    for (Operation &op : block.without_terminator()) {
      if (isa<attn::SizeOp>(op))
        continue;
      if (auto scalar = dyn_cast<red::ScalarOp>(op)) {
        load(scalar);
        continue;
      }
      if (auto extreme = dyn_cast<red::ExtremeOp>(op)) {
        number(extreme.getResult());
        steps.push_back({{}, extreme});
        continue;
      }
      llvm::Expected<Instruction> rule = scalarRule(op);
      if (!rule)
        return rule.takeError();
      for (auto [i, operand] : llvm::enumerate(op.getOperands()))
        rule->operands[i] = numbers.lookup(operand);
      rule->result = number(op.getResult(0));
      steps.push_back({*rule, {}});
    }
    return llvm::Error::success();
  }

  /// Arguments lie in the first registers.
  std::vector<Register> &values() { return registers; }
  const Register &of(Value value) { return registers[numbers.lookup(value)]; }

  void run(int64_t count) {
    for (const Step &step : steps)
      if (red::ExtremeOp extreme = step.extreme)
        for (int64_t i = 0; i < count; ++i)
          registers[numbers.lookup(extreme.getResult())].set(i, Whole{extremeAt(extreme, i), 0});
      else
        step.instruction.run(step.instruction, registers, count);
  }

private:
  struct Step {
    Instruction instruction;
    red::ExtremeOp extreme; // if not null, in place of the instruction
  };

  // The extreme of the box that the registers hold for tile `at`.
  int64_t extremeAt(red::ExtremeOp extreme, int64_t at) {
    const Tensor &array = arrays.tensor(extreme.getArray());
    Extents first, shape, strides;
    for (auto [axis, dim] :
         llvm::enumerate(cast<attn::ArrayType>(extreme.getArray().getType()).getDims())) {
      int64_t extent = array.shape[llvm::find(array.dims, dim) - array.dims.begin()];
      int64_t begin = std::max<int64_t>(of(extreme.getFirst()[axis]).integer[at], 0);
      int64_t end = std::min(of(extreme.getLast()[axis]).integer[at], extent - 1);
      first.push_back(begin);
      shape.push_back(std::max<int64_t>(end - begin + 1, 0));
      strides.push_back(array.strideOf(dim));
    }
    bool largest = extreme.getKind() == red::FoldKind::Max;
    int64_t result =
        largest ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
    forEachPoint(shape, [&](ArrayRef<int64_t> index) {
      int64_t offset = 0;
      for (auto [i, begin, stride] : llvm::zip(index, first, strides))
        offset += (begin + i) * stride;
      int64_t element = array.integer[offset];
      result = largest ? std::max(result, element) : std::min(result, element);
      return true;
    });
    return result;
  }

  unsigned number(Value value) {
    numbers[value] = registers.size();
    registers.emplace_back();
    return numbers[value];
  }

  void load(red::ScalarOp scalar) {
    Register &into = registers[number(scalar.getResult())];
    if (auto size = scalar.getArray().getDefiningOp<attn::SizeOp>())
      std::fill_n(into.integer.data(), kChunk, extents.at(size.getDim().str()));
    else
      broadcast(arrays.tensor(scalar.getArray()), into);
  }

  Block &block;
  const ArraySource &arrays;
  const std::map<std::string, int64_t> &extents;
  llvm::DenseMap<Value, unsigned> numbers;
  std::vector<Register> registers;
  std::vector<Step> steps;
};

} // namespace

llvm::Expected<DomainCheck> DomainCheck::create(red::NestOp nest, const Space &grid,
                                                const Space &row, const Space &stream,
                                                const ArraySource &arrays,
                                                const std::map<std::string, int64_t> &extents) {
  DomainCheck check;
  check.gridRank = grid.dims.size();
  check.rowRank = row.dims.size();
  for (const Space *part : {&grid, &row, &stream}) {
    llvm::append_range(check.all.dims, part->dims);
    llvm::append_range(check.all.shape, part->shape);
  }
  for (auto [rows, columns] : kTiles) {
    Tiling tiling{rows, columns, {}, {}, {}, {}, {}};
    if (llvm::Error error = check.evaluate(nest, arrays, extents, tiling))
      return error;
    check.tilings.push_back(std::move(tiling));
  }
  return check;
}

llvm::Error DomainCheck::evaluate(red::NestOp nest, const ArraySource &arrays,
                                  const std::map<std::string, int64_t> &extents,
                                  Tiling &tiling) const {
  for (auto [axis, extent] : llvm::enumerate(all.shape)) {
    int64_t size = axis < gridRank ? 1 : axis < gridRank + rowRank ? tiling.rows : tiling.columns;
    tiling.counts.push_back((extent + size - 1) / size);
  }
  Arithmetic arithmetic(*nest.getDomainBlock(), arrays, extents);
  if (llvm::Error error = arithmetic.compile())
    return error;
  auto bounds = cast<red::BoundsOp>(nest.getDomainBlock()->getTerminator());
  tiling.lo.resize(bounds.getLo().size());
  tiling.hi.resize(bounds.getHi().size());
  int64_t tiles = product(tiling.counts);
  for (int64_t first = 0; first < tiles; first += kChunk) {
    int64_t count = std::min(kChunk, tiles - first);
    place(tiling, first, count, arithmetic.values());
    arithmetic.run(count);
    for (size_t k = 0; k < tiling.lo.size(); ++k) {
      const Register &lo = arithmetic.of(bounds.getLo()[k]), &hi = arithmetic.of(bounds.getHi()[k]);
      tiling.lo[k].insert(tiling.lo[k].end(), lo.integer.begin(), lo.integer.begin() + count);
      tiling.hi[k].insert(tiling.hi[k].end(), hi.integer.begin(), hi.integer.begin() + count);
    }
    const Register &full = arithmetic.of(bounds.getFull());
    tiling.full.insert(tiling.full.end(), full.integer.begin(), full.integer.begin() + count);
    if (bounds.getLive()) {
      const Register &live = arithmetic.of(bounds.getLive());
      tiling.live.insert(tiling.live.end(), live.integer.begin(), live.integer.begin() + count);
    }
  }
  return llvm::Error::success();
}

void DomainCheck::place(const Tiling &tiling, int64_t first, int64_t count,
                        std::vector<Register> &arguments) const {
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = first + i;
    Extents tile(all.shape.size());
    for (size_t axis = tile.size(); axis-- > 0; rest /= tiling.counts[axis])
      tile[axis] = rest % tiling.counts[axis];
    size_t argument = 0;
    for (size_t axis = 0; axis < tile.size(); ++axis) {
      if (axis < gridRank) {
        arguments[argument++].set(i, Whole{tile[axis], 0});
        continue;
      }
      int64_t size = axis < gridRank + rowRank ? tiling.rows : tiling.columns;
      int64_t begin = tile[axis] * size, end = std::min(begin + size, all.shape[axis]);
      arguments[argument++].set(i, Whole{begin, 0});
      arguments[argument++].set(i, Whole{end - 1, 0});
    }
  }
}

int64_t DomainCheck::tileAt(const Tiling &tiling, ArrayRef<int64_t> index) const {
  int64_t tile = 0;
  for (size_t axis = 0; axis < all.shape.size(); ++axis) {
    int64_t size = axis < gridRank ? 1 : axis < gridRank + rowRank ? tiling.rows : tiling.columns;
    tile = tile * tiling.counts[axis] + index[axis] / size;
  }
  return tile;
}

bool DomainCheck::isOutside(const Tiling &tiling, ArrayRef<int64_t> index) const {
  int64_t tile = tileAt(tiling, index);
  if (!tiling.live.empty() && !tiling.live[tile])
    return true;
  for (size_t k = 0; k < tiling.lo.size(); ++k) {
    int64_t at = index[gridRank + rowRank + k];
    if (at < tiling.lo[k][tile] || at >= tiling.hi[k][tile])
      return true;
  }
  return false;
}

Space DomainCheck::spaceWith(ArrayRef<Operand> operands) const {
  Space space = all;
  for (const Operand &operand : operands)
    for (auto [dim, extent] : llvm::zip_equal(operand.array.dims, operand.array.shape))
      if (!llvm::is_contained(space.dims, dim)) {
        space.dims.push_back(dim);
        space.shape.push_back(extent);
      }
  return space;
}

void DomainCheck::findLost(const Tiling &tiling, ArrayRef<Operand> operands, Lost &lost) const {
  Space space = spaceWith(operands);
  forEachPoint(space.shape, [&](ArrayRef<int64_t> index) {
    bool isLost = isOutside(tiling, index) && llvm::none_of(operands, [&](const Operand &operand) {
                    int64_t offset = offsetAt(operand.array, space, index);
                    return isNeutral(elementAt(operand.array, offset), operand.identity);
                  });
    if (isLost)
      lost.try_emplace(Extents(index.take_front(gridRank + rowRank)), text(tiling, index));
    return true;
  });
}

void DomainCheck::forEachLost(const Tensor &array, const Lost &lost,
                              llvm::function_ref<void(int64_t, const std::string &)> body) const {
  if (lost.empty())
    return;
  Space rows = all;
  rows.dims.resize(gridRank + rowRank);
  rows.shape.resize(gridRank + rowRank);
  std::map<int64_t, const std::string *> offsets; // of rows; null where one is kept
  forEachPoint(rows.shape, [&](ArrayRef<int64_t> index) {
    auto found = lost.find(Extents(index));
    const std::string *what = found == lost.end() ? nullptr : &found->second;
    auto [known, isNew] = offsets.try_emplace(offsetAt(array, rows, index), what);
    if (!isNew && !what)
      known->second = nullptr;
    return true;
  });
  Space rest; // inner dims
  for (auto [dim, extent] : llvm::zip_equal(array.dims, array.shape))
    if (!llvm::is_contained(rows.dims, dim)) {
      rest.dims.push_back(dim);
      rest.shape.push_back(extent);
    }
  for (auto [offset, what] : offsets)
    if (what)
      forEachPoint(rest.shape, [&](ArrayRef<int64_t> index) {
        body(offset + offsetAt(array, rest, index), *what);
        return true;
      });
}

std::string DomainCheck::text(const Tiling &tiling, ArrayRef<int64_t> index) const {
  std::string place;
  for (auto [dim, at] : llvm::zip(all.dims, index))
    place += (place.empty() ? "" : ", ") + dim.str() + "=" + std::to_string(at);
  return llvm::formatv("{0} (tiles of {1} rows and {2} of the stream)", place, tiling.rows,
                       tiling.columns);
}

void DomainCheck::checkState(red::FoldOp fold, ArrayRef<Operand> operands) {
  for (const Tiling &tiling : tilings) {
    // The exponent decides alone as a rule, and has fewer dims than the factors have.
    Lost lost;
    findLost(tiling, operands.take_front(), lost);
    if (!lost.empty())
      findLost(tiling, operands, lostOf[fold]);
  }
}

void DomainCheck::poison(red::FoldOp fold, Tensor &state) const {
  auto found = lostOf.find(fold);
  if (found == lostOf.end())
    return;
  // An integer that nothing has been folded into may be used as an index.
  int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  int64_t nothing = fold.getKind() == red::FoldKind::Max   ? least
                    : fold.getKind() == red::FoldKind::Min ? most
                                                           : 0;
  forEachLost(state, found->second, [&](int64_t offset, const std::string &) {
    if (state.kind == ElementKind::Real)
      state.storage->value[offset] = std::numeric_limits<double>::quiet_NaN();
    else
      state.storage->integer[offset] = nothing;
  });
}

llvm::Error DomainCheck::checkResult(const Tensor &result) const {
  for (auto &[fold, lost] : lostOf) {
    const std::string *wrong = nullptr;
    forEachLost(result, lost, [&](int64_t offset, const std::string &what) {
      if (!wrong && std::isnan(elementAt(result, offset)))
        wrong = &what;
    });
    if (wrong)
      return llvm::createStringError("%sthe domain leaves out the element at %s, which counts",
                                     placePrefix(fold->getLoc()).c_str(), wrong->c_str());
  }
  return llvm::Error::success();
}

llvm::Error DomainCheck::checkFull(const Tensor &condition, bool side) const {
  for (const Tiling &tiling : tilings) {
    Space space = spaceWith({Operand{condition, 0}});
    std::optional<std::string> wrong;
    forEachPoint(space.shape, [&](ArrayRef<int64_t> index) {
      if (tiling.full[tileAt(tiling, index)] &&
          (elementAt(condition, offsetAt(condition, space, index)) != 0) != side)
        wrong = text(tiling, index);
      return !wrong;
    });
    if (wrong)
      return llvm::createStringError("the domain calls a tile full, and its mask drops %s",
                                     wrong->c_str());
  }
  return llvm::Error::success();
}

} // namespace attnc::evaluator
