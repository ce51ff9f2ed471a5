#include "compiler/driver/report/recomputed_report.h"
#include "compiler/schedule/nest/signature.h"
#include "dialects/Tile/ElementTypes.h"

using namespace mlir;

namespace attnc::driver {

static TensorDecl declare(const RecomputedValue &value) {
  TensorDecl decl;
  decl.name = value.name;
  decl.dtype = tile::elementType(value.element).dtype;
  for (StringAttr dim : value.dims)
    decl.dims.push_back(dim.getValue().str());
  return decl;
}

std::vector<RecomputedReport> reportRecomputed(attn::ProgramOp program,
                                               const std::set<std::string> &cotangents,
                                               ArrayRef<RecomputedValue> values) {
  std::vector<RecomputedReport> reports;
  for (const RecomputedValue &value : values)
    reports.push_back({declare(value), value.count, {}});
  for (auto [nest, found] : llvm::zip_equal(program.getBodyBlock()->getOps<red::NestOp>(),
                                            findInNests(program, cotangents, values)))
    for (auto [report, isThere] : llvm::zip_equal(reports, found))
      if (isThere)
        report.kernels.push_back(schedule::kernelName(nest));
  llvm::erase_if(reports, [](const RecomputedReport &report) { return report.kernels.empty(); });
  return reports;
}

} // namespace attnc::driver
