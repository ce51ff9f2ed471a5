#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc::schedule {

// The maxima of columns are found by so many blocks for each cell, and put together by whoever
// reads them.
static constexpr int64_t kTopParts = 16;
static constexpr llvm::StringLiteral kTopPartsAttr = "red.top_parts";

bool isEncoded(const OperandTile &operand) { return tile::elementType(operand.element).isSplit; }

bool hasEncoded(const StreamPlan &plan) {
  return llvm::any_of(plan.streamed, isEncoded) ||
         llvm::any_of(plan.contractions,
                      [](const Contraction &each) { return isEncoded(each.resident); });
}

//===----------------------------------------------------------------------===//
// What can be encoded
//===----------------------------------------------------------------------===//

// The grid dims that a resident is read at, one for each axis but the rows' and the last; nothing
// where a subscript is another, or a dim comes twice.
static std::optional<llvm::SmallSetVector<StringAttr, 4>> cellDims(const OperandTile &resident) {
  attn::ReadOp read = resident.tensorRead();
  llvm::SmallSetVector<StringAttr, 4> dims;
  unsigned rank = tensorOf(read.getSource()).dims.size();
  for (unsigned axis = 0; axis + 1 < rank; ++axis) {
    if (axis == resident.rowAxis)
      continue;
    StringAttr dim = read.subscriptDim(axis);
    if (!dim || !dims.insert(dim))
      return std::nullopt;
  }
  return dims;
}

static bool readsMemory(Value value) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i)
    if (Operation *op = reached[i].getDefiningOp()) {
      if (isa<attn::ReadOp>(op))
        return true;
      reached.insert(op->operand_begin(), op->operand_end());
    }
  return false;
}

// True if the cell of the streamed operand follows from that of the resident.
static bool followsFrom(const OperandTile &streamed,
                        const llvm::SmallSetVector<StringAttr, 4> &cell) {
  attn::ReadOp read = streamed.tensorRead();
  unsigned rank = tensorOf(read.getSource()).dims.size();
  for (unsigned axis = 0; axis + 1 < rank; ++axis) {
    if (axis == streamed.rowAxis)
      continue;
    StringAttr dim = read.subscriptDim(axis);
    if (dim && !cell.contains(dim))
      return false;
    if (dim)
      continue;
    Value value = read.subscriptValue(axis);
    auto isKnown = [&](StringAttr of) { return cell.contains(of); };
    if (!llvm::all_of(cast<attn::ArrayType>(value.getType()).getDims(), isKnown) ||
        readsMemory(value))
      return false;
  }
  return true;
}

