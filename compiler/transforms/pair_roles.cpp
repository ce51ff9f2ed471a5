#include "compiler/transforms/pair_roles.h"
#include "compiler/transforms/fusion/roles.h"

using namespace mlir;

namespace attnc {
namespace {

// Pairs that fill a few tiles. Matrices with fewer elements are links of chains.
constexpr int64_t kFewPairs = 256 * 256;

bool mayBeMany(attn::ProgramOp program, StringAttr row, StringAttr stream) {
  int64_t pairs = 1;
  for (StringAttr dim : {row, stream}) {
    attn::DimAttr declared = program.lookupDim(dim);
    if (!declared.isStatic())
      return true;
    pairs *= declared.getExtent();
  }
  return pairs >= kFewPairs;
}

void setRoles(red::NestOp nest, ArrayRef<StringAttr> row, ArrayRef<StringAttr> stream) {
  Builder b(nest.getContext());
  auto list = [&](ArrayRef<StringAttr> dims) {
    return b.getArrayAttr(SmallVector<Attribute>(dims.begin(), dims.end()));
  };
  SmallVector<StringAttr> all = attn::dimNames(nest.getGrid()), grid;
  llvm::append_range(all, attn::dimNames(nest.getRow()));
  llvm::append_range(all, attn::dimNames(nest.getStream()));
  for (StringAttr dim : attn::canonicalDims(attn::programOf(nest), all))
    if (!llvm::is_contained(row, dim) && !llvm::is_contained(stream, dim))
      grid.push_back(dim);
  nest.setGridAttr(list(grid));
  nest.setRowAttr(list(row));
  nest.setStreamAttr(list(stream));
}

} // namespace

bool givePairRoles(red::NestOp nest, StringAttr stream) {
  if (!nest.getRow().empty() || !nest.getStream().empty())
    return false;
  SmallVector<Operation *> ops;
  for (Operation &op : nest.getBodyBlock()->without_terminator())
    ops.push_back(&op);
  attn::ProgramOp program = attn::programOf(nest);
  Roles roles = chooseRoles(program, stream, ops, {}, llvm::to_vector_of<Value>(nest.getResults()));
  auto isGrid = [&](StringAttr dim) { return llvm::is_contained(nest.getGrid(), dim); };
  if (roles.row.size() != 1 || !isGrid(roles.row.front()) || !isGrid(stream) ||
      !mayBeMany(program, roles.row.front(), stream))
    return false;
  setRoles(nest, roles.row, stream);
  return true;
}

void takePairRoles(red::NestOp nest) { setRoles(nest, {}, {}); }

} // namespace attnc
