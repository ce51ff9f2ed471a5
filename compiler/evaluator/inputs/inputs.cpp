#include "compiler/evaluator/inputs/inputs.h"
#include "compiler/evaluator/inputs/subscript_inputs.h"
#include "compiler/evaluator/tensor.h"
#include "dialects/Red/Red.h"
#include "runtime/program/dtype.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// A counter-based generator (the finaliser of splitmix64): word `counter` of stream `key`.
uint64_t word(uint64_t key, uint64_t counter) {
  uint64_t z = key + (counter + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// The stream that belongs to `name` (FNV-1a, mixed with the seed).
uint64_t streamOf(uint64_t seed, StringRef name) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001B3ull;
  return word(seed, hash);
}

/// Nearly normal(0, 1): the sum of twelve uniform numbers, less its mean. It needs no functions
/// whose last bit depends on the platform.
double normal(uint64_t key, int64_t i) {
  int64_t sum = 0;
  for (int part = 0; part < 3; ++part)
    for (uint64_t w = word(key, 3 * uint64_t(i) + part), k = 0; k < 4; ++k, w >>= 16)
      sum += w & 0xFFFF;
  return static_cast<double>(sum) / 65536 - 6 + 6.0 / 65536;
}

/// A sign for each index of a dim, the same in every input.
double signAt(StringAttr dim, int64_t index) {
  return word(streamOf(0, dim.getValue()), index) & 1 ? 1 : -1;
}

double rounded(Type type, double x) {
  if (type.isF16())
    return halfToFloat(floatToHalf(static_cast<float>(x)));
  if (type.isBF16())
    return bfloatToFloat(floatToBFloat(static_cast<float>(x)));
  return type.isF64() ? x : static_cast<float>(x);
}

llvm::SetVector<StringAttr> reducedDims(attn::ProgramOp program) {
  llvm::SetVector<StringAttr> dims;
  program.walk([&](Operation *op) {
    ArrayAttr list;
    if (auto reduce = dyn_cast<attn::ReduceOp>(op))
      list = reduce.getDims();
    else if (auto softmax = dyn_cast<attn::SoftmaxOp>(op))
      list = softmax.getDims();
    else if (auto fold = dyn_cast<red::FoldOp>(op))
      list = fold.getDims();
    if (list)
      dims.insert_range(list.getAsRange<StringAttr>());
  });
  return dims;
}

/// True if `value` reaches its uses only through reads and as a term of additions.
bool onlyAdded(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<attn::ReadOp>(user))
      return use.getOperandNumber() == 0 && onlyAdded(user->getResult(0));
    if (auto map = dyn_cast<attn::MapOp>(user))
      return onlyAdded(map.getBodyBlock()->getArgument(use.getOperandNumber()));
    return isa<arith::AddFOp>(user);
  });
}

/// What the generator knows about the program.
struct Roles {
  llvm::SetVector<StringAttr> reduced;
  llvm::SetVector<StringAttr> stream;
  std::map<std::string, int64_t> extents;
  llvm::DenseMap<Value, int64_t> subscripts; // see subscriptRanges
  llvm::DenseMap<Value, int64_t> lengths;    // see lengthRanges
  llvm::SmallDenseSet<Value> offsets;        // see offsetInputs
  uint64_t seed;

  Roles(attn::ProgramOp program, const std::map<std::string, int64_t> &given, uint64_t seed)
      : reduced(reducedDims(program)), extents(given),
        subscripts(subscriptRanges(program, extents)), lengths(lengthRanges(program, extents)),
        offsets(offsetInputs(program)), seed(seed) {
    for (auto input : program.getBodyBlock()->getOps<attn::InputOp>())
      for (StringAttr dim :
           input.getType().getDims().drop_back(input.getType().getDims().empty() ? 0 : 1))
        if (reduced.contains(dim))
          stream.insert(dim);
  }

  int64_t extent(StringAttr dim) const { return extents.at(dim.str()); }
  int64_t planted(StringAttr dim) const {
    return word(streamOf(seed, dim.getValue()), 0) % std::max<int64_t>(extent(dim), 1);
  }
};

/// Fills one float input.
class Generator {
public:
  Generator(attn::InputOp input, const Roles &roles, InputKind kind)
      : type(input.getType()), roles(roles), kind(kind),
        key(streamOf(roles.seed, input.getName())) {
    if (!type.getDims().empty())
      last = type.getDims().back();
    for (auto [axis, dim] : llvm::enumerate(type.getDims().drop_back(last ? 1 : 0)))
      if (roles.stream.contains(dim)) {
        streamAxis = axis;
        streamDim = dim;
      }
    contracted = last && roles.reduced.contains(last) && !roles.stream.contains(last);
    bool masks = kind == InputKind::InfiniteBias || kind == InputKind::FiniteMask;
    added = masks && last && onlyAdded(input.getResult());
  }

  double at(int64_t flat, ArrayRef<int64_t> index) const {
    double x = normal(key, flat);
    switch (kind) {
    case InputKind::Random:
      return x;
    case InputKind::Planted:
      return planted(x, index);
    case InputKind::LargeLogits:
      return contracted ? 100 * x : x;
    case InputKind::AscendingMaxima:
      return ascending(x, index);
    case InputKind::InfiniteBias:
      return isMasked(flat, index) ? -INFINITY : x;
    case InputKind::FiniteMask:
      return isMasked(flat, index) || startsMasked(flat, index) ? lowest() : x;
    }
    return x;
  }

private:
  double planted(double x, ArrayRef<int64_t> index) const {
    if (!last)
      return x;
    double sign = signAt(last, index.back());
    if (!streamDim)
      return contracted ? x + sign : x;
    if (index[streamAxis] != roles.planted(streamDim))
      return x;
    if (!contracted)
      return 4 * sign + x;
    // A logit log(n) + 2 outweighs n others, whose exponentials average about e: three quarters of
    // the weight, so that both the loss and the doubling of the element show.
    double logit = std::log(static_cast<double>(roles.extent(streamDim))) + 2;
    return sign * logit / std::sqrt(static_cast<double>(roles.extent(last)));
  }

