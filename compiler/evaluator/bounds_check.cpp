#include "compiler/evaluator/bounds_check.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Attn/Subscripts.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// One axis of a read whose subscript is checked.
struct CheckedAxis {
  attn::ReadOp read;
  unsigned axis;
};

/// The text of the subscript as the frontend noted it.
StringRef spelled(attn::ReadOp read, unsigned axis) {
  auto texts = read->getAttrOfType<ArrayAttr>(attn::kCheckedAttr);
  return texts ? cast<StringAttr>(texts[axis]).getValue() : StringRef();
}

std::vector<CheckedAxis> checkedAxes(attn::ProgramOp program) {
  std::vector<CheckedAxis> axes;
  program.walk([&](attn::ReadOp read) {
    bool noted = read->hasAttr(attn::kCheckedAttr);
    for (unsigned axis = 0; axis < read.getSubscripts().size(); ++axis)
      if (Value subscript = read.subscriptValue(axis))
        if (noted ? !spelled(read, axis).empty() : read.getOtherwise() && comesFromData(subscript))
          axes.push_back({read, axis});
  });
  return axes;
}

std::string nameOf(Value source) {
  if (auto input = source.getDefiningOp<attn::InputOp>())
    return input.getName().str();
  StringRef name = attn::specName(source.getLoc());
  return name.empty() ? "a computed array" : name.str();
}

/// The lengths of dims that come from data.
std::vector<attn::ExtentOp> checkedLengths(attn::ProgramOp program) {
  std::vector<attn::ExtentOp> lengths;
  for (auto extent : program.getBodyBlock()->getOps<attn::ExtentOp>())
    if (!extent.getValue().getType().isScalar())
      lengths.push_back(extent);
  return lengths;
}

/// A copy of `program` whose outputs are the subscripts of `axes`, named by their numbers, and the
/// `lengths`, named by their dims, and that computes nothing else.
OwningOpRef<attn::ProgramOp> subscriptsOf(attn::ProgramOp program, ArrayRef<CheckedAxis> axes,
                                          ArrayRef<attn::ExtentOp> lengths) {
  IRMapping mapping;
  OwningOpRef<attn::ProgramOp> copy = cast<attn::ProgramOp>(program->clone(mapping));
  Block &block = *copy->getBodyBlock();
  for (auto output : llvm::make_early_inc_range(block.getOps<attn::OutputOp>()))
    output.erase();
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  auto output = [&](const Twine &name, Value original) {
    Value value = mapping.lookup(original);
    ArrayRef<StringAttr> dims = cast<attn::ArrayType>(value.getType()).getDims();
    attn::OutputOp::create(builder, value.getLoc(), builder.getStringAttr(name), value,
                           builder.getArrayAttr(SmallVector<Attribute>(dims.begin(), dims.end())),
                           TypeAttr::get(builder.getI64Type()));
  };
  for (auto [number, checked] : llvm::enumerate(axes))
    output(Twine(number), attn::ReadOp(checked.read).subscriptValue(checked.axis));
  for (attn::ExtentOp length : lengths)
    output(length.getDim(), length.getValue());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.getNumResults() && op.use_empty() && !isa<attn::InputOp, attn::ParamOp>(op))
      op.erase();
  return copy;
}

/// Fills in where the first value outside is, if there is one.
bool findFirst(const Array &values, OutsideRead &found) {
  found.all = values.size();
  int64_t first = -1;
  for (int64_t flat = 0; flat < values.size(); ++flat)
    if (values.integer[flat] < 0 || values.integer[flat] >= found.extent + found.isLength) {
      first = first < 0 ? flat : first;
      ++found.outside;
    }
  if (first < 0)
    return false;
  found.value = values.integer[first];
  for (size_t axis = values.dims.size(); axis-- > 0; first /= values.shape[axis])
    found.at.insert(found.at.begin(), {values.dims[axis], first % values.shape[axis]});
  return true;
}

} // namespace

bool comesFromData(Value subscript) {
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> work = {subscript};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || isa<attn::InputOp>(op))
      return true;
    if (!isa<attn::ParamOp>(op))
      llvm::append_range(work, op->getOperands());
  }
  return false;
}

std::string OutsideRead::text() const {
  std::string text = place.empty() ? "" : place + ": ";
  if (isLength) {
    text += "the length of '" + dim + "' is " + std::to_string(value);
    for (auto [number, index] : llvm::enumerate(at))
      text += (number ? ", " : " at ") + index.first + "=" + std::to_string(index.second);
    text += ", not in 0.." + std::to_string(extent) + ", so " +
            std::to_string(value < 0 ? 0 : extent) + " counts";
    if (all > 1)
      text += " (" + std::to_string(outside) + " of " + std::to_string(all) + " are outside)";
    return text;
  }
  text += tensor + ": the subscript " + (subscript.empty() ? "" : "`" + subscript + "` ") + "of '" +
          dim + "' is " + std::to_string(value);
  if (value == std::numeric_limits<int64_t>::min())
    text += " (or beyond 64 bits)";
  for (auto [number, index] : llvm::enumerate(at))
    text += (number ? ", " : " at ") + index.first + "=" + std::to_string(index.second);
  text += "; the extent is " + std::to_string(extent) + ", so ";
  llvm::raw_string_ostream(text) << llvm::format("%g", otherwise) << " is read";
  if (all > 1)
    text += " (" + std::to_string(outside) + " of " + std::to_string(all) + " are outside)";
  return text;
}

llvm::Expected<std::vector<OutsideRead>>
findOutsideReads(attn::ProgramOp program, const EvalInputs &inputs, const EvalOptions &options) {
  std::vector<OutsideRead> reads;
  std::vector<CheckedAxis> axes = checkedAxes(program);
  std::vector<attn::ExtentOp> lengths = checkedLengths(program);
  if (axes.empty() && lengths.empty())
    return reads;
  llvm::Expected<std::map<std::string, int64_t>> extents = bindExtents(program, inputs);
  if (!extents)
    return extents.takeError();
  OwningOpRef<attn::ProgramOp> subscripts = subscriptsOf(program, axes, lengths);
  llvm::Expected<Outputs> values = evaluate(*subscripts, inputs, options);
  if (!values)
    return values.takeError();
  for (attn::ExtentOp length : lengths) {
    OutsideRead found;
    found.isLength = true;
    found.dim = length.getDim().str();
    found.extent = extents->at(found.dim);
    found.place = attn::specPlace(length.getLoc());
    if (findFirst(values->at(found.dim), found))
      reads.push_back(std::move(found));
  }
  llvm::SmallDenseSet<Value> reported;
  for (auto [number, checked] : llvm::enumerate(axes)) {
    auto [read, axis] = checked;
    Value source = read.getSource();
    if (reported.contains(source))
      continue;
    OutsideRead found;
    found.dim = cast<attn::ArrayType>(source.getType()).getDims()[axis].str();
    found.extent = extents->at(found.dim);
    if (!findFirst(values->at(std::to_string(number)), found))
      continue;
    found.place = attn::specPlace(read.getLoc());
    found.tensor = nameOf(source);
    found.subscript = spelled(read, axis).str();
    found.otherwise = read.getOtherwise() ? read.getOtherwise()->convertToDouble() : 0;
    reported.insert(source);
    reads.push_back(std::move(found));
  }
  return reads;
}

} // namespace attnc::evaluator
