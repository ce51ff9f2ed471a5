#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/forms/keyed_form.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "compiler/schedule/warpgroups/warpgroup_schedule.h"
#include "compiler/transforms/split.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc::schedule {

// The maxima of columns are found by so many blocks for each cell, and put together by whoever
// reads them.
static constexpr int64_t kTopParts = 16;
// Rows that are known to be so few make one part: a block has them all.
static constexpr int64_t kRowsOfOnePart = 256;
// What the maxima of all warps have room for in shared memory.
static constexpr int64_t kMostColumns = 1024;
// Products that an element takes part in, from which on wgmma on halves saves more than it takes to
// make them.
static constexpr int64_t kLeastUses = 200;
// Of the kernel that takes over where halves lose something.
static constexpr int64_t kFallbackWarps = 4;
static constexpr llvm::StringLiteral kTopPartsAttr = "red.top_parts";

bool isEncoded(const OperandTile &operand) { return tile::elementType(operand.element).isSplit; }

bool hasEncoded(const StreamPlan &plan) {
  return llvm::any_of(plan.streamed, isEncoded) ||
         llvm::any_of(plan.weights, [](const Weight &weight) { return weight.inHalves; }) ||
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

static bool isSameTensor(const OperandTile &x, const OperandTile &y) {
  return x.tensorRead().getSource() == y.tensorRead().getSource() && x.rowAxis == y.rowAxis;
}

// True if the streamed operand's columns are divided by powers of two: all that its tensor is
// multiplied with is encoded and takes them instead, or the result does.
static bool dividesColumns(const StreamPlan &plan, const OperandTile &streamed) {
  return isEncoded(streamed) &&
         llvm::all_of(plan.contractions, [&](const Contraction &contraction) {
           return !isSameTensor(plan.streamed[contraction.streamed], streamed) ||
                  isEncoded(contraction.resident);
         });
}

// True if another nest stores exponentials as they are: features.
static bool isOfExponentials(const OperandTile &operand) {
  auto result = dyn_cast<OpResult>(operand.tensorRead().getSource());
  auto nest = result ? dyn_cast<red::NestOp>(result.getOwner()) : red::NestOp();
  if (!nest)
    return false;
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  auto map = yield.getValues()[result.getResultNumber()].getDefiningOp<attn::MapOp>();
  return map && isa_and_nonnull<math::ExpOp, math::Exp2Op>(map.getYielded().getDefiningOp());
}

static std::string nameOf(const OperandTile &operand) {
  return "'" + tensorOf(operand.tensorRead().getSource()).name + "'";
}

std::string whyVainlyEncoded(red::NestOp nest, const StreamPlan &plan) {
  attn::ProgramOp program = attn::programOf(nest);
  std::string why;
  auto look = [&](const OperandTile &operand, StringAttr partners) {
    attn::DimAttr along = program.lookupDim(partners);
    if (!why.empty() || !isEncoded(operand) || !along.isStatic() || along.getExtent() >= kLeastUses)
      return;
    attn::ReadOp read = operand.tensorRead();
    if (llvm::all_of(nest.getGrid().getAsRange<StringAttr>(), [&](StringAttr dim) {
          return isPartDim(program, dim) || read.getType().hasDim(dim);
        }))
      why = llvm::formatv("halves of {0} would be multiplied {1} times, and {2} make up for a pass "
                          "that makes them",
                          nameOf(operand), along.getExtent(), kLeastUses);
  };
  for (const OperandTile &streamed : plan.streamed)
    look(streamed, plan.row);
  for (const Contraction &contraction : plan.contractions)
    look(contraction.resident, plan.stream);
  return why;
}

std::string whyNotEncoded(const StreamPlan &plan) {
  for (const Contraction &contraction : plan.contractions)
    for (const OperandTile *operand : {&contraction.resident, &plan.streamed[contraction.streamed]})
      if (isEncoded(*operand) && isOfExponentials(*operand))
        return nameOf(*operand) + " is f32 and of exponentials: rows of these have no scale in "
                                  "common, and halves would lose some";
  for (const OperandTile &streamed : plan.streamed)
    if (isEncoded(streamed) && streamed.wholeCols() > kMostColumns)
      return llvm::formatv("{0} is f32 and {1} wide; rows of halves are at most {2}",
                           nameOf(streamed), streamed.wholeCols(), kMostColumns);
  for (const Contraction &contraction : plan.contractions) {
    const OperandTile &resident = contraction.resident;
    const OperandTile &streamed = plan.streamed[contraction.streamed];
    if (!isEncoded(resident))
      continue;
    std::optional<llvm::SmallSetVector<StringAttr, 4>> cell = cellDims(resident);
    if (!cell)
      return nameOf(resident) +
             " is f32 and read at subscripts that are no dims, or at one dim twice";
    if (dividesColumns(plan, streamed) && !followsFrom(streamed, *cell))
      return llvm::formatv("halves of {0} need the maxima of {1}, whose cell does not follow from "
                           "that of {0}",
                           nameOf(resident), nameOf(streamed));
    for (const Contraction &other : plan.contractions)
      if (isSameTensor(other.resident, resident) &&
          (other.resident.tensorRead() != resident.tensorRead() ||
           other.streamed != contraction.streamed))
        return nameOf(resident) + " is f32 and multiplied with two tensors, or read in two cells";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The ops before a nest
//===----------------------------------------------------------------------===//

template <class Op> static SmallVector<Op> opsBefore(red::NestOp nest) {
  SmallVector<Op> found;
  for (Operation *op = nest->getPrevNode();
       isa_and_nonnull<red::EncodeOp, red::TopsOp, red::LostOp>(op); op = op->getPrevNode())
    if (auto match = dyn_cast<Op>(op))
      found.insert(found.begin(), match);
  return found;
}

SmallVector<red::EncodeOp> encodingsOf(red::NestOp nest) { return opsBefore<red::EncodeOp>(nest); }
SmallVector<red::TopsOp> topsOf(red::NestOp nest) { return opsBefore<red::TopsOp>(nest); }

red::LostOp lostOf(red::NestOp nest) {
  SmallVector<red::LostOp> found = opsBefore<red::LostOp>(nest);
  return found.empty() ? red::LostOp() : found.front();
}

red::EncodeOp encodingOf(red::NestOp nest, const OperandTile &operand, bool isStreamed) {
  return encodingOf(nest, operand.tensorRead(), operand.rowAxis, isStreamed);
}

red::EncodeOp encodingOf(red::NestOp nest, attn::ReadOp read, unsigned rowAxis, bool isStreamed) {
  for (red::EncodeOp op : encodingsOf(nest))
    if (op.getTensor() == read.getSource() && op.getAxis() == rowAxis &&
        (op.getRows() != 0) == isStreamed)
      return op;
  return {};
}

// The dim of the parts in which maxima of columns are found, the same for all of the program that
// have as many.
static StringAttr topPartsDim(attn::ProgramOp program, int64_t parts) {
  std::string attribute = kTopPartsAttr.str() + "_" + std::to_string(parts);
  if (auto known = program->getAttrOfType<StringAttr>(attribute))
    return known;
  MLIRContext *context = program.getContext();
  std::string name = "top_part";
  while (program.lookupDim(StringAttr::get(context, name)))
    name += "_";
  auto dim = StringAttr::get(context, name);
  SmallVector<Attribute> dims(program.getDims().begin(), program.getDims().end());
  dims.push_back(attn::DimAttr::get(context, dim, parts));
  program.setDimsAttr(ArrayAttr::get(context, dims));
  program->setAttr(attribute, dim);
  return dim;
}

// The schedule of the kernel for what halves lose. It runs rarely and is compiled always: of the
// portable ones that has little code, with small tiles of the stream.
static red::Schedule fallbackSchedule(red::NestOp nest, GpuModel machine) {
  machine.warpgroups = nullptr;
  PlannedNest planned(nest);
  std::string why;
  red::Schedule last;
  for (const Candidate &candidate : portableForm().candidates(planned, machine, why))
    if (tile::scheduleAs<tile::PortableSchedule>(candidate.schedule)->warps == kFallbackWarps)
      last = candidate.schedule;
  return last ? last : chooseSchedule(planned, machine).schedule;
}

namespace {

/// Puts the ops that a nest needs before it.
class OperandEncoder {
public:
  OperandEncoder(red::NestOp nest) : nest(nest), b(nest) {}

  void encodeAll(const StreamPlan &plan, const WarpgroupSchedule &schedule,
                 const GpuModel &machine) {
    auto topsOfColumns = [&](const OperandTile &streamed) {
      return dividesColumns(plan, streamed) ? findTops(streamed) : Value();
    };
    for (const OperandTile &operand : plan.streamed)
      if (isEncoded(operand) && !encodingOf(nest, operand, true))
        encode(operand, schedule.streamTile, topsOfColumns(operand), /*isStreamed=*/true);
    const auto *streamed = llvm::find_if(plan.streamed, isEncoded);
    if (streamed != plan.streamed.end() && schedule.accuracy == tile::Accuracy::F32)
      watchLosses(*streamed, machine);
    for (const Contraction &contraction : plan.contractions)
      if (isEncoded(contraction.resident) && !encodingOf(nest, contraction.resident, false))
        encode(contraction.resident, 0, topsOfColumns(plan.streamed[contraction.streamed]),
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
    attn::ProgramOp program = attn::programOf(nest);
    attn::DimAttr rows = program.lookupDim(tensorOf(tensor).dims[operand.rowAxis]);
    bool isOne = rows.isStatic() && rows.getExtent() <= kRowsOfOnePart;
    dims.insert(dims.end() - 1, topPartsDim(program, isOne ? 1 : kTopParts));
    OpBuilder::InsertionGuard guard(b);
    if (SmallVector<red::EncodeOp> encodings = encodingsOf(nest); !encodings.empty())
      b.setInsertionPoint(encodings.front());
    return red::TopsOp::create(b, tensor.getLoc(),
                               attn::ArrayType::get(b.getContext(), dims, b.getF32Type()), tensor,
                               operand.rowAxis);
  }

  // Rows that share a scale may be too different for it. Who finds maxima says first that they are
  // not.
  void watchLosses(const OperandTile &operand, const GpuModel &machine) {
    Type flag = attn::ArrayType::get(b.getContext(), {}, b.getI32Type());
    red::LostOp::create(b, nest.getLoc(), flag, fallbackSchedule(nest, machine));
    if (topsOf(nest).empty())
      findTops(operand);
  }

  void encode(const OperandTile &operand, int64_t rows, Value tops, bool isStreamed) {
    Value tensor = operand.tensorRead().getSource();
    SmallVector<StringAttr> dims = tensorOf(tensor).dims;
    auto type = [&](ArrayRef<StringAttr> dims, Type element) -> Type {
      return attn::ArrayType::get(b.getContext(), dims, element);
    };
    Type half = type(dims, b.getF16Type());
    Type scale = type(ArrayRef(dims).drop_back(), b.getF32Type());
    Type columns =
        isStreamed && tops ? type(without(dims, operand.rowAxis), b.getF32Type()) : Type();
    red::EncodeOp::create(b, tensor.getLoc(), half, half, scale, columns, tensor, tops,
                          operand.rowAxis, rows);
  }

  red::NestOp nest;
  OpBuilder b;
};

} // namespace

template <class Op> static void eraseAll(SmallVector<Op> ops) {
  for (Op op : ops)
    op.erase();
}

void encodeOperands(red::NestOp nest, const GpuModel &machine) {
  eraseAll(encodingsOf(nest));
  eraseAll(topsOf(nest));
  eraseAll(opsBefore<red::LostOp>(nest));
  auto schedule = tile::scheduleAs<WarpgroupSchedule>(nest.getScheduleAttr());
  PlannedNest planned(nest);
  if (schedule && planned.ofHalves() && hasEncoded(*planned.ofHalves()))
    OperandEncoder(nest).encodeAll(*planned.ofHalves(), *schedule, machine);
}

} // namespace attnc::schedule
