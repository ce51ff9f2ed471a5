#ifndef ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_ACCESS_H
#define ATTNC_COMPILER_TRANSFORMS_READ_ADJOINTS_ACCESS_H

#include "compiler/transforms/arrays/array_builder.h"

namespace attnc {

/// Which element is taken along one axis of an array: that at the index of the dim `axis` itself,
/// or at `value`, if that is not null.
struct Subscript {
  mlir::StringAttr axis;
  mlir::Value value;
};

/// How an array is read: the subscripts along its axes, as functions of the dims `places`.
struct Access {
  llvm::SmallVector<Subscript> subscripts;
  Dims places;

  Dims axes() const;
  /// True if the axis is read along itself.
  bool isPlain(mlir::StringAttr axis) const;
};

Access accessOf(ArrayBuilder &arrays, attn::ReadOp read);

/// i1: 0 <= index < size(dim).
mlir::Value isWithin(ArrayBuilder &arrays, mlir::Value index, mlir::StringAttr dim);

/// A scalar of a map's region as an array of its own, along the dims that it varies along.
mlir::Value yieldOf(ArrayBuilder &arrays, attn::MapOp map, mlir::Value scalar);

/// For each element of an array that is read like this, the sum of `gradient` over the places that
/// read it.
mlir::Value adjointOfAccess(ArrayBuilder &arrays, const Access &access, mlir::Value gradient);

} // namespace attnc

#endif
