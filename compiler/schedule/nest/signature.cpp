#include "compiler/schedule/nest/signature.h"
#include "compiler/schedule/chains/chain_memory.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/nest/planned_nest.h"
#include "compiler/schedule/nest/symbol_name.h"
#include "compiler/schedule/slab/store_weights.h"
#include "compiler/schedule/warpgroups/operand_maps.h"
#include "dialects/Attn/SpecLocation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attnc::schedule {

red::PackOp packOf(Value result) {
  auto pack = result.hasOneUse() ? dyn_cast<red::PackOp>(*result.user_begin()) : red::PackOp();
  return pack && pack.getPadded() == result ? pack : red::PackOp();
}

// The output that a nest's result is, or null if it is an intermediate.
static attn::OutputOp outputOf(Value value) {
  if (red::PackOp pack = packOf(value))
    return outputOf(pack.getPacked());
  return value.hasOneUse() ? dyn_cast<attn::OutputOp>(*value.user_begin()) : attn::OutputOp();
}

static StringRef baseName(Value yielded) {
  StringRef base = attn::specName(yielded.getLoc());
  return base.empty() ? "value" : base;
}

// Intermediates are numbered where their names in the spec are not unique. A name is its base, with
// or without a number: those of which neither begins with the other's base cannot be the same, and
// are passed over, since a program may have thousands.
static std::string intermediateName(Value value) {
  auto nest = value.getDefiningOp<red::NestOp>();
  attn::ProgramOp program = attn::programOf(nest);
  auto yieldOf = [](red::NestOp nest) {
    return cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  };
  StringRef wanted = baseName(yieldOf(nest).getValues()[cast<OpResult>(value).getResultNumber()]);
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> numbers; // of a base, those below are taken
  for (Operation &op : *program.getBodyBlock())
    if (auto input = dyn_cast<attn::InputOp>(op))
      taken.insert(input.getName());
    else if (auto output = dyn_cast<attn::OutputOp>(op))
      taken.insert(output.getName());
  for (auto other : program.getBodyBlock()->getOps<red::NestOp>()) {
    for (auto [result, yielded] : llvm::zip(other.getResults(), yieldOf(other).getValues())) {
      StringRef base = baseName(yielded);
      if (!base.starts_with(wanted) && !wanted.starts_with(base))
        continue;
      if (outputOf(result))
        continue;
      std::string name = base.str();
      for (unsigned &i = numbers[base]; !taken.insert(name).second; ++i)
        name = (base + "_" + Twine(i + 2)).str();
      if (result == value)
        return name;
    }
  }
  llvm_unreachable("a nest's result belongs to its program");
}

// What the name of a tensor ends with that is made of another for its products; or nothing.
static StringRef encodedSuffix(Value value) {
  if (value.getDefiningOp<red::LostOp>())
    return "lost";
  if (value.getDefiningOp<red::TopsOp>())
    return "_tops";
  static constexpr StringLiteral suffixes[] = {"_high", "_low", "_scale", "_columns"};
  auto result = dyn_cast<OpResult>(value);
  return value.getDefiningOp<red::EncodeOp>() ? suffixes[result.getResultNumber()]
                                              : StringLiteral("");
}

// The name of what a tensor is encoded as, numbered where it is taken.
static std::string encodedName(Value value) {
  attn::ProgramOp program = attn::programOf(value.getDefiningOp());
  llvm::StringSet<> taken;
  for (Operation &op : *program.getBodyBlock())
    if (auto output = dyn_cast<attn::OutputOp>(op))
      taken.insert(output.getName());
    else if (isa<attn::InputOp, red::NestOp>(op))
      for (Value result : op.getResults())
        taken.insert(tensorOf(result).name);
  for (Operation &op : *program.getBodyBlock())
    if (isa<red::TopsOp, red::EncodeOp, red::LostOp>(op))
      for (Value result : op.getResults()) {
        std::string base = (op.getNumOperands() ? tensorOf(op.getOperand(0)).name : "") +
                           encodedSuffix(result).str();
        std::string name = base;
        for (unsigned i = 2; !taken.insert(name).second; ++i)
          name = base + "_" + std::to_string(i);
        if (result == value)
          return name;
      }
  llvm_unreachable("an encoding belongs to its program");
}

