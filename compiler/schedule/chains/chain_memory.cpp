#include "compiler/schedule/chains/chain_memory.h"
#include "compiler/schedule/chains/chain_nests.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attnc::schedule {

// The copies of whole vectors ask for it. Between rows it is also what lies in other banks, so that
// threads which read along a column do not wait for each other.
static constexpr int64_t kAlign = 16;

bool isKept(Value result) {
  auto nest = result.getDefiningOp<red::NestOp>();
  auto kept = nest ? nest->getAttrOfType<DenseBoolArrayAttr>(kKeptAttr) : DenseBoolArrayAttr();
  return kept && kept[cast<OpResult>(result).getResultNumber()];
}

namespace {

/// Bytes from `offset` on, in use until the nest number `last` has ended.
struct Room {
  int64_t offset, bytes;
  size_t last;
};

class ChainMemory {
public:
  ChainMemory(ArrayRef<red::NestOp> nests, int64_t begin, int64_t end)
      : nests(nests), cell(cellDims(nests.front())), begin(begin), end(end) {}

  SmallVector<ChainArray> place() {
    for (auto [number, nest] : llvm::enumerate(nests)) {
      SmallVector<bool> kept;
      for (Value result : red::NestOp(nest).getResults())
        kept.push_back(placeResult(result, number));
      red::NestOp(nest)->setAttr(kKeptAttr, DenseBoolArrayAttr::get(cell[0].getContext(), kept));
    }
    return std::move(arrays);
  }

private:
  bool placeResult(Value result, size_t number) {
    std::optional<size_t> last = lastReader(result);
    std::optional<ChainArray> array = last ? layOut(result) : std::nullopt;
    if (!array)
      return false;
    array->offset = firstFree(array->bytes, number);
    if (array->offset + array->bytes > end)
      return false;
    rooms.push_back({array->offset, array->bytes, *last});
    arrays.push_back(*std::move(array));
    return true;
  }

  // The number of the last nest of the chain that reads the result, if none besides reads it.
  std::optional<size_t> lastReader(Value result) {
    std::optional<size_t> last;
    for (Operation *user : result.getUsers()) {
      auto read = dyn_cast<attn::ReadOp>(user);
      const auto *reader =
          llvm::find(nests, read ? read->getParentOfType<red::NestOp>() : red::NestOp());
      if (reader == nests.end())
        return std::nullopt;
      last = std::max<size_t>(last.value_or(0), reader - nests.begin());
    }
    return last;
  }

  // Kernels take elements of the last axis to follow each other, also where it is one of the cell.
  // What the others have is known when the kernel is built.
  std::optional<ChainArray> layOut(Value result) {
    Tensor tensor = tensorOf(result);
    attn::ProgramOp program = attn::programOf(nests.front());
    if (!isa<FloatType>(tensor.element) || llvm::is_contained(cell, tensor.dims.back()))
      return std::nullopt;
    int64_t bytes = tensor.element.getIntOrFloatBitWidth() / 8, count = 1;
    SmallVector<int64_t> strides(tensor.dims.size());
    bool isRow = true;
    for (size_t axis = tensor.dims.size(); axis-- > 0;) {
      if (llvm::is_contained(cell, tensor.dims[axis]))
        continue;
      attn::DimAttr dim = program.lookupDim(tensor.dims[axis]);
      if (!dim.isStatic())
        return std::nullopt;
      if (!isRow && count * bytes % (2 * kAlign) == 0)
        count += kAlign / bytes;
      strides[axis] = count;
      count *= dim.getExtent();
      if (std::exchange(isRow, false))
        count = llvm::alignTo(count, kAlign / bytes);
    }
    return ChainArray{result, count * bytes, 0, std::move(strides)};
  }

  // The lowest bytes that nothing needs when the nest runs.
  int64_t firstFree(int64_t bytes, size_t number) {
    int64_t at = begin;
    bool moved = true;
    while (std::exchange(moved, false))
      for (const Room &room : rooms)
        if (room.last >= number && at < room.offset + room.bytes && room.offset < at + bytes) {
          at = llvm::alignTo(room.offset + room.bytes, kAlign);
          moved = true;
        }
    return at;
  }

  ArrayRef<red::NestOp> nests;
  SmallVector<StringAttr> cell;
  int64_t begin, end;
  SmallVector<Room> rooms;
  SmallVector<ChainArray> arrays;
};

} // namespace

SmallVector<ChainArray> placeChainArrays(ArrayRef<red::NestOp> nests, int64_t begin, int64_t end) {
  return ChainMemory(nests, begin, end).place();
}

} // namespace attnc::schedule
