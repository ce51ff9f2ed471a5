#include "dialects/Tile/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc::tile {

template <unsigned width> static bool isSignless(Type type) {
  return type.isSignlessInteger(width);
}

static constexpr ElementType kElementTypes[] = {
    {.is = [](Type type) { return type.isF16(); },
     .dtype = DType::F16,
     .cuda = "f16",
     .bytes = 2,
     .isNarrow = true,
     .warpProducts = true,
     .warpgroupProducts = true},
    {.is = [](Type type) { return type.isBF16(); },
     .dtype = DType::BF16,
     .cuda = "bf16",
     .bytes = 2,
     .isNarrow = true,
     .warpProducts = true,
     .warpgroupProducts = true},
    {.is = [](Type type) { return type.isF32(); },
     .dtype = DType::F32,
     .cuda = "f32",
     .bytes = 4,
     .warpProducts = true,
     .isSplit = true},
    {.is = [](Type type) { return type.isF64(); },
     .dtype = DType::F64,
     .cuda = "double",
     .bytes = 8},
    {.is = isSignless<1>, .dtype = DType::U8, .cuda = "bool", .bytes = 1},
    {.is = isSignless<8>, .dtype = DType::I8, .cuda = "signed char", .bytes = 1},
    {.is = [](Type type) { return type.isUnsignedInteger(8); },
     .dtype = DType::U8,
     .cuda = "unsigned char",
     .bytes = 1},
    {.is = isSignless<32>, .dtype = DType::I32, .cuda = "i32", .bytes = 4},
    {.is = isSignless<64>, .dtype = DType::I64, .cuda = "i64", .bytes = 8},
};

int64_t ElementType::paddedWidth(int64_t cols) const {
  return llvm::alignTo(cols * bytes, kDepthBytes) / bytes;
}

int64_t ElementType::panelBytes(int64_t rows, int64_t cols) const {
  return rows * llvm::alignTo(cols * bytes, kPanelBytes);
}

const ElementType *findElementType(Type type) {
  const auto *row = llvm::find_if(kElementTypes, [&](const ElementType &e) { return e.is(type); });
  return row == std::end(kElementTypes) ? nullptr : row;
}

const ElementType &elementType(Type type) {
  const ElementType *row = findElementType(type);
  assert(row && "no type of elements in memory");
  return *row;
}

} // namespace attnc::tile
