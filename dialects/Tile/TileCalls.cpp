// Kernels that a launch runs one after the other.
#include "dialects/Tile/Tile.h"

using namespace mlir;

namespace attnc::tile {

bool KernelOp::callsOthers() { return !getBodyBlock()->getOps<CallOp>().empty(); }

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError("calls @") << getCallee() << ", which is no kernel of the module";
  if (!callee.getChain())
    return emitOpError("calls @") << getCallee() << ", which is launched by itself";
  if (callee.getBodyBlock()->getArgumentTypes() != getOperandTypes())
    return emitOpError("has other arguments than @") << getCallee();
  auto caller = (*this)->getParentOfType<KernelOp>();
  if (!caller || caller.getChain())
    return emitOpError("is not in a kernel that is launched");
  if (caller.getThreads() != callee.getThreads() || caller.getSmem() < callee.getSmem())
    return emitOpError("is in a block of ")
           << caller.getThreads() << " threads and " << caller.getSmem() << " bytes; @"
           << getCallee() << " is for " << callee.getThreads() << " threads and "
           << callee.getSmem() << " bytes";
  return success();
}

KernelOp calledKernel(CallOp call) {
  return SymbolTable::lookupNearestSymbolFrom<KernelOp>(call, call.getCalleeAttr());
}

} // namespace attnc::tile
