// What the predicates of arith.cmpi and arith.cmpf say of two numbers.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_PREDICATES_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_PREDICATES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

namespace attnc {

/// For f32 as well: its numbers are doubles.
inline bool orders(mlir::arith::CmpFPredicate predicate, double x, double y) {
  using P = mlir::arith::CmpFPredicate;
  bool unordered = std::isnan(x) || std::isnan(y);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::AlwaysTrue:
    return true;
  case P::OEQ:
    return x == y;
  case P::OGT:
    return x > y;
  case P::OGE:
    return x >= y;
  case P::OLT:
    return x < y;
  case P::OLE:
    return x <= y;
  case P::ONE:
    return !unordered && x != y;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || x == y;
  case P::UGT:
    return unordered || x > y;
  case P::UGE:
    return unordered || x >= y;
  case P::ULT:
    return unordered || x < y;
  case P::ULE:
    return unordered || x <= y;
  case P::UNE:
    return x != y;
  case P::UNO:
    return unordered;
  }
  return false;
}

/// For narrower integers as well, extended with their sign: that keeps the unsigned order.
inline bool orders(mlir::arith::CmpIPredicate predicate, int64_t x, int64_t y) {
  using P = mlir::arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return x == y;
  case P::ne:
    return x != y;
  case P::slt:
    return x < y;
  case P::sle:
    return x <= y;
  case P::sgt:
    return x > y;
  case P::sge:
    return x >= y;
  case P::ult:
    return uint64_t(x) < uint64_t(y);
  case P::ule:
    return uint64_t(x) <= uint64_t(y);
  case P::ugt:
    return uint64_t(x) > uint64_t(y);
  case P::uge:
    return uint64_t(x) >= uint64_t(y);
  }
  return false;
}

} // namespace attnc

#endif
