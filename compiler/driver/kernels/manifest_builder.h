#ifndef ATTNC_COMPILER_DRIVER_KERNELS_MANIFEST_BUILDER_H
#define ATTNC_COMPILER_DRIVER_KERNELS_MANIFEST_BUILDER_H

#include "attnc/result.h"
#include "compiler/driver/kernels/aligned_copies.h"
#include "compiler/driver/kernels/kernel_shape.h"
#include "dialects/Red/Red.h"
#include "runtime/program/manifest.h"

namespace attnc::driver {

/// The manifest of a program of red nests: its tensors, params and facts, and one launch for each
/// nest in order; `kernels` has one entry for each nest. Where `copies` has tensors, this is the
/// variant for aligned ones, and a second variant serves all others: it copies them to
/// intermediates with aligned rows, runs the same kernels on these, and copies the outputs back.
/// Error (InvalidArgument): a scalar that the host cannot evaluate when shapes are bound.
Result<Manifest> buildManifest(attn::ProgramOp program, llvm::StringRef target,
                               llvm::ArrayRef<KernelShape> kernels, const AlignedCopies &copies);

} // namespace attnc::driver

#endif