Tensor tensorOf(Value value) {
  auto type = cast<attn::ArrayType>(value.getType());
  Tensor tensor;
  if (auto input = value.getDefiningOp<attn::InputOp>()) {
    tensor.kind = Tensor::Kind::Input;
    tensor.name = input.getName().str();
    tensor.element = type.getElementType();
    llvm::append_range(tensor.dims, type.getDims());
  } else if (attn::OutputOp output = outputOf(value)) {
    tensor.kind = Tensor::Kind::Output;
    tensor.name = output.getName().str();
    tensor.element = output.getType();
    tensor.dims = attn::dimNames(output.getDims());
    if (red::PackOp pack = packOf(value))
      llvm::replace(tensor.dims, pack.rows(), pack.getDimAttr());
  } else {
    tensor.kind = Tensor::Kind::Intermediate;
    tensor.name = encodedSuffix(value).empty() ? intermediateName(value) : encodedName(value);
    tensor.element = type.getElementType();
    llvm::append_range(tensor.dims, type.getDims());
  }
  return tensor;
}

// True where a name goes on as what stands for a byte beyond ASCII does: _uCE.
static bool looksEscaped(StringRef rest) {
  constexpr StringRef digits = "0123456789ABCDEF";
  return rest.size() > 2 && rest[0] == 'u' && digits.drop_front(8).contains(rest[1]) &&
         digits.contains(rest[2]);
}

std::string cIdentifier(StringRef text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    if (llvm::isAlnum(c) || (c == '_' && !looksEscaped(text.drop_front(i + 1))))
      result += c;
    else
      result += "_u" + llvm::utohexstr(c);
  }
  if (result.empty() || llvm::isDigit(result.front()))
    result.insert(0, "_");
  return result;
}

static std::vector<std::string> wordsOf(red::NestOp nest) {
  std::vector<std::string> words = {cIdentifier(attn::programOf(nest).getSymName())};
  for (Value result : nest.getResults())
    words.push_back(cIdentifier(tensorOf(result).name));
  return words;
}

// The name of a nest's first result, but for its number.
static StringRef stemOf(red::NestOp nest) {
  if (attn::OutputOp output = outputOf(nest.getResult(0)))
    return output.getName();
  return baseName(cast<red::YieldOp>(nest.getBodyBlock()->getTerminator()).getValues().front());
}

// True if the results of another nest make the same name, as a and b_c make that of a_b and c. The
// first name of one then begins with the first of the other: few have to be spelled out.
static bool isAmbiguous(red::NestOp nest, const std::string &name) {
  auto begins = [](StringRef whole, StringRef part) {
    return whole.starts_with(part) && whole.drop_front(part.size()).starts_with("_");
  };
  StringRef stem = stemOf(nest);
  return llvm::any_of(attn::programOf(nest).getBodyBlock()->getOps<red::NestOp>(),
                      [&](red::NestOp other) {
                        StringRef first = stemOf(other);
                        return (begins(first, stem) || begins(stem, first)) && other != nest &&
                               llvm::join(wordsOf(other), "_") == name;
                      });
}

std::string kernelName(red::NestOp nest) {
  std::vector<std::string> words = wordsOf(nest);
  return isAmbiguous(nest, llvm::join(words, "_")) ? hashedName(words) : symbolName(words);
}

// True if the nest reads elements of `array` other than through the maps.
static bool readsBesides(red::NestOp nest, Value array, ArrayRef<OperandMap> maps) {
  bool found = false;
  nest.walk([&](attn::ReadOp read) {
    found |= read.getSource() == array && llvm::none_of(maps, [&](OperandMap map) {
               return map.read == read && !map.alsoElements;
             });
  });
  return found;
}

KernelSignature::KernelSignature(red::NestOp nest) {
  PlannedNest planned(nest);
  *this = KernelSignature(planned);
}

bool KernelArg::isSame(const KernelArg &other) const {
  return kind == other.kind && array == other.array && axis == other.axis && dim == other.dim &&
         box == other.box && half == other.half && swizzle == other.swizzle;
}

