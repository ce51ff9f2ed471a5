// Ops on tiles: each is one call into the device headers, or a loop over a thread's elements.
#include "compiler/codegen/cuda/kernel_printer.h"
#include "compiler/codegen/cuda/tile_text.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::cuda {

std::string number(int64_t value) { return std::to_string(value); }

std::string tileTypeText(Type type) {
  return TypeSwitch<Type, std::string>(type)
      .Case([](tile::SharedType t) {
        bool strip = t.hasPanels() && t.getPanelRows() != t.getRows();
        return (t.hasPanels() ? "PanelTile<" : "SharedTile<") + typeText(t.getElement()) + ", " +
               number(t.getRows()) + ", " + number(t.getCols()) +
               (strip ? ", " + number(t.getPanelRows()) : "") + ">";
      })
      .Case([](tile::RingType t) {
        return "SharedRing<" + tileTypeText(t.getTile()) + ", " + number(t.getStages()) + ">";
      })
      .Case([](tile::PipeType t) {
        std::string slots = t.getSlotBytes() ? ", " + number(t.getSlotBytes()) : "";
        return "Pipe<" + tileTypeText(t.getTile()) + ", " + number(t.getStages()) + slots + ">";
      })
      .Case([](tile::BarriersType t) { return "Barriers<" + number(t.getCount()) + ">"; })
      .Case([](tile::OperandType t) {
        return "RegisterOperand<" + typeText(t.getElement()) + ", " + number(t.getDepth()) + ">";
      })
      .Case([](tile::FragmentType t) {
        return "Accumulator<" + number(t.getRows()) + ", " + number(t.getCols()) + ">";
      })
      .Case([](tile::ColumnsType t) { return "ColumnVector<" + number(t.getCols()) + ">"; })
      .Case([](tile::RowsType t) { return "RowVector<" + number(t.getRows()) + ">"; });
}

StringRef combineText(tile::Combine kind) {
  switch (kind) {
  case tile::Combine::Add:
    return "Add";
  case tile::Combine::Mul:
    return "Multiply";
  case tile::Combine::Max:
    return "Max";
  case tile::Combine::Min:
    return "Min";
  }
  llvm_unreachable("all kinds are handled");
}

// A tile that an op uses in passing, or the variable that holds it.
std::string KernelPrinter::tileText(Value tile) {
  if (auto found = variables.find(tile); found != variables.end())
    return found->second;
  return TypeSwitch<Operation *, std::string>(tile.getDefiningOp())
      .Case([&](tile::StageOp stage) { // a ring or a pipe finds the slot by itself
        return tileText(stage.getRing()) + "[" + text(stage.getIndex()) + "]";
      })
      .Case([&](tile::StripOp strip) {
        return tileText(strip.getTile()) + ".rows<" + number(strip.getType().getRows()) + ">(" +
               text(strip.getFirst()) + ")";
      })
      .Case([&](tile::ColumnsOp columns) {
        int64_t count = 0;
        if (auto tile = dyn_cast<tile::SharedType>(columns.getType()))
          count = tile.getCols();
        else
          count = cast<tile::OperandType>(columns.getType()).getDepth();
        return tileText(columns.getTile()) + ".columns<" + number(count) + ">(" +
               text(columns.getFirst()) + ")";
      })
      .Case([&](tile::ChooseOp choice) {
        std::string list = "choose(" + text(choice.getNumber());
        for (Value place : choice.getPlaces())
          list += ", " + tileText(place);
        return list + ")";
      })
      .Case([&](tile::ToOperandOp op) {
        const tile::ElementType &element = tile::elementType(op.getType().getElement());
        std::string split = op.getHalves() ? "toHalvesOperand" : "toSplitOperand";
        return (element.isSplit ? split : "toOperand<" + element.cuda.str() + ">") + "(" +
               tileText(op.getFragment()) + ")";
      });
}

