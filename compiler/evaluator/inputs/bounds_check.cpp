#include "compiler/evaluator/inputs/bounds_check.h"
#include "dialects/Attn/SpecLocation.h"
#include "dialects/Attn/Subscripts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// The first row of each sequence, if the length is that of packed ones: the subtrahend of the
/// difference of two offsets. Else null.
Value firstRows(attn::ExtentOp length) {
  auto map = length.getValue().getDefiningOp<attn::MapOp>();
  if (!map || !length->hasAttr(attn::kRowsAttr))
    return Value();
  auto difference = map.getYielded().getDefiningOp<arith::SubIOp>();
  auto start = difference ? dyn_cast<BlockArgument>(difference.getRhs()) : BlockArgument();
  return start ? map.getOperand(start.getArgNumber()) : Value();
}

const char *const kMade = "made ", *const kFirst = "first ";

/// A copy of a program that computes subscripts and lengths, and nothing else.
class Subscripts {
public:
  explicit Subscripts(attn::ProgramOp program)
      : program(program), copy(cast<attn::ProgramOp>(program->clone(mapping))),
        block(*copy->getBodyBlock()), builder(OpBuilder::atBlockEnd(&block)) {
    for (auto output : llvm::make_early_inc_range(block.getOps<attn::OutputOp>()))
      output.erase();
  }

  /// Outputs by name: the subscripts of `axes` by their numbers, with which of them are made where
  /// lengths say so; the `lengths` by their dims, with the first rows of packed sequences.
  OwningOpRef<attn::ProgramOp> take(ArrayRef<CheckedAxis> axes,
                                    ArrayRef<attn::ExtentOp> lengths) && {
    for (auto [number, checked] : llvm::enumerate(axes)) {
      Value subscript = attn::ReadOp(checked.read).subscriptValue(checked.axis);
      output(Twine(number), mapping.lookup(subscript));
      if (Value made = madeAt(checked.read, subscript, lengths))
        output(kMade + Twine(number), made);
    }
    for (attn::ExtentOp length : lengths) {
      output(length.getDim(), mapping.lookup(length.getValue()));
      if (Value first = firstRows(length))
        output(kFirst + length.getDim(), mapping.lookup(first));
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.getNumResults() && op.use_empty() && !isa<attn::InputOp, attn::ParamOp>(op))
        op.erase();
    return std::move(copy);
  }

private:
  static ArrayRef<StringAttr> dimsOf(Value array) {
    return cast<attn::ArrayType>(array.getType()).getDims();
  }

  attn::ArrayType arrayType(ArrayRef<StringAttr> dims, Type element) {
    return attn::ArrayType::get(builder.getContext(), attn::canonicalDims(program, dims), element);
  }

  ArrayAttr namesOf(ArrayRef<StringAttr> dims) {
    return builder.getArrayAttr(SmallVector<Attribute>(dims.begin(), dims.end()));
  }

  void output(const Twine &name, Value value) {
    attn::OutputOp::create(builder, value.getLoc(), builder.getStringAttr(name), value,
                           namesOf(dimsOf(value)), TypeAttr::get(builder.getI64Type()));
  }

  /// For the indices of `subscript`, whether `read` is made there: at indices that are all within
  /// their lengths. Null if the read has no dims with lengths.
  Value madeAt(attn::ReadOp read, Value subscript, ArrayRef<attn::ExtentOp> lengths) {
    SmallVector<Value> pairs; // index and length, one pair after the other
    llvm::SetVector<StringAttr> dims;
    for (attn::ExtentOp length : lengths) {
      StringAttr dim = length.getDimAttr();
      if (!llvm::is_contained(dimsOf(read.getResult()), dim))
        continue;
      pairs.push_back(attn::IndexOp::create(builder, length.getLoc(),
                                            arrayType({dim}, builder.getI64Type()), dim));
      pairs.push_back(mapping.lookup(length.getValue()));
      dims.insert_range(dimsOf(pairs.end()[-2]));
      dims.insert_range(dimsOf(pairs.back()));
    }
    if (pairs.empty())
      return Value();
    Type condition = builder.getI1Type();
    Value made = attn::MapOp::create(builder, read.getLoc(),
                                     arrayType(dims.getArrayRef(), condition), pairs, allBelow);
    SmallVector<StringAttr> others = llvm::filter_to_vector(
        dims, [&](StringAttr dim) { return !llvm::is_contained(dimsOf(subscript), dim); });
    if (others.empty())
      return made;
    dims.remove_if([&](StringAttr dim) { return llvm::is_contained(others, dim); });
    return attn::ReduceOp::create(builder, read.getLoc(), arrayType(dims.getArrayRef(), condition),
                                  attn::ReduceKind::Or, namesOf(others), made);
  }

  static Value allBelow(OpBuilder &inner, Location loc, ValueRange pairs) {
    Value all;
    for (size_t i = 0; i < pairs.size(); i += 2) {
      Value below =
          arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt, pairs[i], pairs[i + 1]);
      all = all ? arith::AndIOp::create(inner, loc, all, below).getResult() : below;
    }
    return all;
  }

  attn::ProgramOp program;
  IRMapping mapping;
  OwningOpRef<attn::ProgramOp> copy;
  Block &block;
  OpBuilder builder;
};