KernelSignature::KernelSignature(ArrayRef<red::NestOp> nests) {
  for (red::NestOp nest : nests)
    for (KernelSignature own(nest); const KernelArg &arg : own.args())
      if (llvm::none_of(list, [&](const KernelArg &known) { return known.isSame(arg); }) &&
          !(arg.array && isKept(arg.array)))
        list.push_back(arg);
}

KernelSignature::KernelSignature(attn::ProgramOp program, ArrayRef<Value> tensors,
                                 ArrayRef<Value> params) {
  llvm::SmallDenseSet<StringAttr> dims;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    dims.insert(dim.getName());
  for (Value array : tensors)
    addTensor(array);
  addSizes(program, dims);
  addParams(params);
}

void KernelSignature::addParams(ArrayRef<Value> params) {
  for (Value value : params)
    list.push_back({KernelArg::Kind::Param,
                    cIdentifier(value.getDefiningOp<attn::ParamOp>().getName()),
                    value,
                    0,
                    {}});
}

void KernelSignature::addTensor(Value array) {
  Tensor tensor = tensorOf(array);
  std::string name = cIdentifier(tensor.name);
  list.push_back({KernelArg::Kind::Pointer, name, array, 0, {}});
  for (unsigned axis = 0; axis + 1 < tensor.dims.size(); ++axis)
    list.push_back(
        {KernelArg::Kind::Stride, name + "_stride" + std::to_string(axis), array, axis, {}});
}

void KernelSignature::addOnce(Value array) {
  if (llvm::none_of(list, [&](const KernelArg &arg) { return arg.array == array; }))
    addTensor(array);
}

void KernelSignature::addHalf(red::NestOp nest, const OperandMap &map) {
  red::EncodeOp encoding =
      encodingOf(nest, map.read, map.rowAxis, map.kind == OperandMap::Kind::Streamed);
  Value half = map.half == Half::High ? encoding.getHigh() : encoding.getLow();
  std::string name = cIdentifier(tensorOf(half).name) + "_map";
  auto same = llvm::count_if(list, [&](const KernelArg &arg) {
    return arg.kind == KernelArg::Kind::TensorMap && arg.array == half;
  });
  list.push_back({KernelArg::Kind::TensorMap,
                  name + (same ? std::to_string(same + 1) : ""),
                  half,
                  0,
                  {},
                  map.read,
                  map.box,
                  map.half});
  addOnce(encoding.getScale());
}

void KernelSignature::addSizes(attn::ProgramOp program,
                               const llvm::SmallDenseSet<StringAttr> &dims) {
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (!dim.isStatic() && dims.contains(dim.getName()))
      list.push_back({KernelArg::Kind::Size,
                      "size_" + cIdentifier(dim.getName().getValue()),
                      {},
                      0,
                      dim.getName()});
}