// An address in the block's shared memory, as the device headers take it.
std::string KernelPrinter::sharedText(int64_t offset) {
  return offset ? "base + " + number(offset) : "base";
}

void KernelPrinter::declareSharedMemory() {
  if (!std::exchange(sharedMemory, true))
    line("extern __shared__ __align__(1024) unsigned char memory[];");
}

void KernelPrinter::declareSharedBase() {
  declareSharedMemory();
  if (!std::exchange(sharedBase, true))
    line("const u32 base = sharedAddress(memory);");
}

void KernelPrinter::printShared(tile::SharedOp shared) {
  Value value = shared.getResult();
  if (auto pointer = dyn_cast<tile::PtrType>(value.getType())) {
    declareSharedMemory();
    std::string element = typeText(pointer.getElement());
    return line(element + " *const " + declare(value, "array") + " = reinterpret_cast<" + element +
                " *>(memory + " + number(shared.getOffset()) + ");");
  }
  declareSharedBase();
  std::string type = tileTypeText(value.getType());
  line("const " + type + " " + declare(value, "tile") + "{" + sharedText(shared.getOffset()) +
       "};");
}

void KernelPrinter::printPipe(tile::PipeOp pipe) {
  declareSharedBase();
  std::string type = tileTypeText(pipe.getType());
  if (pipe.getWriters() > 0 &&
      pipe.getType().getTile().hasPanels()) // a number is put by one thread
    type = (pipe.getCopied() ? "Copied" : "Written") + type;
  line("const " + type + " " + declare(pipe.getResult(), "pipe") + "{" +
       sharedText(pipe.getOffset()) + ", " + sharedText(pipe.getBarriers()) + "};");
}

void KernelPrinter::printRegisters(tile::RegistersOp registers) {
  comment(registers.getLoc());
  Value value = registers.getResult();
  std::string type = tileTypeText(value.getType());
  std::string name = declare(value, "x");
  line(type + " " + name + ";");
  if (registers.getValueAttr())
    line("fill(" + name + ", " + literal(registers.getValueAttr()).text + ");");
}

std::string address(const std::string &pointer, const Text &offset) {
  return pointer + " + " + offset.within(Binding::Add);
}

// The argument that says how many columns a copy or a store has, where it is not all.
std::string KernelPrinter::columnsText(Value cols) { return cols ? ", " + text(cols) : ""; }

static std::string sourceText(TypedValue<tile::PtrType> pointer) {
  return pointer.getType().getShared() ? ", Source::Shared" : "";
}

void KernelPrinter::printCopy(tile::CopyOp copy) {
  std::string source = sourceText(copy.getPointer());
  if (copy.isRow())
    return line("copyRow<" + number(kernel.getThreads()) + ", " + number(copy.getVectorBytes()) +
                source + ">(" + tileText(copy.getTile()) + ", " +
                address(text(copy.getPointer()), expression(copy.getOffset())) +
                columnsText(copy.getCols()) + ");");
  bool isPlain = copy.getTiles() == 1 && source.empty();
  std::string tiles = isPlain ? "" : ", " + number(copy.getTiles()) + source;
  line("copyTile<" + number(kernel.getThreads()) + ", " + number(copy.getVectorBytes()) + tiles +
       ">(" + tileText(copy.getTile()) + ", " +
       address(text(copy.getPointer()), expression(copy.getOffset())) + ", " +
       text(copy.getStride()) + ", " + text(copy.getRows()) + columnsText(copy.getCols()) + ");");
}

