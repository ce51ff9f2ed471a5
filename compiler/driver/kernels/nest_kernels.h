// The kernels that the nests of a program become on a GPU, before and after NVRTC.
#ifndef ATTNC_COMPILER_DRIVER_KERNELS_NEST_KERNELS_H
#define ATTNC_COMPILER_DRIVER_KERNELS_NEST_KERNELS_H

#include "compiler/driver/compile.h"
#include "compiler/driver/kernels/aligned_copies.h"
#include "compiler/driver/kernels/kernel_shape.h"
#include "compiler/driver/reported_errors.h"
#include "dialects/Red/Red.h"
#include "dialects/Tile/Tile.h"

namespace attnc::driver {

/// How `form` and `schedule` of a report follow from the schedule of its nest.
void reportScheduleOf(red::NestOp nest, const std::string &target, NestReport &report);

/// The kernels of one scheduled program, by the number of their nest. That of a chain has the
/// number of the first of its nests, the others have none. Not thread-safe.
class NestKernels {
public:
  struct Choices {
    bool withSources = false;   ///< CUDA C++ too
    bool withTexts = true;      ///< tile IR as text too
    bool marksLines = false;    ///< and where its lines come from
    bool keepSchedules = false; ///< somebody has chosen them: they are not made smaller
    /// What names of images begin with (split_variant.h); empty but for a program in parts.
    llvm::StringRef prefix = {};
  };

  /// `reports` has one entry for each nest; what becomes of the nests is written there. All
  /// references must outlive the object.
  NestKernels(attn::ProgramOp program, std::string target, std::vector<NestReport> &reports,
              const ReportedErrors &errors, Choices choices);

  /// Takes the kernels of all nests, in their order, out of the program's module, and writes their
  /// CUDA C++. Errors: Internal, a bug of ours; those of the watch.
  Status takeAll(CompileWatch *watch);

  /// The kernels that copy tensors which are not aligned, anew.
  Status makeCopies();
  /// Whether the kernels need other tensors aligned than when `copies` was made.
  bool needsOtherCopies() const { return alignedTensors(program, shapes) != aligned; }
  const AlignedCopies &copies() const { return made; }

  size_t size() const { return nests.size(); }
  red::NestOp nest(size_t number) const { return nests[number]; }
  const NestReport &report(size_t number) const { return reports[number]; }
  /// Whether there is a kernel of this number, and its name.
  bool hasKernel(size_t number) const { return !symbol(number).empty(); }
  const std::string &symbol(size_t number) const { return shapes[number].name; }
  /// What the kernel does, without names (equal_kernels.h).
  const std::string &nameless(size_t number) const { return keys[number]; }
  /// The size of its code (code_size.h).
  int64_t code(size_t number) const { return sizes[number]; }
  /// The name in the manifest of an image with this kernel alone.
  std::string image(size_t number) const;
  llvm::ArrayRef<red::NestOp> allNests() const { return nests; }
  llvm::ArrayRef<KernelShape> allShapes() const { return shapes; }

  /// Keeps what NVRTC made of a kernel. True if it spills and has been lowered anew with a smaller
  /// schedule, to be compiled once more.
  Result<bool> take(size_t number, NvrtcOutput output);

  /// Takes over the schedule and the resources of an equal kernel.
  Status follow(size_t number, const NestKernels &other, size_t first);

private:
  /// The companions are those of the kernel.
  Result<KernelShape> takeKernel(size_t number, tile::KernelOp kernel,
                                 llvm::ArrayRef<tile::KernelOp> companions);
  Status takeTexts(size_t number, tile::KernelOp kernel);
  void reportMember(size_t number, const std::string &chain);
  /// The kernels of a chain, of nests from a number on, and the one that calls them.
  Result<KernelShape> takeChain(size_t first, llvm::MutableArrayRef<tile::KernelOp> members,
                                tile::KernelOp joined);
  Status lowerAgain(size_t number);

  attn::ProgramOp program;
  std::string target;
  std::vector<NestReport> &reports;
  const ReportedErrors &errors;
  Choices choices;
  std::vector<red::NestOp> nests;
  std::vector<KernelShape> shapes;
  std::vector<std::string> keys;
  std::vector<int64_t> sizes;
  std::map<std::string, std::int64_t> aligned;
  AlignedCopies made;
};

} // namespace attnc::driver

#endif
