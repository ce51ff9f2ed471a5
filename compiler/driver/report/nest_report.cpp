#include "compiler/driver/report/nest_report.h"
#include "compiler/driver/report/domain_text.h"
#include "compiler/schedule/nest/signature.h"
#include "compiler/transforms/derivation/spec_text.h"
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

/// The name of an axis' subscript if it is computed for a ragged dim or for one with a length, and
/// not checked: "i_row".
std::string keptSubscript(attn::ReadOp read, unsigned axis) {
  Value subscript = read.subscriptValue(axis);
  return subscript ? specTextOf(subscript) : "";
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
  if (!nest.getDomainBlock())
    return;
  DomainText words = domainText(nest);
  std::string stream = cast<StringAttr>(nest.getStream()[0]).getValue().str();
  report.skipsTiles =
      words.lo != "0" || !words.hi.starts_with("size(" + stream + ")") || !words.live.empty();
  report.domain = stream + " from " + words.lo + " to " + words.hi;
  if (words.full != "true")
    report.domain += "; no mask where " + words.full;
  if (!words.live.empty())
    report.domain += "; tiles of " + stream + " between them only where " + words.live;
  for (const auto &[name, definition] : words.shared)
    report.domain += "; " + name + " = " + definition;
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
    if (red::PackOp pack = schedule::packOf(result))
      report.packs.push_back(tensor.name + ": row " + pack.getDim().str() + " of each " +
                             pack.over().str() + " goes to row " +
                             schedule::tensorOf(pack.getStart()).name + "[" + pack.over().str() +
                             "] + " + pack.getDim().str() +
                             "; a kernel before stores zeros for rows of none");
    if (tensor.kind == schedule::Tensor::Kind::Intermediate)
      report.intermediates.push_back(tensor.name);
  }
  return report;
}

} // namespace attnc::driver
