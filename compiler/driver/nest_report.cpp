#include "compiler/driver/nest_report.h"
#include "compiler/schedule/signature.h"
#include "compiler/transforms/spec_words.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Attn/Subscripts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace mlir;

namespace attnc::driver {
namespace {

std::vector<std::string> names(ArrayAttr dims) {
  std::vector<std::string> list;
  for (StringAttr dim : dims.getAsRange<StringAttr>())
    list.push_back(dim.getValue().str());
  return list;
}

// "o = sum(j, v * exp(s - p_max))"
std::string describe(red::FoldOp state) {
  std::string name = attn::specName(state.getLoc()).str();
  return name.empty() ? definitionOf(state) : name + " = " + definitionOf(state);
}

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

/// Writes the arithmetic of a domain as an expression, of at most `left` operations: shared ones
/// are written at each use, which can be any number of times.
std::string expression(Value value, unsigned &left) {
  if (isa<BlockArgument>(value))
    return wordsOf(value);
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto literal = cast<IntegerAttr>(constant.getValue());
    if (literal.getType().isInteger(1))
      return literal.getValue().isOne() ? "true" : "false";
    if (literal.getInt() == std::numeric_limits<int64_t>::max()) // nothing bounds it
      return "inf";
    return std::to_string(literal.getInt());
  }
  if (auto scalar = dyn_cast<red::ScalarOp>(op)) {
    if (auto size = scalar.getArray().getDefiningOp<attn::SizeOp>())
      return "size(" + size.getDim().str() + ")";
    return wordsOf(scalar.getArray());
  }
  if (auto extreme = dyn_cast<red::ExtremeOp>(op)) {
    std::string kind = red::stringifyFoldKind(extreme.getKind()).str(), box;
    // Of the parts of a tensor: what its elements along the tile lie between.
    if (auto parts = extreme.getArray().getDefiningOp<red::NestOp>())
      for (auto read : parts.getBodyBlock()->getOps<attn::ReadOp>())
        return kind + "(" + schedule::tensorOf(read.getSource()).name + ")";
    for (auto [first, last] : llvm::zip(extreme.getFirst(), extreme.getLast())) {
      std::string from = expression(first, left);
      box += (box.empty() ? "" : ", ") + from;
      if (first != last)
        box += " to " + expression(last, left);
    }
    bool single = extreme.getFirst() == extreme.getLast();
    std::string element = schedule::tensorOf(extreme.getArray()).name + "[" + box + "]";
    return single ? element : kind + "(" + element + ")";
  }
  if (left == 0)
    return "...";
  --left;
  auto operand = [&](unsigned i) { return expression(op->getOperand(i), left); };
  auto call = [&](const char *name) {
    std::string first = operand(0);
    return std::string(name) + "(" + first + ", " + operand(1) + ")";
  };
  auto infix = [&](const char *sign) {
    auto side = [&](unsigned i) {
      std::string text = operand(i);
      return isOneTerm(text) ? text : "(" + text + ")";
    };
    std::string first = side(0);
    return first + " " + sign + " " + side(1);
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<arith::AddIOp>([&](auto) { return infix("+"); })
      .Case<arith::SubIOp>([&](auto) { return infix("-"); })
      .Case<arith::MulIOp>([&](auto) { return infix("*"); })
      .Case<arith::AndIOp>([&](auto) { return infix("and"); })
      .Case<arith::OrIOp>([&](auto) { return infix("or"); })
      .Case<arith::CmpIOp>([&](auto) { return infix(">="); })
      .Case<arith::MaxSIOp>([&](auto) { return call("max"); })
      .Case<arith::MinSIOp>([&](auto) { return call("min"); })
      .Case<arith::FloorDivSIOp>([&](auto) { return infix("//"); })
      .Case<arith::CeilDivSIOp>([&](auto) { return call("ceildiv"); })
      .Case<arith::SelectOp>([&](auto) {
        std::string condition = operand(0), yes = operand(1);
        return "where(" + condition + ", " + yes + ", " + operand(2) + ")";
      })
      .Default([&](auto) { return op->getName().getStringRef().str(); });
}

std::string expression(Value value) {
  unsigned left = 200;
  return expression(value, left);
}

/// The name of an axis' subscript if it is computed for a ragged dim or for one with a length, and
/// not checked: "i_row".
std::string keptSubscript(attn::ReadOp read, unsigned axis) {
  Value subscript = read.subscriptValue(axis);
  return subscript ? wordsOf(subscript) : "";
}

// "kp: table[b, w] selects along n; outside, 0 is read", "q: i_row selects along i_rows; beyond a
// length, 0 is read"
void reportGathers(red::NestOp nest, NestReport &report) {
  for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>()) {
    auto checked = read->getAttrOfType<ArrayAttr>(attn::kCheckedAttr);
    if (!checked || !read.getOtherwise())
      continue;
    schedule::Tensor tensor = schedule::tensorOf(read.getSource());
    bool fromData = llvm::any_of(checked.getAsRange<StringAttr>(),
                                 [](StringAttr subscript) { return !subscript.empty(); });
    std::string text;
    for (auto [axis, subscript] : llvm::enumerate(checked.getAsRange<StringAttr>())) {
      std::string selects = fromData ? subscript.str() : keptSubscript(read, axis);
      if (!selects.empty())
        text += (text.empty() ? "" : ", ") + selects + " selects along " + tensor.dims[axis].str();
    }
    llvm::raw_string_ostream(text)
        << (fromData ? "; outside, " : "; beyond a length, ")
        << llvm::format("%g", read.getOtherwise()->convertToDouble()) << " is read";
    text = tensor.name + ": " + text;
    if (!llvm::is_contained(report.gathers, text))
      report.gathers.push_back(std::move(text));
  }
}

/// What passes by along the stream: also what is selected by a table there, or lies packed.
void reportStreamed(red::NestOp nest, NestReport &report) {
  for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>()) {
    bool streams = llvm::any_of(read.getType().getDims(), [&](StringAttr dim) {
      return llvm::is_contained(nest.getStream(), dim);
    });
    std::string name = schedule::tensorOf(read.getSource()).name;
    if (streams && !llvm::is_contained(report.streamed, name))
      report.streamed.push_back(std::move(name));
  }
}