/// The index of each dim at a flat position.
std::vector<std::pair<std::string, int64_t>> indicesAt(const Array &array, int64_t flat) {
  std::vector<std::pair<std::string, int64_t>> at(array.dims.size());
  for (size_t axis = array.dims.size(); axis-- > 0; flat /= array.shape[axis])
    at[axis] = {array.dims[axis], flat % array.shape[axis]};
  return at;
}

/// The element of `array`, which has some of the dims of `at`.
int64_t elementAt(const Array &array, ArrayRef<std::pair<std::string, int64_t>> at) {
  int64_t flat = 0;
  for (auto [dim, extent] : llvm::zip_equal(array.dims, array.shape))
    flat = flat * extent +
           llvm::find_if(at, [&](const auto &index) { return index.first == dim; })->second;
  return array.integer[flat];
}

/// Fills in where the first value outside is, if there is one; those that `made` leaves out do not
/// count.
bool findFirst(const Array &values, const Array *made, OutsideRead &found) {
  int64_t first = -1, last = found.extent - (found.kind != OutsideRead::Length);
  for (int64_t flat = 0; flat < values.size(); ++flat) {
    if (made && !elementAt(*made, indicesAt(values, flat)))
      continue;
    ++found.all;
    if (values.integer[flat] >= 0 && values.integer[flat] <= last)
      continue;
    first = first < 0 ? flat : first;
    ++found.outside;
  }
  if (first < 0)
    return false;
  found.value = values.integer[first];
  found.at = indicesAt(values, first);
  return true;
}

/// Fills in the first sequence that has rows outside, if there is one. `lengths` and `firsts` have
/// the same dim.
bool findSequence(const Array &lengths, const Array &firsts, OutsideRead &found) {
  int64_t at = -1;
  found.all = lengths.size();
  for (int64_t b = 0; b < lengths.size(); ++b) {
    int64_t length = lengths.integer[b], first = firsts.integer[b];
    if (length <= 0 || (first >= 0 && first <= found.extent - length))
      continue;
    at = at < 0 ? b : at;
    ++found.outside;
  }
  if (at < 0)
    return false;
  found.first = firsts.integer[at];
  // Wild offsets may leave 64 bits; the program wraps as well.
  found.value = static_cast<int64_t>(static_cast<uint64_t>(found.first) +
                                     static_cast<uint64_t>(lengths.integer[at] - 1));
  found.at = indicesAt(lengths, at);
  return true;
}

/// What is wrong with a length, or with the packed sequences that have it.
std::optional<OutsideRead> findOutside(attn::ExtentOp length, const Outputs &values,
                                       const std::map<std::string, int64_t> &extents) {
  OutsideRead found;
  found.dim = length.getDim().str();
  found.place = attn::specPlace(length.getLoc());
  const Array &given = values.at(found.dim);
  if (auto first = values.find(kFirst + found.dim); first != values.end()) {
    found.kind = OutsideRead::Sequence;
    found.extent = extents.at(length->getAttrOfType<StringAttr>(attn::kRowsAttr).str());
    if (findSequence(given, first->second, found))
      return found;
  }
  found.kind = OutsideRead::Length;
  found.extent = extents.at(found.dim);
  found.all = 0;
  return findFirst(given, nullptr, found) ? std::optional(found) : std::nullopt;
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
  std::string text;
  llvm::raw_string_ostream out(text);
  out << place << (place.empty() ? "" : ": ");
  if (kind == Read)
    out << tensor << ": the subscript " << (subscript.empty() ? "" : "`" + subscript + "` ")
        << "of '" << dim << "' is " << value
        << (value == std::numeric_limits<int64_t>::min() ? " (or beyond 64 bits)" : "");
  else if (kind == Length)
    out << "the length of '" << dim << "' is " << value;
  else
    out << "the sequence of '" << dim << "' has the rows " << first << " to " << value;
  for (auto [number, index] : llvm::enumerate(at))
    out << (number ? ", " : " at ") << index.first << "=" << index.second;
  if (kind == Read)
    out << "; the extent is " << extent << ", so " << llvm::format("%g", otherwise) << " is read";
  else if (kind == Length)
    out << ", not in 0.." << extent << ", so " << (value < 0 ? 0 : extent) << " counts";
  else
    out << ", of " << extent << " that there are, so 0 is read for the others";
  if (all > 1)
    out << " (" << outside << " of " << all << " are outside)";
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
  OwningOpRef<attn::ProgramOp> subscripts = Subscripts(program).take(axes, lengths);
  llvm::Expected<Outputs> values = evaluate(*subscripts, inputs, options);
  if (!values)
    return values.takeError();
  for (attn::ExtentOp length : lengths)
    if (std::optional<OutsideRead> found = findOutside(length, *values, *extents))
      reads.push_back(std::move(*found));
  llvm::SmallDenseSet<Value> reported;
  for (auto [number, checked] : llvm::enumerate(axes)) {
    auto [read, axis] = checked;
    Value source = read.getSource();
    if (reported.contains(source))
      continue;
    OutsideRead found;
    found.dim = cast<attn::ArrayType>(source.getType()).getDims()[axis].str();
    found.extent = extents->at(found.dim);
    auto made = values->find(kMade + std::to_string(number));
    if (!findFirst(values->at(std::to_string(number)),
                   made == values->end() ? nullptr : &made->second, found))
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
