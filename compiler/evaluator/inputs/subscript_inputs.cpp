#include "compiler/evaluator/inputs/subscript_inputs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// Ranges stay where products and quotients of them fit 64 bits.
constexpr int64_t kMost = int64_t(1) << 31;

/// Goes from subscripts back to the inputs that they are computed from.
class Tracer {
public:
  Tracer(const std::map<std::string, int64_t> &extents) : extents(extents) {}

  void trace(attn::ReadOp read) {
    auto source = read.getSource().getType();
    for (auto [axis, dim] : llvm::enumerate(source.getDims()))
      if (Value subscript = read.subscriptValue(axis))
        follow(subscript, extents.at(dim.str()));
  }

  void trace(attn::ExtentOp length) {
    if (!length.getValue().getType().isScalar())
      follow(length.getValue(), extents.at(length.getDim().str()));
  }

  llvm::DenseMap<Value, int64_t> ranges;

private:
  /// Notes that `value`, an array or an element in a map, should lie in [0, range).
  void follow(Value value, int64_t range) {
    auto [entry, fresh] = wanted.try_emplace(value, range);
    if (!fresh && entry->second <= range)
      return;
    entry->second = range;
    if (auto element = dyn_cast<BlockArgument>(value)) {
      auto map = dyn_cast<attn::MapOp>(element.getOwner()->getParentOp());
      return map ? follow(map.getOperand(element.getArgNumber()), range) : void();
    }
    Operation *op = value.getDefiningOp();
    auto operand = [&](unsigned i, int64_t r) { follow(op->getOperand(i), r); };
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](attn::InputOp input) {
          if (isa<IntegerType>(input.getType().getElementType()))
            ranges[value] = range;
        })
        .Case([&](attn::ReadOp read) { follow(read.getSource(), range); })
        .Case([&](attn::MapOp map) { follow(map.getYielded(), range); })
        .Case<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp>([&](auto) {
          operand(0, range);
          operand(1, range);
        })
        .Case([&](arith::SelectOp) {
          operand(1, range);
          operand(2, range);
        })
        .Case([&](arith::MulIOp) {
          for (unsigned side : {0u, 1u})
            if (std::optional<int64_t> factor = known(op->getOperand(1 - side)))
              operand(side, llvm::divideCeil(range, *factor));
        })
        .Case([&](arith::FloorDivSIOp) {
          if (std::optional<int64_t> divisor = known(op->getOperand(1)))
            operand(0, std::min(kMost, range * *divisor));
        });
  }

  /// The value of a positive constant or a size.
  std::optional<int64_t> known(Value value) const {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant.sgt(0) && constant.slt(kMost) ? std::optional(constant.getSExtValue())
                                                    : std::nullopt;
    auto element = dyn_cast<BlockArgument>(value);
    if (!element)
      return std::nullopt;
    auto map = dyn_cast<attn::MapOp>(element.getOwner()->getParentOp());
    auto size =
        map ? map.getOperand(element.getArgNumber()).getDefiningOp<attn::SizeOp>() : attn::SizeOp();
    int64_t extent = size ? extents.at(size.getDim().str()) : 0;
    return extent > 0 ? std::optional(extent) : std::nullopt;
  }

  const std::map<std::string, int64_t> &extents;
  llvm::DenseMap<Value, int64_t> wanted;
};

} // namespace

llvm::DenseMap<Value, int64_t> subscriptRanges(attn::ProgramOp program,
                                               const std::map<std::string, int64_t> &extents) {
  Tracer tracer(extents);
  program.walk([&](attn::ReadOp read) { tracer.trace(read); });
  return std::move(tracer.ranges);
}

llvm::DenseMap<Value, int64_t> lengthRanges(attn::ProgramOp program,
                                            const std::map<std::string, int64_t> &extents) {
  Tracer tracer(extents);
  program.walk([&](attn::ExtentOp length) { tracer.trace(length); });
  return std::move(tracer.ranges);
}

llvm::SmallDenseSet<Value> offsetInputs(attn::ProgramOp program) {
  auto inputOf = [](attn::MapOp map, Value scalar) -> Value {
    auto element = dyn_cast<BlockArgument>(scalar);
    auto read = element ? map.getOperand(element.getArgNumber()).getDefiningOp<attn::ReadOp>()
                        : attn::ReadOp();
    return read && read.getSource().getDefiningOp<attn::InputOp>() ? read.getSource() : Value();
  };
  llvm::SmallDenseSet<Value> inputs;
  for (auto length : program.getBodyBlock()->getOps<attn::ExtentOp>()) {
    auto map = length.getValue().getDefiningOp<attn::MapOp>();
    auto difference = map ? map.getYielded().getDefiningOp<arith::SubIOp>() : arith::SubIOp();
    if (!difference)
      continue;
    Value end = inputOf(map, difference.getLhs()), begin = inputOf(map, difference.getRhs());
    if (end && end == begin && cast<attn::ArrayType>(end.getType()).getDims().size() == 1)
      inputs.insert(end);
  }
  return inputs;
}

int64_t offsetValue(Type storage, int64_t rows, int64_t number, int64_t count, uint64_t key) {
  // Every third of them repeats the one before: an empty sequence.
  if (number % 3 == 2)
    --number;
  unsigned bits = storage.getIntOrFloatBitWidth();
  int64_t last = std::max<int64_t>(count - 1, 1);
  int64_t shift = number > 0 && number < last ? static_cast<int64_t>(key % 7) : 0;
  int64_t value = std::min(rows, rows / last * number + rows % last * number / last + shift);
  return bits < 63 ? std::min(value, (int64_t(1) << (bits - 1)) - 1) : value;
}

int64_t lengthValue(Type storage, int64_t longest, uint64_t random) {
  unsigned bits = storage.getIntOrFloatBitWidth();
  longest = std::min(longest, bits < 63 ? (int64_t(1) << (bits - 1)) - 1 : longest);
  uint64_t inside = random >> 8;
  return random % 4 == 0 ? 0 : random % 4 == 1 ? longest : inside % (longest + 1);
}

int64_t subscriptValue(Type storage, int64_t range, uint64_t random) {
  unsigned bits = storage.getIntOrFloatBitWidth();
  bool isUnsigned = storage.isUnsignedInteger() || bits == 1;
  int64_t low = isUnsigned ? 0 : llvm::minIntN(bits);
  int64_t high = isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(bits)) : llvm::maxIntN(bits);
  uint64_t inside = random >> 8;
  if (random % 16 != 0)
    return std::min<int64_t>(inside % range, high);
  const int64_t outside[] = {-1, range, low, high};
  return std::clamp(outside[inside % 4], low, high);
}

} // namespace attnc::evaluator
