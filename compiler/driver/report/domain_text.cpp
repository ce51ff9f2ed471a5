#include "compiler/driver/report/domain_text.h"
#include "compiler/schedule/nest/signature.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::driver {
namespace {

// Characters of an expression that is named where it occurs again.
constexpr size_t kLong = 24;
// Operations of a text; what tells tiles apart by data can be long.
constexpr unsigned kMostOfBounds = 200, kMostOfLive = 60;

/// True for a name, a number, a call, or what stands in parentheses.
bool isOneTerm(StringRef text) {
  size_t open = text.find('(');
  if (text.find(' ') == StringRef::npos)
    return true;
  if (open == StringRef::npos || text.take_front(open).contains(' ') || text.back() != ')')
    return false;
  int depth = 0;
  for (char c : text.drop_front(open).drop_back()) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0)
      return false;
  }
  return true;
}

/// Writes the arithmetic of a domain.
class DomainWriter {
public:
  /// Of at most `most` operations, the rest is "...".
  std::string write(Value value, unsigned most) {
    left = most;
    return expression(value);
  }

  std::vector<std::pair<std::string, std::string>> shared;

private:
  std::string expression(Value value) {
    if (isa<BlockArgument>(value))
      return specTextOf(value);
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return literal(cast<IntegerAttr>(constant.getValue()));
    if (auto scalar = dyn_cast<red::ScalarOp>(op)) {
      if (auto size = scalar.getArray().getDefiningOp<attn::SizeOp>())
        return "size(" + size.getDim().str() + ")";
      return specTextOf(scalar.getArray());
    }
    if (auto extreme = dyn_cast<red::ExtremeOp>(op))
      return extremum(extreme);
    if (auto known = names.find(value); known != names.end())
      return known->second;
    if (left == 0)
      return "...";
    --left;
    std::string text = arithmetic(op);
    if (value.hasOneUse() || text.size() < kLong)
      return text;
    std::string name = "t" + std::to_string(shared.size() + 1);
    shared.emplace_back(name, text);
    return names[value] = name;
  }

  static std::string literal(IntegerAttr value) {
    if (value.getType().isInteger(1))
      return value.getValue().isOne() ? "true" : "false";
    if (value.getInt() == std::numeric_limits<int64_t>::max()) // nothing bounds it
      return "inf";
    return std::to_string(value.getInt());
  }

  std::string extremum(red::ExtremeOp extreme) {
    std::string kind = red::stringifyFoldKind(extreme.getKind()).str(), box;
    // Of the parts of a tensor: what its elements along the tile lie between.
    if (auto parts = extreme.getArray().getDefiningOp<red::NestOp>())
      for (auto read : parts.getBodyBlock()->getOps<attn::ReadOp>())
        return kind + "(" + schedule::tensorOf(read.getSource()).name + ")";
    for (auto [first, last] : llvm::zip(extreme.getFirst(), extreme.getLast())) {
      std::string from = expression(first);
      box += (box.empty() ? "" : ", ") + from;
      if (first != last)
        box += " to " + expression(last);
    }
    bool single = extreme.getFirst() == extreme.getLast();
    std::string element = schedule::tensorOf(extreme.getArray()).name + "[" + box + "]";
    return single ? element : kind + "(" + element + ")";
  }

  std::string arithmetic(Operation *op) {
    return llvm::TypeSwitch<Operation *, std::string>(op)
        .Case<arith::AddIOp>([&](auto) { return infix(op, "+"); })
        .Case<arith::SubIOp>([&](auto) { return infix(op, "-"); })
        .Case<arith::MulIOp>([&](auto) { return infix(op, "*"); })
        .Case<arith::AndIOp>([&](auto) { return infix(op, "and"); })
        .Case<arith::OrIOp>([&](auto) { return infix(op, "or"); })
        .Case<arith::CmpIOp>([&](auto) { return infix(op, ">="); })
        .Case<arith::MaxSIOp>([&](auto) { return call(op, "max"); })
        .Case<arith::MinSIOp>([&](auto) { return call(op, "min"); })
        .Case<arith::FloorDivSIOp>([&](auto) { return infix(op, "//"); })
        .Case<arith::CeilDivSIOp>([&](auto) { return call(op, "ceildiv"); })
        .Case<arith::SelectOp>([&](auto) { return call(op, "where"); })
        .Default([&](auto) { return op->getName().getStringRef().str(); });
  }

  std::string call(Operation *op, const char *name) {
    std::string arguments;
    for (Value operand : op->getOperands())
      arguments += (arguments.empty() ? "" : ", ") + expression(operand);
    return std::string(name) + "(" + arguments + ")";
  }

  std::string infix(Operation *op, const char *sign) {
    auto side = [&](unsigned i) {
      std::string text = expression(op->getOperand(i));
      return isOneTerm(text) ? text : "(" + text + ")";
    };
    std::string first = side(0);
    return first + " " + sign + " " + side(1);
  }

  llvm::DenseMap<Value, std::string> names;
  unsigned left = 0;
};

} // namespace

DomainText domainText(red::NestOp nest) {
  auto bounds = cast<red::BoundsOp>(nest.getDomainBlock()->getTerminator());
  DomainWriter writer;
  DomainText words;
  words.lo = writer.write(bounds.getLo().front(), kMostOfBounds);
  words.hi = writer.write(bounds.getHi().front(), kMostOfBounds);
  words.full = writer.write(bounds.getFull(), kMostOfBounds);
  if (bounds.getLive())
    words.live = writer.write(bounds.getLive(), kMostOfLive);
  words.shared = std::move(writer.shared);
  return words;
}

} // namespace attnc::driver
