#include "compiler/driver/nest_report.h"
#include "compiler/schedule/signature.h"
#include "compiler/transforms/partition.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Attn/Subscripts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attnc::driver {
namespace {

std::vector<std::string> names(ArrayAttr dims) {
  std::vector<std::string> list;
  for (StringAttr dim : dims.getAsRange<StringAttr>())
    list.push_back(dim.getValue().str());
  return list;
}

std::string nameOf(Value value) {
  StringRef name = attn::specName(value.getLoc());
  return name.empty() ? "a value" : name.str();
}

std::string describe(red::FoldOp state) {
  std::string text = nameOf(state) + ": " + red::stringifyFoldKind(state.getKind()).str() + " of ";
  std::string product;
  for (Value factor : state.getFactors()) {
    auto read = factor.getDefiningOp<attn::ReadOp>();
    std::string name = read ? schedule::tensorOf(read.getSource()).name : nameOf(factor);
    product += (product.empty() ? "" : " * ") + name;
  }
  if (state.getExponent())
    product += (product.empty() ? "" : " * ") + std::string("exp(") + nameOf(state.getExponent()) +
               " - " + nameOf(state.getReference()) + ")";
  return text + product;
}

/// Writes the arithmetic of a domain as an expression, of at most `left` operations: shared ones
/// are written at each use, which can be any number of times.
std::string expression(Value value, unsigned &left) {
  if (isa<BlockArgument>(value))
    return nameOf(value);
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto literal = cast<IntegerAttr>(constant.getValue());
    if (literal.getType().isInteger(1))
      return literal.getValue().isOne() ? "true" : "false";
    return std::to_string(literal.getInt());
  }
  if (auto scalar = dyn_cast<red::ScalarOp>(op)) {
    if (auto size = scalar.getArray().getDefiningOp<attn::SizeOp>())
      return "size(" + size.getDim().str() + ")";
    return nameOf(scalar.getArray());
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
      return text.find(' ') == std::string::npos || text.back() == ')' ? text : "(" + text + ")";
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

// "kp: table[b, w] selects along n; outside, 0 is read"
void reportGathers(red::NestOp nest, NestReport &report) {
  for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>()) {
    auto checked = read->getAttrOfType<ArrayAttr>(attn::kCheckedAttr);
    if (!checked || !read.getOtherwise())
      continue;
    schedule::Tensor tensor = schedule::tensorOf(read.getSource());
    std::string text;
    for (auto [axis, subscript] : llvm::enumerate(checked.getAsRange<StringAttr>()))
      if (!subscript.empty())
        text += (text.empty() ? "" : ", ") + subscript.str() + " selects along " +
                tensor.dims[axis].str();
    llvm::raw_string_ostream(text)
        << "; outside, " << llvm::format("%g", read.getOtherwise()->convertToDouble())
        << " is read";
    text = tensor.name + ": " + text;
    if (!llvm::is_contained(report.gathers, text))
      report.gathers.push_back(std::move(text));
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
  for (red::FoldOp state : nest.states())
    report.states.push_back(describe(state));
  if (auto notes = nest->getAttrOfType<ArrayAttr>(kNotesAttr))
    for (StringAttr note : notes.getAsRange<StringAttr>())
      report.notes.push_back(note.getValue().str());
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