// What finds a row, as a function, which is asked for the ends of runs and for single rows. Boxes
// bring the tile, a lane each, of all warps in turn, where all its runs exist; that all of the role
// see the same. Opens the branch for other tiles.
std::string KernelPrinter::openWithoutRuns(tile::CopyRowsOp copy, const std::string &first) {
  auto stage = copy.getTile().getDefiningOp<tile::StageOp>();
  auto run = static_cast<int64_t>(copy.getRun());
  int64_t parts = copy.getTile().getType().getRows() / run;
  Block &body = *copy.getBodyBlock();
  auto yielded = cast<tile::YieldOp>(body.getTerminator()).getValues();
  std::string place = names.unique("place"), part = names.unique("part");
  std::string start = names.unique("start"), end = names.unique("end");
  names.openScope();
  open("const auto " + place + " = [&](i32 " + declare(body.getArgument(0), "row") +
       ") -> RowPlace<" + number(yielded.size() - 3) + ">");
  printBlock(body);
  std::string at;
  for (Value coordinate : yielded.drop_front(3))
    at += (at.empty() ? "" : ", ") + text(coordinate);
  line("return {" + text(yielded[0]) + ", " + text(yielded[1]) + ", {" + at + "}};");
  --depth;
  names.closeScope();
  line("};");
  names.closeScope();
  std::string from = (first == "0" ? "" : first + " + ") + part + " * " + number(run);
  line("const i32 " + part + " = " +
       (parts == 1 ? "0" : "min<i32>(lane(), " + number(parts - 1) + ")") + ";");
  line("const auto " + start + " = " + place + "(" + from + ");");
  line("const auto " + end + " = " + place + "(" + from + " + " + number(run - 1) + ");");
  open("if (!anyLane(!(" + start + ".exists && " + end + ".exists)))");
  auto [firstWarp, warps] = copy.warps();
  std::string mine = parts == 1 ? "lane() == 0 && warpIndex() == " + number(firstWarp)
                                : "lane() < " + number(parts) + " && lane() % " + number(warps) +
                                      " == warpIndex() % " + number(warps);
  line("if (" + mine + ")");
  line("  " + text(stage.getRing()) + ".fillRun<" + number(run) + ">(" + text(stage.getIndex()) +
       ", " + part + ", " + text(yielded[2]) + ", " + start + ");");
  reopen("else");
  return place;
}

void KernelPrinter::printCopyRows(tile::CopyRowsOp copy) {
  std::string tile = tileText(copy.getTile());
  std::string first = expression(copy.getFirst()).within(Binding::Add);
  auto [firstWarp, warps] = copy.warps();
  auto [turns, rows] = copy.turns();
  std::string place = copy.getRun() ? openWithoutRuns(copy, first) : "";
  names.openScope();
  std::string begin = names.unique("begin");
  std::string warp =
      firstWarp ? "(warpIndex() - " + number(firstWarp) + ")" : std::string("warpIndex()");
  if (turns > 1)
    line("#pragma unroll");
  open("for (i32 " + begin + " = " + warp + " * " + number(rows) + "; " + begin + " < " +
       number(turns * warps * rows) + "; " + begin + " += " + number(warps * rows) + ")");
  std::string row = (first == "0" ? "" : first + " + ") + begin + " + lane()";
  std::string offset, exists;
  if (place.empty()) {
    Block &body = *copy.getBodyBlock();
    line("const i32 " + declare(body.getArgument(0), "row") + " = " + row + ";");
    printBlock(body);
    auto yield = cast<tile::YieldOp>(body.getTerminator());
    offset = address(text(copy.getPointer()), expression(yield.getValues()[0]));
    exists = text(yield.getValues()[1]);
  } else {
    std::string each = names.unique("each");
    line("const auto " + each + " = " + place + "(" + row + ");");
    offset = text(copy.getPointer()) + " + " + each + ".offset";
    exists = each + ".exists";
  }
  line("copyRows<" + number(copy.getVectorBytes()) + ", " + number(rows) +
       sourceText(copy.getPointer()) + ">(" + tile + ", " + begin + ", " + offset + ", " + exists +
       ");");
  close();
  names.closeScope();
  if (!place.empty())
    close();
}

// Opens the loop over a thread's elements of the place `of`; returns the name of its index.
std::string KernelPrinter::openElements(StringRef of, StringRef index) {
  line("#pragma unroll");
  names.openScope();
  std::string name = names.unique(index);
  open("for (int " + name + " = 0; " + name + " < " + of + ".kSize; ++" + name + ")");
  return name;
}

