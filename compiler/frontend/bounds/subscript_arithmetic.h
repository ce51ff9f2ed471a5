// Subscripts whose arithmetic may leave 64 bits.
//
// Integer arithmetic wraps, so a subscript such as idx[i] * 16 could come back into its axis from a
// wild idx. What is not sure to stay within 64 bits is therefore computed with a check of each
// step.
#ifndef ATTNC_COMPILER_FRONTEND_BOUNDS_SUBSCRIPT_ARITHMETIC_H
#define ATTNC_COMPILER_FRONTEND_BOUNDS_SUBSCRIPT_ARITHMETIC_H

#include "compiler/frontend/bounds/bounds.h"

namespace attnc {

class SubscriptArithmetic {
public:
  SubscriptArithmetic(ScalarFactory &scalars, const IntervalAnalysis &intervals)
      : scalars(scalars), intervals(intervals) {}

  /// True if a step of the expression may leave ±(2^63 - 1), whatever tensors hold; extents are at
  /// most 2^30. Of an expression of indices, sizes and params alone this is hardly ever so.
  bool mayWrap(const Scalar *subscript) { return reach(subscript, 0).wraps; }
  /// True if the expression has operands other than indices, sizes, params and constants.
  bool isMeasured(const Scalar *subscript) { return reach(subscript, 0).measured; }

  /// The same value where every step stays within ±(2^63 - 1), and the least integer, which is
  /// outside every axis, where one does not.
  const Scalar *checked(const Scalar *subscript);

private:
  using Wide = __int128;
  struct Span {
    Wide lo, hi;
  };
  /// The values that an expression can take.
  struct Reach : Span {
    bool wraps = false;    // a step of it may leave 64 bits
    bool measured = false; // it depends on more than indices, sizes and params
  };
  /// An expression whose steps stay within 64 bits, and the condition that it has its value; none
  /// if it always has.
  struct Safe {
    const Scalar *value;
    const Scalar *valid = nullptr;
  };

  Reach reach(const Scalar *s, unsigned depth);
  Reach ofArray(const Scalar *s, unsigned depth);
  Reach ofOperation(const Scalar *s, unsigned depth);
  Safe safe(const Scalar *s, unsigned depth);
  Safe safeOperation(const Scalar *s, unsigned depth);
  Safe safeChoice(const Scalar *s, unsigned depth);
  static bool leaves(ScalarOp op, const Span &step);
  static std::optional<Span> stepOf(ScalarOp op, llvm::ArrayRef<Reach> args);
  const Scalar *fitsStep(const Scalar *s, llvm::ArrayRef<const Scalar *> args, bool above,
                         bool below);
  const Scalar *both(const Scalar *a, const Scalar *b);
  const Scalar *make(const Scalar *like, ScalarOp op, ScalarType type,
                     llvm::ArrayRef<const Scalar *> args);
  const Scalar *constant(const Scalar *like, int64_t value) {
    return scalars.integer(like->loc, value);
  }

  ScalarFactory &scalars;
  const IntervalAnalysis &intervals;
  llvm::DenseMap<const Scalar *, Reach> known;
  llvm::DenseMap<const Scalar *, Safe> rewritten;
};

} // namespace attnc

#endif
