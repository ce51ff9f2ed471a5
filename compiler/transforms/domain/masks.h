// Masks as data: boolean combinations of comparisons and congruences of integer expressions that
// are linear in the indices.
#ifndef ATTNC_COMPILER_TRANSFORMS_DOMAIN_MASKS_H
#define ATTNC_COMPILER_TRANSFORMS_DOMAIN_MASKS_H

#include "compiler/transforms/domain/index_arithmetic.h"
#include "dialects/Red/Red.h"
#include <memory>

namespace attnc {

/// sum of coefficient * index over dims, plus a rest that lies in [lo, hi] for every element of the
/// tile (i64 values of the domain's block).
struct Linear {
  /// Larger coefficients are not kept: with an index, which has 31 bits, they could leave 64 bits.
  static constexpr int64_t maxCoefficient = int64_t(1) << 31;

  llvm::SmallVector<std::pair<mlir::StringAttr, int64_t>> terms;
  mlir::Value lo, hi;
  /// The rest is known only given the tile of the stream: it says nothing about loop bounds.
  bool streamed = false;
  /// The rest is a product, of up to 62 bits: it is not multiplied again, nor added to another one.
  bool isProduct = false;
  /// Neighbouring rows differ by an extent or the like: no tile of several of them is full.
  bool farApart = false;

  /// Adds `coefficient` * the index of `dim`; false if the sum is too large.
  [[nodiscard]] bool addTerm(mlir::StringAttr dim, int64_t coefficient);
  int64_t coefficientOf(mlir::StringAttr dim) const;
  bool isExact() const { return IndexArithmetic::same(lo, hi) && !streamed; }
};

/// A condition on the indices. Unknown stands for anything. Equal masks are the same mask, and
/// masks share their parts: what follows them visits each part once, since a condition of n
/// operations can have 2^n paths.
struct Mask {
  enum class Kind { True, False, Unknown, NonNegative, Residue, And, Or };
  Kind kind;
  Linear linear; ///< NonNegative: linear >= 0
  /// Residue: (linear - start) mod modulus < count, where modulus > 0.
  mlir::Value start, modulus, count;
  std::vector<std::shared_ptr<const Mask>> args;
  /// False if an Unknown, or rows that are far apart, keep it from being known to hold anywhere.
  bool canBeFull;
};
using MaskRef = std::shared_ptr<const Mask>;

/// Makes masks.
class Masks {
public:
  MaskRef constant(bool value);
  MaskRef unknown();
  MaskRef nonNegative(Linear linear);
  MaskRef residue(Linear linear, mlir::Value start, mlir::Value modulus, mlir::Value count);
  MaskRef both(MaskRef a, MaskRef b);
  MaskRef either(MaskRef a, MaskRef b);

private:
  MaskRef make(Mask mask);

  std::map<std::vector<IndexArithmetic::Key>, MaskRef> known;
};

} // namespace attnc

#endif