// True of a tile of 16-bit numbers that lies under the map's fragment.
static bool isPacked(tile::MapOp map, unsigned number) {
  auto out = dyn_cast<tile::FragmentType>(map.getOuts().front().getType());
  auto type = dyn_cast<tile::SharedType>(map.getIns()[number].getType());
  return out && type && tile::elementType(type.getElement()).bytes == 2 &&
         out.getRows() % 16 == 0 && out.getCols() % 16 == 0;
}

// The words of such tiles that a thread needs.
void KernelPrinter::declarePackedFragments(tile::MapOp map) {
  for (auto [i, in] : llvm::enumerate(map.getIns())) {
    if (!isPacked(map, i) || map.element(i).use_empty())
      continue;
    auto out = cast<tile::FragmentType>(map.getOuts().front().getType());
    std::string words = variables[map.element(i)] = names.unique("elements");
    line("const auto " + words + " = loadFragment<" +
         typeText(cast<tile::SharedType>(in.getType()).getElement()) + ", " +
         number(out.getRows()) + ", " + number(out.getCols()) + ">(" + tileText(in) + ");");
  }
}

void KernelPrinter::printMap(tile::MapOp map) {
  comment(map.getLoc());
  std::string out = tileText(map.getOuts().front());
  declareLaneRandoms(map);
  declarePackedFragments(map);
  const std::string n = mapElement = openElements(out, map.isOverRows() ? "r" : "n");
  auto index = [&](BlockArgument arg, Value begin, StringRef of) {
    if (arg.use_empty())
      return;
    std::string from = expression(begin).within(Binding::Add);
    std::string start = from == "0" ? "" : from + " + ";
    line("const i32 " + declare(arg, of) + " = " + start + out + "." + of + "(" + n + ");");
  };
  index(map.rowIndex(), map.getRows(), "row");
  if (!map.isOverRows())
    index(map.columnIndex(), map.getCols(), "column");
  for (auto [i, in] : llvm::enumerate(map.getIns())) {
    std::string at = n;
    if (!map.isOverRows() && isa<tile::RowsType>(in.getType()))
      at = out + ".rowSlot(" + n + ")";
    else if (isa<tile::ColumnsType>(in.getType()))
      at = out + ".columnSlot(" + n + ")";
    if (isPacked(map, i)) {
      variables[map.element(i)] += "[" + n + "]";
      continue;
    }
    variables[map.element(i)] = tileText(in) + "[" + at + "]";
    if (isa<tile::SharedType>(in.getType()))
      variables[map.element(i)] =
          tileText(in) + ".element(" + out + ".row(" + n + "), " + out + ".column(" + n + "))";
  }
  commenting = false; // a map has the comment of the whole
  printBlock(*map.getBodyBlock());
  auto yield = cast<tile::YieldOp>(map.getBodyBlock()->getTerminator());
  SmallVector<std::pair<std::string, Value>> list;
  for (auto [place, value] : llvm::zip(map.getOuts(), yield.getValues()))
    list.push_back({tileText(place) + "[" + n + "]", value});
  assignTogether(list);
  commenting = true;
  close();
  names.closeScope();
}

// tile.first_column, tile.column_distance and that as a whole number; the index of the map's
// elements is the loop's.
Text KernelPrinter::laneColumnText(Operation &op) {
  auto map = op.getParentOfType<tile::MapOp>();
  std::string place = tileText(map.getOuts().front());
  if (isa<arith::FPToSIOp>(op))
    return {"i32(" + place + ".columnDistance(" + mapElement + "))"};
  if (isa<tile::ColumnDistanceOp>(op))
    return {"f32(" + place + ".columnDistance(" + mapElement + "))"};
  std::string from = expression(map.getCols()).within(Binding::Add);
  std::string first = place + ".column(0)";
  return from == "0" ? Text{first} : Text{from + " + " + first, Binding::Add};
}

