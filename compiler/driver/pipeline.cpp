#include "compiler/driver/pipeline.h"
#include "compiler/transforms/choose_layouts.h"
#include "compiler/transforms/cut_vectors.h"
#include "compiler/transforms/desugar.h"
#include "compiler/transforms/fuse_nests.h"
#include "compiler/transforms/lower_to_nests.h"
#include "compiler/transforms/mask_intervals.h"
#include "compiler/transforms/reassociate.h"
#include "compiler/transforms/split.h"
#include "llvm/Support/raw_ostream.h"

namespace attnc::driver {

// The table of contents of the compiler. Scheduling and code generation follow in compile.cpp.
static const Step steps[] = {
    {"desugar", "softmax, logsumexp and mean become reductions and maps", desugar},
    {"lower-to-nests", "one nest for each reduction; nothing is fused yet", lowerToNests},
    {"reassociate", "sums of products of sums in the order that costs least", reassociate},
    {"fuse-nests", "folds that can share a pass over the stream become one nest", fuseNests},
    {"cut-vectors", "sums of rows or of the stream alone are computed once", cutVectors},
    {"split", "streams in parts that fold side by side, where the schedule asks for it", split},
    {"choose-layouts", "what nests store for each other lies as its readers want it",
     chooseLayouts},
    {"mask-intervals", "which part of the stream matters to a tile, and when it needs no mask",
     maskIntervals},
};

llvm::ArrayRef<Step> targetIndependentSteps() { return steps; }

std::string printIr(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, mlir::OpPrintingFlags().printNameLocAsPrefix());
  return text;
}

} // namespace attnc::driver