void reportDomain(red::NestOp nest, NestReport &report) {
  Block *block = nest.getDomainBlock();
  if (!block)
    return;
  auto bounds = cast<red::BoundsOp>(block->getTerminator());
  std::string lo = expression(bounds.getLo().front()), hi = expression(bounds.getHi().front());
  std::string stream = cast<StringAttr>(nest.getStream()[0]).getValue().str();
  report.skipsTiles = lo != "0" || hi.find("size(" + stream + ")") != 0;
  report.domain = stream + " from " + lo + " to " + hi;
  std::string full = expression(bounds.getFull());
  if (full != "true")
    report.domain += "; no mask where " + full;
  if (!bounds.getLive())
    return;
  report.skipsTiles = true;
  unsigned left = 60; // what tells tiles apart by data can be long
  report.domain +=
      "; tiles of " + stream + " between them only where " + expression(bounds.getLive(), left);
}

} // namespace

NestReport reportNest(red::NestOp nest, const std::map<std::string, int64_t> &extents) {
  NestReport report;
  report.kernel = schedule::kernelName(nest);
  report.grid = names(nest.getGrid());
  report.row = names(nest.getRow());
  report.stream = names(nest.getStream());
  report.inner = names(nest.getInner());
  reportGathers(nest, report);
  reportStreamed(nest, report);
  for (red::FoldOp state : nest.states())
    report.states.push_back(describe(state));
  report.derivation = derivation::stepsOf(nest);
  reportDomain(nest, report);
  report.work = countNestWork(nest, extents);
  for (Value result : nest.getResults()) {
    schedule::Tensor tensor = schedule::tensorOf(result);
    report.stores.push_back(tensor.name);
    if (tensor.kind == schedule::Tensor::Kind::Intermediate)
      report.intermediates.push_back(tensor.name);
  }
  return report;
}

} // namespace attnc::driver