// Opens the loop over the elements `n` of a thread. Those of a group are few turns, whose number
// the compiler knows; true if there is a branch in the last one.
bool KernelPrinter::openTurns(tile::TabulateOp tabulate, const std::string &n) {
  constexpr int64_t kGroupThreads = 128;
  tile::SharedType type = tabulate.getTile().getType();
  int64_t count = type.getRows() * type.getWidth();
  if (!tabulate.getByGroup()) {
    line("#pragma unroll 4");
    open("for (int " + n + " = threadIndex(); " + n + " < " + number(type.getRows()) + " * " +
         number(type.getWidth()) + "; " + n + " += " + number(kernel.getThreads()) + ")");
    return false;
  }
  std::string first = names.unique("first");
  line("#pragma unroll");
  open("for (int " + first + " = 0; " + first + " < " + number(count) + "; " + first +
       " += " + number(kGroupThreads) + ")");
  line("const int " + n + " = " + first + " + int(u32(threadIndex()) % " + number(kGroupThreads) +
       ");");
  bool isGuarded = count % kGroupThreads != 0;
  if (isGuarded)
    open("if (" + n + " < " + number(count) + ")");
  return isGuarded;
}

// Threads take the tile's elements in turn, row after row.
void KernelPrinter::printTabulate(tile::TabulateOp tabulate) {
  comment(tabulate.getLoc());
  tile::SharedType type = tabulate.getTile().getType();
  std::string width = number(type.getWidth());
  std::string tile = tileText(tabulate.getTile());
  names.openScope();
  std::string n = names.unique("n");
  bool isGuarded = openTurns(tabulate, n);
  std::string at = tile + ", " + n + " / " + width + ", " + n + " % " + width;
  Block &body = *tabulate.getBodyBlock();
  std::string first = expression(tabulate.getRows()).within(Binding::Add);
  std::string from = first == "0" ? "" : first + " + ";
  auto index = [&](unsigned i, const std::string &value, StringRef name) {
    if (!body.getArgument(i).use_empty())
      line("const i32 " + declare(body.getArgument(i), name) + " = " + value + ";");
  };
  index(0, from + n + " / " + width, "row");
  index(1, n + " % " + width, "column");
  bool padded = width != number(type.getCols());
  if (padded)
    open("if (" + n + " % " + width + " < " + number(type.getCols()) + ")");
  commenting = false; // the tile has the comment of the whole
  printBlock(body);
  auto yield = cast<tile::YieldOp>(body.getTerminator());
  line("storeElement(" + at + ", " + text(yield.getValues().front()) + ");");
  commenting = true;
  if (padded) {
    reopen("else");
    line("storeElement(" + at + ", 0.0f);");
    close();
  }
  if (isGuarded)
    close();
  close();
  names.closeScope();
}

void KernelPrinter::printAny(tile::AnyOp any) {
  comment(any.getLoc());
  std::string flag = names.unique("exceeds");
  line("bool " + flag + " = false;");
  std::string n = openElements(tileText(any.getIns().front()), "r");
  for (auto [arg, in] : llvm::zip(any.getBodyBlock()->getArguments(), any.getIns()))
    variables[arg] = tileText(in) + "[" + n + "]";
  printBlock(*any.getBodyBlock());
  auto yield = cast<tile::YieldOp>(any.getBodyBlock()->getTerminator());
  line(flag + " |= " + text(yield.getValues().front()) + ";");
  close();
  names.closeScope();
  std::string moved = "anyLane(" + flag + ")";
  if (any.getResult().hasOneUse())
    variables[any.getResult()] = moved;
  else
    line("const bool " + declare(any.getResult(), "some") + " = " + moved + ";");
}

