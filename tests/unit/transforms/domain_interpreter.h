// Evaluates the arithmetic of a domain, for tests.
#ifndef ATTNC_TESTS_UNIT_TRANSFORMS_DOMAIN_INTERPRETER_H
#define ATTNC_TESTS_UNIT_TRANSFORMS_DOMAIN_INTERPRETER_H

#include "dialects/Red/Red.h"

namespace attnc {

int64_t floorDivide(int64_t a, int64_t b);

/// What the domain of a nest over row dim i and stream dim j, grid dims b and h, says of tiles.
class DomainInterpreter {
public:
  /// An element of an array of the program, at indices along the dims of its type.
  using Elements = std::function<int64_t(mlir::Value array, llvm::ArrayRef<int64_t> indices)>;
  using Extents = std::function<int64_t(llvm::StringRef dim)>;

  DomainInterpreter(red::NestOp nest, int64_t rows, int64_t stream);
  DomainInterpreter(red::NestOp nest, Extents extents, Elements elements)
      : nest(nest), extents(std::move(extents)), elements(std::move(elements)) {}

  struct Result {
    int64_t lo, hi;
    bool full, live;
  };
  Result run(int64_t iFirst, int64_t iLast, int64_t jFirst, int64_t jLast);

private:
  void evaluate(mlir::Operation &op);
  int64_t extreme(red::ExtremeOp op);

  red::NestOp nest;
  Extents extents;
  Elements elements;
  llvm::DenseMap<mlir::Value, int64_t> values;
};

} // namespace attnc

#endif
