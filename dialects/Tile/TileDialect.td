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
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::attnc::attn::AttnDialect"];
}

class Tile_Type<string cppName, string text> : TypeDef<Tile_Dialect, cppName> {
  let mnemonic = text;
}

// Its element has a row in ElementTypes.h.
class Tile_StoredType<string cppName, string text> : Tile_Type<cppName, text> {
  let genVerifyDecl = 1;
}

def Tile_PtrType : Tile_StoredType<"Ptr", "ptr"> {
  let summary = "The address of a tensor";
  let description = [{
    In global memory. The element is a storage type: f16, bf16, f32, f64, iN; i1 takes a byte.
    `!tile.ptr<f32, shared>`: in the shared memory of the block, which the kernels of a chain are
    called with.
  }];
  let parameters = (ins "::mlir::Type":$element,
                        DefaultValuedParameter<"bool", "false">:$shared);
  let assemblyFormat = "`<` $element `` custom<Space>($shared) `>`";
  let builders = [TypeBuilder<(ins "::mlir::Type":$element), [{
    return $_get($_ctxt, element, false);
  }]>];
}

//===----------------------------------------------------------------------===//
// Tiles: places in shared memory or in the registers of one warp
//===----------------------------------------------------------------------===//

def Tile_SharedType : Tile_StoredType<"Shared", "shared"> {
  let summary = "A swizzled tile in shared memory";
  let description = [{
    `!tile.shared<64, 128, bf16>`: 64 rows of 128 elements, one after the other. Rows are padded to a
    multiple of 32 bytes; what a copy does not fill is zero.

    `!tile.shared<64, 128, bf16, panels 192>`: 64 rows of a tile of 192 in panels of 128 bytes of
    columns with the 128-byte swizzle, as the tensor memory accelerator writes and wgmma reads them.
    The columns that fill the last panel are zero.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$element,
                        DefaultValuedParameter<"int64_t", "0">:$panelRows);
  let assemblyFormat = "`<` $rows `,` $cols `,` $element (`,` `panels` $panelRows^)? `>`";
  let builders = [TypeBuilder<(ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$element), [{
    return $_get($_ctxt, rows, cols, element, 0);
  }]>];
  let extraClassDeclaration = [{
    /// True for panels: what asynchronous copies and products use.
    bool hasPanels() const { return getPanelRows() != 0; }
    /// True for one row of f32 without panels.
    bool isVector() const {
      return !hasPanels() && getRows() == 1 && getElement().isF32();
    }
    /// True for panels of as many rows as the tile has.
    bool hasWholePanels() const { return hasPanels() && getPanelRows() == getRows(); }
    /// Columns with the padding, which products read as zeros.
    int64_t getWidth() const;
    /// Bytes of the whole tile; of a strip of panels, of its rows alone.
    int64_t getBytes() const;
    /// Whether it has elements, and so few that a block has room for `count` of it.
    bool fitsBlock(int64_t count = 1) const;
  }];
}

def Tile_RingType : Tile_Type<"Ring", "ring"> {
  let summary = "Several shared tiles of one kind, filled in turn";
  let parameters = (ins "int64_t":$stages, "::attnc::tile::SharedType":$tile);
  let assemblyFormat = "`<` $stages `,` $tile `>`";
}

def Tile_PipeType : Tile_Type<"Pipe", "pipe"> {
  let summary = "A ring of shared tiles that copies or warps fill, with barriers for each slot";
  let description = [{
    Tiles are numbered from 0 in the order in which they are filled; tile n takes slot n mod
    `stages`. Each slot has two barriers: "full", which the copy or the writers complete, and "free",
    which the warps that use the tile complete when they have released it. Slots lie `slot_bytes` apart,
    if that is not the size of a tile.
  }];
  let parameters = (ins "int64_t":$stages, "::attnc::tile::SharedType":$tile,
                        OptionalParameter<"int64_t">:$slot_bytes);
  let assemblyFormat = "`<` $stages `,` $tile (`,` `slots` $slot_bytes^)? `>`";
  let builders = [TypeBuilder<(ins "int64_t":$stages, "::attnc::tile::SharedType":$tile,
                                   CArg<"int64_t", "0">:$slot_bytes), [{
    return $_get($_ctxt, stages, tile, slot_bytes == tile.getBytes() ? 0 : slot_bytes);
  }]>];
  let skipDefaultBuilders = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// From one slot to the next.
    int64_t getStride() const { return getSlotBytes() ? getSlotBytes() : getTile().getBytes(); }
  }];
}

def Tile_TensorMapType : Tile_StoredType<"TensorMap", "tensor_map"> {
  let summary = "A tensor in global memory as the tensor memory accelerator sees it";
  let description = [{
    `!tile.tensor_map<[64, 80, 1, 1], bf16>`: a copy moves a box of these extents, the last axis of
    the tensor first. What lies outside the tensor is zero, and is not written.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$box, "::mlir::Type":$element);
  let assemblyFormat = "`<` `[` $box `]` `,` $element `>`";
}

def Tile_BarriersType : Tile_Type<"Barriers", "mbarriers"> {
  let summary = "Barriers in shared memory that count arrivals and bytes of copies";
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
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

def Tile_ColumnsType : Tile_Type<"Columns", "columns"> {
  let summary = "One f32 for each column of a warp's fragment";
  let description = "The eight lanes with the same place in their quad hold the same columns.";
  let parameters = (ins "int64_t":$cols);
  let assemblyFormat = "`<` $cols `>`";
}

def Tile_OperandType : Tile_StoredType<"Operand", "operand"> {
  let summary = "The A operand of a product in registers, rounded to the element type (f32: split)";
  let parameters = (ins "int64_t":$rows, "int64_t":$depth, "::mlir::Type":$element);
  let assemblyFormat = "`<` $rows `,` $depth `,` $element `>`";
}

def Tile_ArrayType : Tile_Type<"Array", "array"> {
  let summary = "Scalars in memory or registers, `!tile.array<[4, 128], f32>`, the last axis contiguous";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$element);
  let assemblyFormat = "`<` `[` $shape `]` `,` $element `>`";
  let extraClassDeclaration = [{
    int64_t getNumElements() const;
  }];
}

#endif
