#include "compiler/transforms/analysis/extent_cost.h"
#include "dialects/Attn/ReferenceShape.h"

using namespace mlir;

namespace attnc {

double referenceExtent(attn::ProgramOp program, StringAttr dim) {
  if (attn::DimAttr known = program.lookupDim(dim); known.isStatic())
    return static_cast<double>(known.getExtent());
  if (auto shape = program->getAttrOfType<DictionaryAttr>(attn::kReferenceAttr))
    if (auto extent = shape.getAs<IntegerAttr>(dim))
      return static_cast<double>(extent.getInt());
  return kAssumedExtent;
}

ExtentCost::ExtentCost(attn::ProgramOp program, ArrayRef<StringAttr> dims) : atReference(1) {
  for (StringAttr dim : dims) {
    degree += !program.lookupDim(dim).isStatic();
    atReference *= referenceExtent(program, dim);
  }
}

void ExtentCost::operator+=(const ExtentCost &other) {
  degree = std::max(degree, other.degree);
  atReference += other.atReference;
}

bool ExtentCost::operator<(const ExtentCost &other) const {
  return degree == other.degree ? atReference < other.atReference : degree < other.degree;
}

bool ExtentCost::isWellBelow(const ExtentCost &other) const {
  return degree < other.degree || (degree == other.degree && atReference < 0.9 * other.atReference);
}

} // namespace attnc
