// Integer expressions as sums of indices with constant coefficients.
#ifndef ATTNC_COMPILER_FRONTEND_BOUNDS_INDEX_FORM_H
#define ATTNC_COMPILER_FRONTEND_BOUNDS_INDEX_FORM_H

#include "compiler/frontend/bounds/bounds.h"

namespace attnc {

/// coefficient * value + ... + rest. Equal values stand in one term, so that i - i is 0.
struct IndexForm {
  struct Term {
    const Scalar *value;
    /// The dim, if the value is the index along one.
    mlir::StringAttr dim;
    int64_t coefficient;
  };
  llvm::SmallVector<Term, 4> terms; // no zero coefficients
  Polynomial rest;
  /// An index occurs in the expression, whether or not it cancels.
  bool hasIndex = false;
};

/// Reads expressions as forms and bounds those. What is not a sum stays as one value.
class IndexForms {
public:
  IndexForms(IntervalAnalysis &intervals, SizeFacts &facts) : intervals(intervals), facts(facts) {}

  /// left - right; nothing if a coefficient leaves the range of polynomials.
  std::optional<IndexForm> difference(const Scalar *left, const Scalar *right);
  static std::optional<IndexForm> add(const IndexForm &a, const IndexForm &b);
  /// factor * form + constant
  static std::optional<IndexForm> affine(const IndexForm &form, int64_t factor, int64_t constant);

  bool provesAtMost(const IndexForm &form, int64_t bound);
  bool provesAtLeast(const IndexForm &form, int64_t bound);
  /// The expression that a value was computed from, as far as it is known.
  const Scalar *resolved(const Scalar *value) const;

private:
  bool mentionsIndex(const Scalar *value, unsigned depth) const;
  bool collect(const Scalar *value, int64_t factor, IndexForm &form);
  static bool addTerm(IndexForm &form, const IndexForm::Term &term);
  std::vector<Polynomial> bounds(const IndexForm &form, bool upper);

  IntervalAnalysis &intervals;
  SizeFacts &facts;
  unsigned steps = 0;
};

} // namespace attnc

#endif
