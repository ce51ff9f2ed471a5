// Variants of a program: with its streams in parts, and with the schedule for few rows.
#ifndef ATTNC_COMPILER_DRIVER_KERNELS_SPLIT_VARIANT_H
#define ATTNC_COMPILER_DRIVER_KERNELS_SPLIT_VARIANT_H

#include "compiler/driver/kernels/aligned_copies.h"
#include "compiler/driver/kernels/fold_choice.h"
#include "compiler/driver/kernels/kernel_shape.h"
#include "compiler/schedule/choice/short_sequences.h"
#include "dialects/Red/Red.h"
#include "runtime/program/manifest.h"

namespace attnc::driver {

/// What the names of kernels begin with that are of the program in parts, and of those for few
/// rows: in one pass, and in parts.
inline constexpr llvm::StringLiteral kSplitPrefix = "split_", kPackedPrefix = "packed_",
                                     kPackedSplitPrefix = "packed_split_";
/// The same of the program that stores weights, and of that whose blocks add to each other's sums.
inline constexpr llvm::StringLiteral kSlabPrefix = "slab_", kJoinedPrefix = "joined_";

/// Memory for weights where nobody says how much: the best of 128, 256 and 512 MiB at D512 in a
/// trial on an H200, of which no record is kept.
inline constexpr std::int64_t kSlabBytes = std::int64_t(256) << 20;
/// Shorter sequences are left to the program without a slab. A guess: not measured.
inline constexpr std::int64_t kLeastOfSlab = 512;
/// The same of joined sums. Measured at D64 on an H200 (not recorded): at 512 both take as long, at
/// 1024 joined ones 0.73 to 0.89 of the time.
inline constexpr std::int64_t kLeastOfJoined = 1024;

/// How a program is compiled that is a variant of another.
struct VariantProgram {
  std::string prefix = {}; ///< of names; empty: it is no variant
  FoldChoice::Fold fold = FoldChoice::Fold::OnePass;
  /// By kernel: for few rows (fewRowsKeys), for short sequences (shortKeys), or empty.
  nlohmann::json schedule = nlohmann::json::object();
  const schedule::ShortSequences *sequences = nullptr; ///< those that it is for, if it is
  std::int64_t slabBytes = 0;                          ///< of a program that stores weights
  bool joinsSums = false; ///< of one whose blocks add to each other's sums

  bool isVariant() const { return !prefix.empty(); }
  bool isInParts() const { return fold == FoldChoice::Fold::TwoPass; }
  bool packs() const { return !schedule.empty() && !sequences; }
  /// Of a schedule file.
  nlohmann::json keys() const;
};

/// Whether the nest's stream may be in parts, and is folded by tiles.
bool canBeSplit(red::NestOp nest);

/// Whether all nests of a program in parts that fold a part do so by tiles.
bool foldsSplitsByTiles(attn::ProgramOp program);

/// The keys of a schedule for few rows, by kernel, of those nests of a program that have such a
/// schedule (few_rows.h); an empty object if none has.
nlohmann::json fewRowsKeys(attn::ProgramOp program, llvm::StringRef target);

/// The same for each of shortSequences().
std::vector<nlohmann::json> shortKeys(attn::ProgramOp program, llvm::StringRef target);

/// The first nest of a scheduled program that only kernels of warpgroups know how to compute, and
/// whose schedule is of another form; null if there is none.
red::NestOp nestOfOtherForm(attn::ProgramOp program);

/// How many parts each of the program's part dims has: as many as let the launch fill the
/// multiprocessors, at least `kLeastOfPart` elements each, at most `most`; 1 where rows fill the
/// GPU already, or more than half of it. Of products without warpgroups there are up to
/// `kMostOfSlow` parts of `kLeastOfSlow` elements or more, if the stream has `kLeastSlowStream`. Of
/// nests that pack indices there are parts for several rounds of blocks where one round leaves a
/// part of the GPU idle, of `kLeastOfPacked` elements. `kernels` are those of the program's nests,
/// in order.
std::map<std::string, Expr> splitsThatFill(attn::ProgramOp program,
                                           llvm::ArrayRef<KernelShape> kernels, std::int64_t most);

/// Elements of a part: fewer are not worth a second kernel. Where rows are few there is no other
/// work for the multiprocessors that parts occupy.
inline constexpr std::int64_t kLeastOfPart = 1024, kLeastOfPacked = 256;
/// Products without warpgroups take longer: 512 indices in f32, 6144 rows in 48 blocks, 65 us in
/// one part, 22 in four and 4 for the merge (H200, not recorded). The merge takes one part after
/// the other. Shorter streams are not worth the compilation of another variant.
inline constexpr std::int64_t kLeastOfSlow = 128, kMostOfSlow = 16, kLeastSlowStream = 512;

/// Where the variant runs, if none does that is chosen after it: what packs where rows are few and
/// some indices see the same stream, what is for short sequences where all are short, what stores
/// weights where those of a cell fit, what is in parts where some stream has at least two. In
/// `counts` are the parts of streams where it does not run, by dim; it adds its own. `kernels` are
/// those of the program's nests, in order.
Expr chooseVariant(const VariantProgram &variant, attn::ProgramOp program,
                   llvm::ArrayRef<KernelShape> kernels, std::int64_t most,
                   std::map<std::string, Expr> &counts);

/// Gives the dims of `counts` these extents. Requirements are asked before the machine is known,
/// and then of the most parts that there may be.
void setSplits(Manifest &manifest, const std::map<std::string, Expr> &counts);

/// Adds to `manifest` the launches of `parts`, the manifest of the variant, before those at
/// `place`, to be chosen where `when` holds; of a variant for short sequences also those on the
/// copies of tensors that are not aligned. Kernels of `parts` get new names, which begin with its
/// prefix, but for those that copy; what lies between them too where `manifest` has the name for
/// something else.
void addVariant(Manifest &manifest, const Manifest &parts, const AlignedCopies &copies,
                const VariantProgram &variant, const Expr &when, size_t place);

} // namespace attnc::driver

#endif
