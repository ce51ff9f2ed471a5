// The transforms as MLIR passes, named after their files.
#ifndef ATTNC_COMPILER_TRANSFORMS_PASSES_H
#define ATTNC_COMPILER_TRANSFORMS_PASSES_H

namespace attnc {

/// Registers --desugar, --lower-to-nests, --fuse-nests and --mask-intervals for attnc-opt.
void registerTransformPasses();

} // namespace attnc

#endif