KernelSignature::KernelSignature(PlannedNest &planned) {
  red::NestOp nest = planned.op();
  llvm::SmallDenseSet<StringAttr> dims;
  for (ArrayAttr role : {nest.getGrid(), nest.getRow(), nest.getStream(), nest.getInner()})
    dims.insert(role.getAsRange<StringAttr>().begin(), role.getAsRange<StringAttr>().end());
  SmallVector<OperandMap> maps = boxMaps(planned);
  auto addArray = [&](Value array) {
    Tensor tensor = tensorOf(array);
    std::string name = cIdentifier(tensor.name);
    dims.insert(tensor.dims.begin(), tensor.dims.end());
    unsigned number = 0;
    for (OperandMap &map : maps)
      if (map.read.getSource() == array && map.half != Half::None) {
        addHalf(nest, map);
        ++number;
      } else if (map.read.getSource() == array) {
        std::string mapName = name + "_map" + (number++ ? std::to_string(number) : "");
        list.push_back({KernelArg::Kind::TensorMap, mapName, array, 0, {}, map.read, map.box});
        if (map.rows == 1)
          list.back().swizzle = 0;
      }
    if (!number || readsBesides(nest, array, maps))
      addTensor(array);
  };
  llvm::SetVector<Value> captures = nest.captures();
  for (Value value : captures)
    if (!value.getDefiningOp<attn::ParamOp>())
      addArray(value);
  // The columns of scores are in both operands, and cancel.
  bool takesTensors = !tile::scheduleAs<WarpgroupSchedule>(nest.getScheduleAttr());
  if (!encodingsOf(nest).empty() && !takesTensors)
    for (auto [i, operand] : llvm::enumerate(planned.ofHalves()->streamed))
      if (isStateOperand(*planned.ofHalves(), i) && isEncoded(operand))
        if (Value columns = encodingOf(nest, operand, /*isStreamed=*/true).getColumns())
          addOnce(columns);
  for (Value result : nest.getResults())
    if (red::PackOp pack = packOf(result))
      for (Value place : {pack.getStart(), pack.getCount()})
        addOnce(place);
  SmallVector<ResultMap> stored = resultMaps(planned);
  for (Value result : nest.getResults()) {
    ResultMap *map = llvm::find_if(stored, [&](ResultMap &m) { return m.result == result; });
    if (map == stored.end()) {
      addArray(result);
      continue;
    }
    Tensor tensor = tensorOf(result);
    dims.insert(tensor.dims.begin(), tensor.dims.end());
    list.push_back({KernelArg::Kind::TensorMap,
                    cIdentifier(tensor.name) + "_map",
                    result,
                    0,
                    {},
                    attn::ReadOp(),
                    map->box});
  }
  nest.walk([&](attn::SizeOp size) { dims.insert(size.getDimAttr()); });

  addSizes(attn::programOf(nest), dims);
  for (Value value : captures)
    if (value.getDefiningOp<attn::ParamOp>())
      addParams(value);
  if (nest->hasAttr(kSlabAttr))
    for (unsigned isEnd : {0, 1})
      list.push_back({KernelArg::Kind::Cells,
                      isEnd ? "end_cell" : "first_cell",
                      nest.getResult(0),
                      isEnd,
                      {}});
  if (drawsRowTiles(nest))
    list.push_back({KernelArg::Kind::Counter, "drawn", {}, 0, {}});
  if (red::LostOp lost = lostOf(nest); lost && takesTensors)
    addTensor(lost.getLost());
}

static unsigned positionIn(ArrayRef<KernelArg> list, function_ref<bool(const KernelArg &)> match) {
  auto found = llvm::find_if(list, match);
  assert(found != list.end() && "the signature has this argument");
  return found - list.begin();
}

unsigned KernelSignature::position(const KernelArg &arg) const {
  return positionIn(list, [&](const KernelArg &known) { return known.isSame(arg); });
}

unsigned KernelSignature::pointer(Value array) const {
  return positionIn(list, [&](const KernelArg &arg) {
    return arg.kind == KernelArg::Kind::Pointer && arg.array == array;
  });
}

unsigned KernelSignature::stride(Value array, unsigned axis) const {
  return positionIn(list, [&](const KernelArg &arg) {
    return arg.kind == KernelArg::Kind::Stride && arg.array == array && arg.axis == axis;
  });
}

unsigned KernelSignature::param(Value array) const {
  return positionIn(list, [&](const KernelArg &arg) {
    return arg.kind == KernelArg::Kind::Param && arg.array == array;
  });
}

unsigned KernelSignature::tensorMap(attn::ReadOp read, Half half) const {
  return positionIn(list, [&](KernelArg arg) {
    return arg.kind == KernelArg::Kind::TensorMap && arg.read == read && arg.half == half;
  });
}

unsigned KernelSignature::tensorMap(Value result) const {
  return positionIn(list, [&](const KernelArg &arg) {
    return arg.kind == KernelArg::Kind::TensorMap && arg.array == result;
  });
}

unsigned KernelSignature::size(StringAttr dim) const {
  return positionIn(list, [&](const KernelArg &arg) {
    return arg.kind == KernelArg::Kind::Size && arg.dim == dim;
  });
}

unsigned KernelSignature::cells(bool isEnd) const {
  return positionIn(list, [&](const KernelArg &arg) {
    return arg.kind == KernelArg::Kind::Cells && arg.axis == isEnd;
  });
}

unsigned KernelSignature::counter() const {
  return positionIn(list,
                    [](const KernelArg &arg) { return arg.kind == KernelArg::Kind::Counter; });
}

} // namespace attnc::schedule
