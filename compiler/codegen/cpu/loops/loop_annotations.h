// What LLVM is told about loops: what it may assume, and which transformations would only add code.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_LOOPS_LOOP_ANNOTATIONS_H
#define ATTNC_COMPILER_CODEGEN_CPU_LOOPS_LOOP_ANNOTATIONS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attnc::cpu {

/// Annotates loops whose iterations touch different elements of the accesses in one group.
class LoopAnnotations {
public:
  explicit LoopAnnotations(mlir::LLVM::AccessGroupAttr group);

  /// A loop that contains no other: vectorised and unrolled if that pays. It does not pay where one
  /// call for each element takes the time, and where the body is long: copies of it are paid for by
  /// the compiler, and do not fit in the registers. The body must be complete.
  void annotateInnermost(mlir::scf::ForOp loop) const;

  /// A loop of loops: copies of what it contains gain nothing.
  void annotateOuter(mlir::scf::ForOp loop) const;

private:
  mlir::LLVM::LoopAnnotationAttr parallel, noCopies, outer;
};

} // namespace attnc::cpu

#endif
