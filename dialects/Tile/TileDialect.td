#ifndef ATTNC_TILE_DIALECT_TD
#define ATTNC_TILE_DIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::attnc::tile";
  let summary = "Scheduled kernels: memory spaces, copies, matrix atoms, barriers";
  let description = [{
    A tile.kernel is what one launch runs. Scalars are SSA values of arith, math, scf and the scalar
    ops of attn. Tiles are places (shared memory, registers of a warp): an op that computes a tile
    writes into the place it names, so which registers are reused is visible in the IR. A printer
    turns every op into one line or block of CUDA C++; it decides nothing. See
    docs/rationale/tile.md.
  }];
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::attnc::attn::AttnDialect"];
}

class Tile_Type<string cppName, string text> : TypeDef<Tile_Dialect, cppName> {
  let mnemonic = text;
}

def Tile_PtrType : Tile_Type<"Ptr", "ptr"> {
  let summary = "The address of a tensor in global memory";
  let description = "The element is a storage type: f16, bf16, f32, f64, iN; i1 takes a byte.";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}

//===----------------------------------------------------------------------===//
// Tiles: places in shared memory or in the registers of one warp
//===----------------------------------------------------------------------===//

def Tile_SharedType : Tile_Type<"Shared", "shared"> {
  let summary = "A swizzled row-major tile in shared memory";
  let description = [{
    `!tile.shared<64, 128, bf16>`: 64 rows of 128 elements. Rows are padded to a multiple of 32
    bytes; what a copy does not fill is zero.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$element);
  let assemblyFormat = "`<` $rows `,` $cols `,` $element `>`";
  let extraClassDeclaration = [{
    /// Columns with the padding, which products read as zeros.
    int64_t getWidth() const;
    int64_t getBytes() const;
  }];
}

def Tile_RingType : Tile_Type<"Ring", "ring"> {
  let summary = "Several shared tiles of one kind, filled in turn";
  let parameters = (ins "int64_t":$stages, "::attnc::tile::SharedType":$tile);
  let assemblyFormat = "`<` $stages `,` $tile `>`";
}

def Tile_FragmentType : Tile_Type<"Fragment", "fragment"> {
  let summary = "A tile of f32 in a warp's registers, in the accumulator layout of the mma atoms";
  let parameters = (ins "int64_t":$rows, "int64_t":$cols);
  let assemblyFormat = "`<` $rows `,` $cols `>`";
}

def Tile_RowsType : Tile_Type<"Rows", "rows"> {
  let summary = "One f32 for each row of a warp's fragment";
  let description = [{
    The four lanes of a quad hold the same rows. Between reduce_rows and reduce_quad each lane holds
    its own share.
  }];
  let parameters = (ins "int64_t":$rows);
  let assemblyFormat = "`<` $rows `>`";
}

def Tile_OperandType : Tile_Type<"Operand", "operand"> {
  let summary = "The A operand of a product in registers, rounded to the element type (f32: split)";
  let parameters = (ins "int64_t":$rows, "int64_t":$depth, "::mlir::Type":$element);
  let assemblyFormat = "`<` $rows `,` $depth `,` $element `>`";
}

#endif
