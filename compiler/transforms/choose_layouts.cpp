#include "compiler/transforms/choose_layouts.h"
#include "dialects/Red/Red.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attnc {
namespace {

attn::ArrayType arrayType(Value array) { return cast<attn::ArrayType>(array.getType()); }

bool isAmong(StringAttr dim, ArrayAttr role) { return llvm::is_contained(role, dim); }

// The inner dim of a nest with rows that stores one, or null.
StringAttr innerOfRows(red::NestOp nest, Value result) {
  StringAttr inner;
  if (nest.getRow().empty())
    return inner;
  for (StringAttr dim : arrayType(result).getDims())
    if (isAmong(dim, nest.getInner())) {
      if (inner)
        return {};
      inner = dim;
    }
  return inner;
}

// How much the reader wants elements along the axis to follow each other: a row of a tile is copied
// as a whole, more often where the nest has many rows; elements that the stream walks over come
// next.
unsigned wish(attn::ReadOp read, unsigned axis) {
  auto nest = read->getParentOfType<red::NestOp>();
  StringAttr dim = read.subscriptDim(axis);
  if (!dim || !nest)
    return 0;
  auto isLong = [&](Attribute row) {
    return !attn::programOf(nest).lookupDim(cast<StringAttr>(row)).isStatic();
  };
  if (isAmong(dim, nest.getInner()) && !nest.getRow().empty())
    return llvm::any_of(nest.getRow(), isLong) ? 6 : 4;
  return isAmong(dim, nest.getStream()) ? 1 : 0;
}

// The last dim of the result that some pass with rows streams, or the last one: tiles of pairs have
// columns along it.
StringAttr streamedDim(red::NestOp nest, Value result) {
  auto dims = arrayType(result).getDims();
  auto nests = attn::programOf(nest).getBodyBlock()->getOps<red::NestOp>();
  for (StringAttr dim : llvm::reverse(dims))
    if (llvm::any_of(nests, [&](red::NestOp other) {
          return !other.getRow().empty() && isAmong(dim, other.getStream());
        }))
      return dim;
  return dims.back();
}

// The dim that is contiguous: the last one of those that are wanted most.
StringAttr contiguousDim(red::NestOp nest, Value result, ArrayRef<attn::ReadOp> readers) {
  if (StringAttr inner = innerOfRows(nest, result))
    return inner;
  auto dims = arrayType(result).getDims();
  bool foldsPairs = nest.getStream().empty() && !nest.getBodyBlock()->getOps<red::FoldOp>().empty();
  StringAttr best = foldsPairs ? streamedDim(nest, result) : dims.back();
  unsigned most = 0;
  for (auto [axis, dim] : llvm::enumerate(dims)) {
    unsigned wishes = 0;
    for (attn::ReadOp read : readers)
      wishes += wish(read, axis);
    if (wishes && wishes >= most) {
      best = dim;
      most = wishes;
    }
  }
  return best;
}

// The subscripts of axis `from[i]` become those of axis i.
void permuteSubscripts(attn::ReadOp read, ArrayRef<unsigned> from) {
  SmallVector<Attribute> subscripts;
  SmallVector<Value> indices;
  for (unsigned axis : from) {
    subscripts.push_back(read.getSubscripts()[axis]);
    if (Value index = read.subscriptValue(axis))
      indices.push_back(index);
  }
  read.setSubscriptsAttr(ArrayAttr::get(read.getContext(), subscripts));
  read.getIndicesMutable().assign(indices);
}

void chooseLayout(red::NestOp nest, OpResult result) {
  SmallVector<attn::ReadOp> readers;
  for (Operation *user : result.getUsers()) {
    auto read = dyn_cast<attn::ReadOp>(user);
    if (!read) // an output has its own order
      return;
    readers.push_back(read);
  }
  attn::ArrayType type = arrayType(result);
  if (readers.empty() || type.getDims().size() < 2)
    return;
  StringAttr last = contiguousDim(nest, result, readers);
  SmallVector<unsigned> from;
  SmallVector<StringAttr> dims;
  for (bool isLast : {false, true})
    for (auto [axis, dim] : llvm::enumerate(type.getDims()))
      if ((dim == last) == isLast) {
        from.push_back(axis);
        dims.push_back(dim);
      }
  result.setType(attn::ArrayType::get(type.getContext(), dims, type.getElementType()));
  for (attn::ReadOp read : llvm::SmallSetVector<attn::ReadOp, 4>(readers.begin(), readers.end()))
    permuteSubscripts(read, from);
}

} // namespace

void chooseLayouts(attn::ProgramOp program) {
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>())
    for (OpResult result : nest->getResults())
      chooseLayout(nest, result);
}

} // namespace attnc