  double ascending(double x, ArrayRef<int64_t> index) const {
    if (!contracted)
      return x;
    double sign = signAt(last, index.back());
    if (!streamDim)
      return sign + 0.25 * x;
    double place = (index[streamAxis] + 0.5) / static_cast<double>(roles.extent(streamDim));
    double logit = 40 * place - 20;
    return sign * logit / std::sqrt(static_cast<double>(roles.extent(last))) + 0.1 * x;
  }

  bool isMasked(int64_t flat, ArrayRef<int64_t> index) const {
    // Row keys are those of the row's first element, so the whole row agrees.
    return added && (word(key ^ 1, flat - index.back()) % 16 == 0 || word(key ^ 2, flat) % 4 == 0);
  }

  bool startsMasked(int64_t flat, ArrayRef<int64_t> index) const {
    return added && word(key ^ 3, flat - index.back()) % 2 == 0 &&
           2 * index.back() < roles.extent(last);
  }

  double lowest() const { return type.getElementType().isF16() ? -65504 : -1e9; }

  attn::ArrayType type;
  const Roles &roles;
  InputKind kind;
  uint64_t key;
  StringAttr last, streamDim;
  size_t streamAxis = 0;
  bool contracted = false, added = false;
};

/// The integer at `flat`: mostly inside where it serves as a subscript with this range, which is 0
/// if it does not; else 0 or 1 in bytes and booleans, 0..3 in wider ones.
int64_t wholeAt(Type type, uint64_t key, int64_t flat, int64_t range) {
  if (range > 0)
    return subscriptValue(type, range, word(key, flat));
  return word(key, flat) % (type.getIntOrFloatBitWidth() <= 8 ? 2 : 4);
}

Array makeArray(attn::InputOp input, const Roles &roles, InputKind kind) {
  Array array;
  for (StringAttr dim : input.getType().getDims()) {
    array.dims.push_back(dim.str());
    array.shape.push_back(roles.extent(dim));
  }
  Type element = input.getType().getElementType();
  array.kind = kindOf(element);
  Generator generator(input, roles, kind);
  uint64_t key = streamOf(roles.seed, input.getName());
  int64_t range = roles.subscripts.lookup(input.getResult());
  Extents index(array.shape.size(), 0);
  int64_t size = array.size();
  for (int64_t flat = 0; flat < size; ++flat) {
    if (array.kind == ElementKind::Real)
      array.value.push_back(rounded(element, generator.at(flat, index)));
    else if (roles.offsets.contains(input.getResult()))
      array.integer.push_back(offsetValue(element, range, flat, size, key));
    else if (auto longest = roles.lengths.find(input.getResult()); longest != roles.lengths.end())
      array.integer.push_back(lengthValue(element, longest->second, word(key, flat)));
    else
      array.integer.push_back(wholeAt(element, key, flat, range));
    for (size_t axis = index.size(); axis-- > 0; index[axis] = 0)
      if (++index[axis] < array.shape[axis])
        break;
  }
  return array;
}

/// The extents of all dims, or what is wrong with the given ones.
llvm::Expected<std::map<std::string, int64_t>>
allExtents(attn::ProgramOp program, const std::map<std::string, int64_t> &given) {
  for (const auto &[name, extent] : given)
    if (extent < 0)
      return llvm::createStringError("dim '%s' has a negative extent", name.c_str());
  std::map<std::string, int64_t> extents = given;
  if (llvm::Error error = completeExtents(program, extents))
    return error;
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (!extents.contains(dim.getName().str()))
      return llvm::createStringError("dim '%s' needs an extent", dim.getName().str().c_str());
  return extents;
}

constexpr std::pair<InputKind, const char *> kNames[] = {
    {InputKind::Random, "random"},         {InputKind::Planted, "planted"},
    {InputKind::LargeLogits, "large"},     {InputKind::AscendingMaxima, "ascending"},
    {InputKind::InfiniteBias, "infinite"}, {InputKind::FiniteMask, "finite"}};

} // namespace

StringRef inputKindName(InputKind kind) {
  for (auto [k, name] : kNames)
    if (k == kind)
      return name;
  return "";
}

std::optional<InputKind> inputKindFromName(StringRef name) {
  for (auto [kind, text] : kNames)
    if (name == text)
      return kind;
  return std::nullopt;
}

llvm::Expected<EvalInputs> makeInputs(attn::ProgramOp program,
                                      const std::map<std::string, int64_t> &extents, uint64_t seed,
                                      InputKind kind) {
  auto all = allExtents(program, extents);
  if (!all)
    return all.takeError();
  Roles roles(program, *all, seed);
  EvalInputs inputs;
  inputs.extents = extents;
  for (auto input : program.getBodyBlock()->getOps<attn::InputOp>())
    inputs.tensors[input.getName().str()] = makeArray(input, roles, kind);
  return inputs;
}

llvm::Expected<std::map<std::string, int64_t>>
plantedIndices(attn::ProgramOp program, const std::map<std::string, int64_t> &extents,
               uint64_t seed) {
  auto all = allExtents(program, extents);
  if (!all)
    return all.takeError();
  Roles roles(program, *all, seed);
  std::map<std::string, int64_t> indices;
  for (StringAttr dim : roles.stream)
    indices[dim.str()] = roles.planted(dim);
  return indices;
}

} // namespace attnc::evaluator
