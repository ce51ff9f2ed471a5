#ifndef ATTNC_TILE_SCHEDULES_TD
#define ATTNC_TILE_SCHEDULES_TD

include "dialects/Red/Schedule.td"
include "dialects/Tile/TileDialect.td"

// A form: its keys are those of the struct (Schedules.h), which prints, parses and verifies them.
class Tile_Form<string name, string cppName, string keys, string declarations = "">
    : AttrDef<Tile_Dialect, cppName, [Red_Schedule]> {
  let mnemonic = name;
  let parameters = (ins "::attnc::tile::" # keys:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::std::vector<::attnc::red::ScheduleValue> getKeys() const { return printedKeys(getValue()); }
  }] # declarations;
  let extraClassDefinition = [{
    void $cppClass::print(::mlir::AsmPrinter &printer) const { printKeys(printer, getValue()); }
    ::mlir::Attribute $cppClass::parse(::mlir::AsmParser &parser, ::mlir::Type) {
      auto start = parser.getCurrentLocation();
      ::attnc::tile::}] # keys # [{ value;
      if (parseKeys(parser, value.keys()))
        return {};
      return getChecked([&] { return parser.emitError(start); }, parser.getContext(), value);
    }
    ::llvm::LogicalResult
    $cppClass::verify(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
                      ::attnc::tile::}] # keys # [{ value) {
      ::std::string why = value.check();
      return why.empty() ? ::mlir::success() : ::mlir::LogicalResult(emitError() << why);
    }
  }];
}

def Tile_WarpgroupsAttr : Tile_Form<"warpgroups", "Warpgroups", "WarpgroupSchedule", [{
    bool hasTiles() const { return true; }
    int64_t getMinBlocks() const { return getValue().minBlocks(); }
  }]> {
  let summary = "Warps with roles: one warpgroup copies, the others compute";
}

def Tile_PortableAttr : Tile_Form<"portable", "Portable", "PortableSchedule", [{
    bool hasTiles() const { return true; }
    int64_t getMinBlocks() const { return getValue().minBlocks; }
  }]> {
  let summary = "Every warp copies and computes";
}

def Tile_RowsAttr : Tile_Form<"rows", "Rows", "RowsSchedule"> {
  let summary = "A block has some rows; its threads share what a row and an index have in common";
}

def Tile_GenericAttr : Tile_Form<"generic", "Generic", "GenericSchedule"> {
  let summary = "A thread for each element of the results";
}

def Tile_CpuAttr : Tile_Form<"cpu", "Cpu", "CpuSchedule"> {
  let summary = "Loops over tiles on a processor";
}

#endif
