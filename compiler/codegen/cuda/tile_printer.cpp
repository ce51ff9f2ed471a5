// Ops on tiles: each is one call into the device headers, or a loop over a thread's elements.
#include "compiler/codegen/cuda/kernel_printer.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::cuda {

static std::string number(int64_t value) { return std::to_string(value); }

static std::string tileTypeText(Type type) {
  return TypeSwitch<Type, std::string>(type)
      .Case([](tile::SharedType t) {
        return "SharedTile<" + typeText(t.getElement()) + ", " + number(t.getRows()) + ", " +
               number(t.getCols()) + ">";
      })
      .Case([](tile::RingType t) {
        return "SharedRing<" + tileTypeText(t.getTile()) + ", " + number(t.getStages()) + ">";
      })
      .Case([](tile::FragmentType t) {
        return "Accumulator<" + number(t.getRows()) + ", " + number(t.getCols()) + ">";
      })
      .Case([](tile::RowsType t) { return "RowVector<" + number(t.getRows()) + ">"; });
}

static StringRef combineText(tile::Combine kind) {
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
      .Case([&](tile::StageOp stage) {
        std::string count = number(stage.getRing().getType().getStages());
        std::string index = expression(stage.getIndex()).within(Binding::Multiply) + " % " + count;
        APInt constant;
        if (matchPattern(stage.getIndex(), m_ConstantInt(&constant)))
          index = number(constant.getSExtValue() % stage.getRing().getType().getStages());
        return tileText(stage.getRing()) + "[" + index + "]";
      })
      .Case([&](tile::StripOp strip) {
        return tileText(strip.getTile()) + ".rows<" + number(strip.getType().getRows()) + ">(" +
               text(strip.getFirst()) + ")";
      })
      .Case([&](tile::ToOperandOp op) {
        std::string element = typeText(op.getType().getElement());
        return (op.getType().getElement().isF32() ? "toSplitOperand"
                                                  : "toOperand<" + element + ">") +
               "(" + tileText(op.getFragment()) + ")";
      });
}

void KernelPrinter::printShared(tile::SharedOp shared) {
  if (!sharedBase) {
    line("extern __shared__ __align__(1024) unsigned char memory[];");
    line("const u32 base = sharedAddress(memory);");
    sharedBase = true;
  }
  std::string offset = shared.getOffset() ? " + " + number(shared.getOffset()) : "";
  Value value = shared.getResult();
  std::string type = tileTypeText(value.getType());
  line("const " + type + " " + declare(value, "tile") + "{base" + offset + "};");
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

// Pointer arithmetic: `k + (offset)`.
static std::string address(const std::string &pointer, const Text &offset) {
  return pointer + " + " + offset.within(Binding::Add);
}

void KernelPrinter::printCopy(tile::CopyOp copy) {
  line("copyTile<" + number(kernel.getThreads()) + ", " + number(copy.getVectorBytes()) + ">(" +
       tileText(copy.getTile()) + ", " +
       address(text(copy.getPointer()), expression(copy.getOffset())) + ", " +
       text(copy.getStride()) + ", " + text(copy.getRows()) + ");");
}

// Opens the loop over a thread's elements of the place `of`; returns the name of its index.
std::string KernelPrinter::openElements(StringRef of, StringRef index) {
  line("#pragma unroll");
  names.openScope();
  std::string name = names.unique(index);
  open("for (int " + name + " = 0; " + name + " < " + of + ".kSize; ++" + name + ")");
  return name;
}

void KernelPrinter::printMap(tile::MapOp map) {
  comment(map.getLoc());
  std::string out = tileText(map.getOuts().front());
  std::string n = openElements(out, map.isOverRows() ? "r" : "n");
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
    bool row = !map.isOverRows() && isa<tile::RowsType>(in.getType());
    variables[map.element(i)] = tileText(in) + "[" + (row ? out + ".rowSlot(" + n + ")" : n) + "]";
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
  variables[any.getResult()] = "anyLane(" + flag + ")";
}

bool KernelPrinter::printTileOp(Operation &op) {
  auto call = [&](const Twine &text) { line(text + ";"); };
  std::string threads = number(kernel.getThreads());
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](tile::SharedOp shared) { return printShared(shared), true; })
      .Case([&](tile::RegistersOp registers) { return printRegisters(registers), true; })
      .Case([&](tile::CopyOp copy) { return printCopy(copy), true; })
      .Case([&](tile::MapOp map) { return printMap(map), true; })
      .Case([&](tile::AnyOp any) { return printAny(any), true; })
      .Case<tile::StageOp, tile::StripOp, tile::ToOperandOp>([&](auto tile) {
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
             text(store.getRows()) + ")");
        return true;
      })
      .Case([&](tile::StoreRowsOp store) {
        call("storeRows(" + address(text(store.getPointer()), expression(store.getOffset())) +
             ", " + text(store.getStride()) + ", " + tileText(store.getRows()) + ", " +
             text(store.getFirst()) + ", " + text(store.getEnd()) + ")");
        return true;
      })
      .Default([](Operation *) { return false; });
}

} // namespace attnc::cuda
