// Tensors that are less aligned than kernels need are served through copies with aligned rows. The
// kernels that copy are made here, by the compiler's own way for any nest.
#ifndef ATTNC_COMPILER_DRIVER_KERNELS_ALIGNED_COPIES_H
#define ATTNC_COMPILER_DRIVER_KERNELS_ALIGNED_COPIES_H

#include "attnc/result.h"
#include "compiler/driver/kernels/kernel_shape.h"
#include "dialects/Red/Red.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <string>
#include <vector>

namespace attnc::driver {

/// An input or output that kernels need aligned, its stand-in, and the kernel that copies it.
struct AlignedCopy {
  std::string tensor;
  std::string standIn;    ///< an intermediate of the same dims and type, with aligned rows
  bool isOutput = false;  ///< copied from `standIn` after the other kernels, else to it before them
  std::int64_t align = 1; ///< bytes to which kernels need addresses and strides aligned
  KernelShape kernel;     ///< align_<tensor> or unalign_<tensor>
  std::string tile;       ///< the kernel in the tile dialect
};

/// The kernels of a program that copy, all in one CUDA source and one image.
struct AlignedCopies {
  std::string image;                ///< its name; that of the source is `<image>.cu`
  std::vector<AlignedCopy> tensors; ///< inputs, then outputs, in the program's order
  std::string source;

  const AlignedCopy *find(llvm::StringRef tensor) const;
};

/// The inputs and outputs that `kernels` need more aligned than to their elements: bytes by name.
std::map<std::string, std::int64_t> alignedTensors(attn::ProgramOp program,
                                                   llvm::ArrayRef<KernelShape> kernels);

/// The kernels that copy `aligned` (from alignedTensors) of a program whose other kernels are
/// `kernels`; none of the names made here is taken. A copy keeps every bit but those of a NaN.
/// Error (Internal): a kernel cannot be made, a bug of ours.
Result<AlignedCopies> makeAlignedCopies(attn::ProgramOp program,
                                        const std::map<std::string, std::int64_t> &aligned,
                                        llvm::ArrayRef<KernelShape> kernels);

} // namespace attnc::driver

#endif