bool KernelPrinter::printTileOp(Operation &op) {
  auto call = [&](const Twine &text) { line(text + ";"); };
  std::string threads = number(kernel.getThreads());
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::SharedOp shared) { return printShared(shared), true; })
      .Case([&](tile::RegistersOp registers) { return printRegisters(registers), true; })
      .Case([&](tile::CopyOp copy) { return printCopy(copy), true; })
      .Case([&](tile::CopyRowsOp copy) { return printCopyRows(copy), true; })
      .Case([&](tile::MapOp map) { return printMap(map), true; })
      .Case([&](tile::TabulateOp tabulate) { return printTabulate(tabulate), true; })
      .Case([&](tile::AnyOp any) { return printAny(any), true; })
      .Case([&](tile::BallotOp ballot) { return printBallot(ballot), true; })
      .Case<tile::StageOp, tile::StripOp, tile::ColumnsOp, tile::ChooseOp, tile::ToOperandOp>(
          [&](auto tile) {
            // One use, or none: written where it is used.
            if (tile.getResult().hasOneUse() || tile.getResult().use_empty())
              return true;
            std::string value = tileText(tile.getResult());
            line("const auto " + declare(tile.getResult(), "tile") + " = " + value + ";");
            return true;
          })
      .Case([&](tile::YieldOp) { return true; })
      .Case([&](tile::BarrierOp) { return call("__syncthreads()"), true; })
      .Case([&](tile::CommitOp) { return call("commitCopies()"), true; })
      .Case([&](tile::WaitOp wait) {
        return call("waitCopies<" + number(wait.getPending()) + ">()"), true;
      })
      .Case([&](tile::MmaOp mma) {
        comment(mma.getLoc());
        std::string function = mma.getTransposed() ? "mmaABt(" : "mmaAB(";
        call(function + tileText(mma.getC()) + ", " + tileText(mma.getA()) + ", " +
             tileText(mma.getB()) + ")");
        return true;
      })
      .Case([&](tile::ReduceRowsOp reduce) {
        comment(reduce.getLoc());
        call("reduceRows<" + combineText(reduce.getKind()) + ">(" + tileText(reduce.getInto()) +
             ", " + tileText(reduce.getFragment()) + ")");
        return true;
      })
      .Case([&](tile::ReduceQuadOp reduce) {
        call("reduceQuad<" + combineText(reduce.getKind()) + ">(" + tileText(reduce.getRows()) +
             ")");
        return true;
      })
      .Case([&](tile::ScaleRowsOp scale) {
        call("scaleRows(" + tileText(scale.getFragment()) + ", " + tileText(scale.getBy()) + ")");
        return true;
      })
      .Case([&](tile::StoreFragmentOp store) {
        call("storeFragment(" + tileText(store.getTile()) + ", " + tileText(store.getFragment()) +
             ")");
        return true;
      })
      .Case([&](tile::StoreTileOp store) {
        call("storeTile<" + threads + ", " + number(store.getVectorBytes()) + ">(" +
             address(text(store.getPointer()), expression(store.getOffset())) + ", " +
             text(store.getStride()) + ", " + tileText(store.getTile()) + ", " +
             text(store.getRows()) + columnsText(store.getCols()) + ")");
        return true;
      })
      .Case([&](tile::StoreFragmentRowsOp store) {
        comment(store.getLoc());
        call("storeFragmentRows(" +
             address(text(store.getPointer()), expression(store.getOffset())) + ", " +
             text(store.getStride()) + ", " + tileText(store.getFragment()) + ", " +
             text(store.getFirst()) + ", " + text(store.getEnd()) + columnsText(store.getCols()) +
             ")");
        return true;
      })
      .Case([&](tile::StoreRowsOp store) {
        call("storeRows(" + address(text(store.getPointer()), expression(store.getOffset())) +
             ", " + text(store.getStride()) + ", " + tileText(store.getRows()) + ", " +
             text(store.getFirst()) + ", " + text(store.getEnd()) + ")");
        return true;
      })
      .Default([&](Operation *other) { return printThreadOp(*other) || printAsyncOp(*other); });
}

} // namespace attnc::cuda