std::string whyNotEncoded(const StreamPlan &plan) {
  auto nameOf = [](const OperandTile &operand) {
    return "'" + tensorOf(operand.tensorRead().getSource()).name + "'";
  };
  llvm::SmallDenseMap<Operation *, unsigned> streamedOf; // by read of the resident
  for (const Contraction &contraction : plan.contractions) {
    const OperandTile &resident = contraction.resident;
    const OperandTile &streamed = plan.streamed[contraction.streamed];
    std::optional<llvm::SmallSetVector<StringAttr, 4>> cell = cellDims(resident);
    if (!cell)
      return nameOf(resident) + " is f32 and read at more than the dims of its cell";
    if (!followsFrom(streamed, *cell))
      return llvm::formatv("halves of {0} need the maxima of {1}, whose cell does not follow from "
                           "that of {0}",
                           nameOf(resident), nameOf(streamed));
    auto [known, isNew] = streamedOf.try_emplace(resident.tensorRead(), contraction.streamed);
    if (!isNew && known->second != contraction.streamed)
      return nameOf(resident) + " is f32 and multiplied with two tensors";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The ops before a nest
//===----------------------------------------------------------------------===//

template <class Op> static SmallVector<Op> opsBefore(red::NestOp nest) {
  SmallVector<Op> found;
  for (Operation *op = nest->getPrevNode(); isa_and_nonnull<red::EncodeOp, red::TopsOp>(op);
       op = op->getPrevNode())
    if (auto match = dyn_cast<Op>(op))
      found.insert(found.begin(), match);
  return found;
}

SmallVector<red::EncodeOp> encodingsOf(red::NestOp nest) { return opsBefore<red::EncodeOp>(nest); }
SmallVector<red::TopsOp> topsOf(red::NestOp nest) { return opsBefore<red::TopsOp>(nest); }

red::EncodeOp encodingOf(red::NestOp nest, const OperandTile &operand, bool isStreamed) {
  return encodingOf(nest, operand.tensorRead(), operand.rowAxis, isStreamed);
}

red::EncodeOp encodingOf(red::NestOp nest, attn::ReadOp read, unsigned rowAxis, bool isStreamed) {
  for (red::EncodeOp op : encodingsOf(nest))
    if (op.getTensor() == read.getSource() && op.getAxis() == rowAxis &&
        bool(op.getColumns()) == isStreamed)
      return op;
  return {};
}

// The dim of the parts in which maxima of columns are found, the same for all of the program.
static StringAttr topPartsDim(attn::ProgramOp program) {
  if (auto known = program->getAttrOfType<StringAttr>(kTopPartsAttr))
    return known;
  MLIRContext *context = program.getContext();
  std::string name = "top_part";
  while (program.lookupDim(StringAttr::get(context, name)))
    name += "_";
  auto dim = StringAttr::get(context, name);
  SmallVector<Attribute> dims(program.getDims().begin(), program.getDims().end());
  dims.push_back(attn::DimAttr::get(context, dim, kTopParts));
  program.setDimsAttr(ArrayAttr::get(context, dims));
  program->setAttr(kTopPartsAttr, dim);
  return dim;
}

namespace {

/// Puts the ops that a nest needs before it.
class OperandEncoder {
public:
  OperandEncoder(red::NestOp nest) : nest(nest), b(nest) {}

  void encodeAll(const StreamPlan &plan, int64_t tileRows) {
    for (const OperandTile &operand : plan.streamed)
      if (isEncoded(operand) && !encodingOf(nest, operand, true))
        encode(operand, tileRows, findTops(operand), /*isStreamed=*/true);
    for (const Contraction &contraction : plan.contractions)
      if (isEncoded(contraction.resident) && !encodingOf(nest, contraction.resident, false))
        encode(contraction.resident, 0, findTops(plan.streamed[contraction.streamed]),
               /*isStreamed=*/false);
  }

private:
  static SmallVector<StringAttr> without(ArrayRef<StringAttr> dims, unsigned axis) {
    SmallVector<StringAttr> left(dims);
    left.erase(left.begin() + axis);
    return left;
  }

  // Tops come before all encodings: one kernel finds them all.
  Value findTops(const OperandTile &operand) {
    Value tensor = operand.tensorRead().getSource();
    for (red::TopsOp op : topsOf(nest))
      if (op.getTensor() == tensor && op.getAxis() == operand.rowAxis)
        return op.getTops();
    SmallVector<StringAttr> dims = without(tensorOf(tensor).dims, operand.rowAxis);
    dims.insert(dims.end() - 1, topPartsDim(attn::programOf(nest)));
    OpBuilder::InsertionGuard guard(b);
    if (SmallVector<red::EncodeOp> encodings = encodingsOf(nest); !encodings.empty())
      b.setInsertionPoint(encodings.front());
    return red::TopsOp::create(b, tensor.getLoc(),
                               attn::ArrayType::get(b.getContext(), dims, b.getF32Type()), tensor,
                               operand.rowAxis);
  }

  void encode(const OperandTile &operand, int64_t rows, Value tops, bool isStreamed) {
    Value tensor = operand.tensorRead().getSource();
    SmallVector<StringAttr> dims = tensorOf(tensor).dims;
    auto type = [&](ArrayRef<StringAttr> dims, Type element) -> Type {
      return attn::ArrayType::get(b.getContext(), dims, element);
    };
    Type half = type(dims, b.getF16Type());
    Type scale = type(ArrayRef(dims).drop_back(), b.getF32Type());
    Type columns = isStreamed ? type(without(dims, operand.rowAxis), b.getF32Type()) : Type();
    red::EncodeOp::create(b, tensor.getLoc(), half, half, scale, columns, tensor, tops,
                          operand.rowAxis, rows);
  }

  red::NestOp nest;
  OpBuilder b;
};

} // namespace

void encodeOperands(red::NestOp nest) {
  for (red::EncodeOp old : encodingsOf(nest))
    old.erase();
  for (red::TopsOp old : topsOf(nest))
    old.erase();
  auto schedule = tile::scheduleAs<WarpgroupSchedule>(nest.getScheduleAttr());
  PlannedNest planned(nest);
  if (schedule && planned.stream() && hasEncoded(*planned.stream()))
    OperandEncoder(nest).encodeAll(*planned.stream(), schedule->streamTile);
}

} // namespace attnc::schedule
