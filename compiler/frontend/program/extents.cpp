// Dims whose extent no input says: computed from other sizes.
#include "compiler/frontend/program/program_builder.h"
#include "dialects/Attn/SpecLocation.h"

using namespace mlir;

namespace attnc {

/// Evaluates every computed extent; static ones then stand in the program's list of dims.
void ProgramBuilder::resolveExtents() {
  std::vector<StringAttr> computed;
  for (const auto &[name, symbol] : symbols)
    if (symbol.kind == Symbol::Dim && symbol.computed)
      computed.push_back(name);
  for (StringAttr dim : computed)
    resolveExtent(dim);
  SmallVector<Attribute> dims;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>()) {
    std::optional<int64_t> extent = symbols.find(dim.getName())->second.extent;
    dims.push_back(
        attn::DimAttr::get(&context, dim.getName(), extent.value_or(ShapedType::kDynamic)));
  }
  program.setDimsAttr(builder.getArrayAttr(dims));
}

/// Evaluates the extent of a dim when something needs it. Does nothing for other dims, and the
/// second time.
void ProgramBuilder::resolveExtent(StringAttr dim) {
  Symbol &symbol = symbols.find(dim)->second;
  if (!symbol.computed || symbol.value)
    return;
  const JsonValue &definition = *symbol.computed;
  std::string step = "size(" + dim.str() + ")";
  const Scalar *poison = scalars.poison(builder.getUnknownLoc());
  if (llvm::is_contained(letsInProgress, step)) {
    letsInProgress.push_back(step);
    report(file.at(definition.offset,
                   "the extent of '" + dim.str() +
                       "' depends on itself: " + llvm::join(letsInProgress, " -> "),
                   "compute it from sizes of dims that inputs carry"));
    letsInProgress.pop_back();
    symbol.value = poison;
    return;
  }
  letsInProgress.push_back(step);
  const Scalar *value = evaluateExtent(definition, dim);
  letsInProgress.pop_back();
  Symbol &resolved = symbols.find(dim)->second;
  if (!resolved.value) // a cycle has been reported otherwise
    resolved.value = value ? value : poison;
}

/// The value of a computed extent, or null if it was wrong.
const Scalar *ProgramBuilder::evaluateExtent(const JsonValue &definition, StringAttr dim) {
  SourceText text(file, definition);
  NameScope scope{text, NameScope::Sizes};
  ExprPtr expr = parseExpression(text, diagnostics);
  const Scalar *value = expr ? evaluate(scope, *expr) : nullptr;
  if (!value || value->isPoison())
    return nullptr;
  if (value->type != ScalarType::Int) {
    report(scope, expr->place, "an extent is an integer, this is " + typeName(value->type).str(),
           "divide with `//`");
    return nullptr;
  }
  if (value->isConstant()) {
    if (!checkExtent(value->integer, text.at(expr->place, "")))
      return nullptr;
    symbols.find(dim)->second.extent = value->integer;
    return value;
  }
  Location loc = locate(scope, expr->place, dim.getValue());
  value = scalars.array(loc, materialise(loc, value));
  attn::ExtentOp::create(builder, loc, dim, value->array);
  return value;
}

/// What the definitions say about the sizes, once everything that `require` says is known.
void ProgramBuilder::assumeExtents() {
  for (const auto &[name, symbol] : symbols) {
    if (symbol.kind != Symbol::Dim || !symbol.computed || symbol.extent || !symbol.value ||
        symbol.value->isPoison())
      continue;
    intervals.assumeSize(sizePolynomial(name), symbol.value);
  }
}

} // namespace attnc
