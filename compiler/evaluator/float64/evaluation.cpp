#include "compiler/evaluator/float64/evaluation.h"
#include "compiler/evaluator/float64/emulated.h"
#include "compiler/evaluator/float64/factors.h"
#include "compiler/evaluator/float64/host_expression.h"
#include "compiler/evaluator/float64/read.h"
#include "compiler/evaluator/inputs/binding.h"
#include "dialects/Red/Cancellation.h"
#include "dialects/Red/MaskedRead.h"

#include <thread>

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// Maps expanded into one another stay shallow: compilation of an expression recurses through them.
constexpr unsigned kMaxExpandedDepth = 32;

double unitOf(Type arrayType) {
  return cast<attn::ArrayType>(arrayType).getElementType().isF64() ? kUnitF64 : kUnitF32;
}

attn::ReduceKind reduceKind(red::FoldKind kind) {
  static_assert(int(red::FoldKind::Add) == int(attn::ReduceKind::Add) &&
                int(red::FoldKind::Or) == int(attn::ReduceKind::Or));
  return static_cast<attn::ReduceKind>(kind);
}

/// True if the schedule of `nest` computes its sums of products with tensor cores.
bool feedsTensorCores(red::NestOp nest) {
  red::Schedule schedule = nest.getScheduleAttr();
  return schedule && schedule.hasTiles();
}

/// True if `op` walks the elements of its array operand and need not have it stored.
bool walksElements(Operation *op) {
  if (auto reduce = dyn_cast<attn::ReduceOp>(op))
    return reduce.getKind() != attn::ReduceKind::LogSumExp;
  auto fold = dyn_cast<red::FoldOp>(op);
  return fold && fold.getFactors().size() == 1 && !fold.getExponent() && !fold.getBase();
}

} // namespace

Evaluation::Evaluation(attn::ProgramOp program, const EvalInputs &inputs,
                       const EvalOptions &options, std::map<std::string, int64_t> extents,
                       std::optional<Perturbation> perturbation)
    : program(program), inputs(inputs), options(options), extents(std::move(extents)),
      perturbation(perturbation), memory(options.memoryLimit),
      work{memory,
           options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency()),
           options.precision, options.productUnit} {}

llvm::Expected<Outputs> Evaluation::run() {
  program.getBody().walk([&](Operation *op) {
    if (isa<attn::MapOp>(op->getParentOp()))
      return;
    for (Value operand : op->getOperands())
      ++remainingUses[operand];
  });
  if (llvm::Error error = evaluateBlock(*program.getBodyBlock()))
    return error;
  return std::move(outputs);
}

llvm::Error Evaluation::evaluateBlock(Block &block) {
  for (Operation &op : block)
    if (llvm::Error error = locatedAt(op, evaluateOp(op)))
      return error;
  return llvm::Error::success();
}

llvm::Error Evaluation::evaluateOp(Operation &op) {
  if (domain)
    if (llvm::Error error = checkDomain(op))
      return error;
  if (auto nest = dyn_cast<red::NestOp>(op))
    return evaluateNest(nest);
  if (isa<red::YieldOp>(op))
    return llvm::Error::success();
  if (auto map = dyn_cast<attn::MapOp>(op); map && isExpanded(map)) {
    unsigned depth = 0;
    for (Value operand : map.getOperands())
      depth = std::max(depth, expandedDepth.lookup(operand));
    expandedDepth[map.getResult()] = depth + 1;
    return llvm::Error::success();
  }
  if (auto require = dyn_cast<attn::RequireOp>(op)) {
    if (llvm::Error error = checkRequire(require))
      return error;
  } else if (auto output = dyn_cast<attn::OutputOp>(op)) {
    if (llvm::Error error = storeOutput(output))
      return error;
  } else if (isa<attn::ExtentOp, red::AtMostOp, red::TopsOp, red::EncodeOp, red::LostOp>(op)) {
    // Extents have been bound before, and facts change nothing.
  } else {
    Result result = compute(op);
    if (!result)
      return result.takeError();
    if (auto fold = dyn_cast<red::FoldOp>(op); fold && domain)
      domain->poison(fold, *result);
    if (perturbation)
      perturb(*result, *perturbation, computed++);
    if (remainingUses.lookup(op.getResult(0)) > 0)
      arrays[op.getResult(0)] = std::move(*result);
  }
  for (Value operand : op.getOperands())
    release(operand);
  return llvm::Error::success();
}

// The same elements with these axes, along some of which they may not vary.
static void setAxes(Tensor &array, const Space &space) {
  Extents strides;
  for (StringAttr dim : space.dims)
    strides.push_back(array.strideOf(dim));
  array.dims = space.dims;
  array.shape = space.shape;
  array.strides = std::move(strides);
}

llvm::Error Evaluation::evaluateNest(red::NestOp nest) {
  if (options.checkDomains && nest.getDomainBlock())
    if (llvm::Error error = evaluateDomain(nest))
      return error;
  if (llvm::Error error = evaluateBlock(*nest.getBodyBlock()))
    return error;
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  if (domain)
    for (Value value : yield.getValues())
      if (llvm::Error error = domain->checkResult(tensor(value)))
        return error;
  domain.reset();
  for (auto [result, value] : llvm::zip_equal(nest.getResults(), yield.getValues())) {
    Tensor stored = tensor(value);
    // What a nest stores is an array in memory, no longer the read that it may have come from.
    stored.isRead = false;
    stored.gross = nullptr;
    stored.narrowUnit = stored.narrowFloor = 0;
    stored.narrowFactors.clear();
    setAxes(stored, spaceOf(cast<attn::ArrayType>(result.getType()).getDims()));
    arrays[result] = std::move(stored);
    release(value);
  }
  return llvm::Error::success();
}

/// An error if the sizes and params of a requirement leave 64 bits: where programs are bound they
/// are refused, so they are not to wrap here.
llvm::Error Evaluation::checkArithmetic(attn::RequireOp require) {
  Scope scope{extents, {}, {}};
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>())
    if (auto passed = inputs.params.find(param.getName().str()); passed != inputs.params.end())
      scope.params[passed->first] = isa<FloatType>(param.getType().getElementType())
                                        ? Scalar(passed->second)
                                        : Scalar(static_cast<int64_t>(passed->second));
    else if (Value value = param.getDefaultValue())
      if (attnc::Result<Expr> expr = hostExpression(value); expr.ok())
        if (attnc::Result<Scalar> known = attnc::evaluate(*expr, scope); known.ok())
          scope.params[param.getName().str()] = *known;
  attnc::Result<Expr> fact = hostExpression(require.getCondition());
  if (!fact) // not of the kind that is bound
    return llvm::Error::success();
  if (attnc::Result<Scalar> holds = attnc::evaluate(*fact, scope); !holds)
    return llvm::createStringError("require '%s': %s", require.getText().str().c_str(),
                                   holds.error().message.c_str());
  return llvm::Error::success();
}

llvm::Error Evaluation::checkRequire(attn::RequireOp require) {
  if (llvm::Error error = checkArithmetic(require))
    return error;
  const Tensor &condition = tensor(require.getCondition());
  for (int64_t offset : offsetsOf(condition.shape, condition.strides))
    if (!condition.integer[offset])
      return llvm::createStringError("require '%s' does not hold", require.getText().str().c_str());
  return llvm::Error::success();
}

llvm::Error Evaluation::storeOutput(attn::OutputOp output) {
  const Tensor &stored = tensor(output.getValue());
  Space space = spaceOf(attn::dimNames(output.getDims()));
  Array array;
  Extents strides;
  for (auto [dim, extent] : llvm::zip_equal(space.dims, space.shape)) {
    array.dims.push_back(dim.str());
    array.shape.push_back(extent);
    strides.push_back(stored.strideOf(dim));
  }
  array.kind = stored.kind;
  StorageRounding rounding = storageRounding(output.getType());
  array.storeUnit = rounding.unit;
  array.storeFloor = rounding.floor;
  array.storeMax = rounding.max;
  for (int64_t offset : offsetsOf(space.shape, strides)) {
    if (stored.kind == ElementKind::Real)
      array.value.push_back(stored.value[offset]);
    else
      array.integer.push_back(stored.integer[offset]);
    if (stored.error && !work.emulates())
      array.error.push_back(stored.error[offset]);
  }
  if (work.emulates() && rounding.unit > 0)
    roundAll(array.value, array.value.size(), rounding.unit);
  outputs[output.getName().str()] = std::move(array);
  return llvm::Error::success();
}

Evaluation::Result Evaluation::compute(Operation &op) {
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case([&](attn::InputOp input) { return bindInput(input, inputs); })
      .Case([&](attn::ParamOp param) { return computeParam(param); })
      .Case([&](attn::SizeOp size) {
        return scalar(ElementKind::Whole, static_cast<double>(extents.at(size.getDim().str())));
      })
      .Case([&](attn::IndexOp index) { return computeIndex(index); })
      .Case([&](attn::ReadOp read) { return computeRead(read); })
      .Case([&](attn::MapOp map) { return computeMap(map, map.getYielded()); })
      .Case([&](attn::ReduceOp reduce) { return computeReduce(reduce); })
      .Case([&](attn::SoftmaxOp op) { return computeSoftmax(op); })
      .Case([&](red::FoldOp fold) { return computeFold(fold); })
      .Case([&](red::PackOp pack) { return computePack(pack); })
      .Default([](Operation *op) -> Result {
        return llvm::createStringError("the evaluator cannot evaluate %s",
                                       op->getName().getStringRef().str().c_str());
      });
}

Evaluation::Result Evaluation::scalar(ElementKind kind, double value) {
  Result result = makeTensor(memory, {}, {}, kind);
  if (!result)
    return result;
  if (kind == ElementKind::Real)
    result->storage->value[0] = value;
  else
    result->storage->integer[0] = truncated({value, 0}).value;
  return result;
}

Evaluation::Result Evaluation::computeParam(attn::ParamOp param) {
  llvm::Expected<std::optional<double>> passed = bindParam(param, inputs);
  if (!passed)
    return passed.takeError();
  ElementKind kind = kindOf(param.getType().getElementType());
  if (*passed)
    return scalar(kind, **passed);
  if (!param.getDefaultValue())
    return llvm::createStringError("param '%s' has no default and is not passed",
                                   param.getName().str().c_str());
  Tensor value = tensor(param.getDefaultValue());
  if (kind == ElementKind::Real)
    if (llvm::Error error = checkRange(param, *value.value))
      return error;
  return value;
}

Evaluation::Result Evaluation::computeIndex(attn::IndexOp index) {
  Space space = spaceOf(index.getType().getDims());
  Result result = makeTensor(memory, space.dims, space.shape, ElementKind::Whole);
  if (!result)
    return result;
  const std::vector<int64_t> *sample = sampleOf(index.getDimAttr());
  for (int64_t i = 0; i < space.size(); ++i)
    result->storage->integer[i] = sample ? (*sample)[i] : i;
  dropZeroErrors(*result);
  return result;
}

// Each row is read at its sequence and its index there; at -1, and so as 0, if it has none.
Evaluation::Result Evaluation::computePack(red::PackOp pack) {
  const Tensor &padded = tensor(pack.getPadded());
  const Tensor &start = tensor(pack.getStart()), &count = tensor(pack.getCount());
  Space rows = spaceOf(pack.rows());
  Result sequence = makeTensor(memory, rows.dims, rows.shape, ElementKind::Whole);
  if (!sequence)
    return sequence;
  Result index = makeTensor(memory, rows.dims, rows.shape, ElementKind::Whole);
  if (!index)
    return index;
  const std::vector<int64_t> *sample = sampleOf(pack.rows());
  for (int64_t i = 0; i < rows.size(); ++i) {
    int64_t row = sample ? (*sample)[i] : i;
    sequence->storage->integer[i] = index->storage->integer[i] = -1;
    for (int64_t b = 0; b < start.size(); ++b) {
      int64_t own = row - start.integer[b * start.strides[0]];
      if (own < 0 || own >= count.integer[b * count.strides[0]])
        continue;
      sequence->storage->integer[i] = b;
      index->storage->integer[i] = own;
    }
  }
  dropZeroErrors(*sequence);
  dropZeroErrors(*index);
  std::vector<Subscript> subscripts;
  for (auto [dim, extent, stride] : llvm::zip(padded.dims, padded.shape, padded.strides)) {
    if (dim == pack.over())
      subscripts.push_back({extent, stride, {}, *sequence});
    else if (dim == pack.getDimAttr())
      subscripts.push_back({extent, stride, {}, *index});
    else
      subscripts.push_back({extent, stride, dim, {}});
  }
  return readAt(work, padded, subscripts, spaceOf(pack.getPacked().getType().getDims()), 0.0);
}

Evaluation::Result Evaluation::computeRead(attn::ReadOp read) {
  const Tensor &source = tensor(read.getSource());
  bool isInput = read.getSource().getDefiningOp<attn::InputOp>();
  std::vector<Subscript> subscripts;
  for (unsigned axis = 0; axis < read.getSubscripts().size(); ++axis) {
    Subscript subscript{source.shape[axis], source.strides[axis], read.subscriptDim(axis), {}};
    if (Value index = read.subscriptValue(axis))
      subscript.index = tensor(index);
    bool sampledAxis = !isInput && sampleOf(source.dims[axis]);
    if (sampledAxis && subscript.dim != source.dims[axis])
      return llvm::createStringError("dim '%s' cannot be sampled: it is read at another index",
                                     source.dims[axis].str().c_str());
    if (subscript.dim && !sampledAxis)
      subscript.sample = sampleOf(subscript.dim);
    subscripts.push_back(std::move(subscript));
  }
  std::optional<double> otherwise;
  if (read.getOtherwise())
    otherwise = read.getOtherwise()->convertToDouble();
  return readAt(work, source, subscripts, spaceOf(read.getType().getDims()), otherwise);
}

Evaluation::Result Evaluation::computeMap(attn::MapOp map, Value scalarValue) {
  llvm::Expected<ScalarProgram> elements = ScalarProgram::compile(map, scalarValue, *this);
  if (!elements)
    return elements.takeError();
  SmallVector<StringAttr> dims = attn::canonicalDims(program, elements->dims());
  Result result = evaluateElements(work, std::move(*elements), spaceOf(dims));
  if (result && scalarValue == map.getYielded())
    result->narrowFactors = narrowFactorsOf(map);
  return result;
}

// The reads of 16 bits that a product, or the numerator of a quotient, is made of: a sum may
// multiply by them, and what meets them there by the others.
std::vector<NarrowFactor> Evaluation::narrowFactorsOf(attn::MapOp map) const {
  std::vector<NarrowFactor> found;
  for (const Factor &factor : productFactors(map, *this))
    if (factor.array)
      if (const Tensor &read = tensor(factor.array); read.narrowUnit > 0)
        found.push_back({read.dims, read.narrowUnit, read.narrowFloor});
  return found;
}

Evaluation::Result Evaluation::computeReduce(attn::ReduceOp reduce) {
  Space kept = spaceOf(reduce.getType().getDims());
  llvm::Expected<Space> reduced = reducedSpace(reduce, reduce.getDims());
  if (!reduced)
    return reduced.takeError();
  if (llvm::Error error = findContest(reduce, kept, *reduced))
    return error;
  const double unit = unitOf(reduce.getType());
  if (reduce.getKind() == attn::ReduceKind::LogSumExp)
    return logSumExp(work, tensor(reduce.getOperand()), kept, *reduced, unit);
  if (reduce.getKind() != attn::ReduceKind::Mean)
    return reduceValue(reduce.getOperand(), reduce.getKind(), kept, *reduced);
  Result sum = reduceValue(reduce.getOperand(), attn::ReduceKind::Add, kept, *reduced);
  Result count = scalar(ElementKind::Real, static_cast<double>(reduced->size()));
  if (!sum || !count)
    return llvm::joinErrors(sum.takeError(), count.takeError());
  return evaluateElements(work, ScalarProgram::apply(quotientRule(unit), {*sum, *count}), kept);
}

Evaluation::Result Evaluation::reduceValue(Value operand, attn::ReduceKind kind, const Space &kept,
                                           const Space &reduced) {
  double unit = unitOf(operand.getType());
  bool real = isa<FloatType>(cast<attn::ArrayType>(operand.getType()).getElementType());
  auto map = operand.getDefiningOp<attn::MapOp>();
  if (map && expandedDepth.contains(operand) && real && kind == attn::ReduceKind::Add) {
    Space all = spaceOf(map.getType().getDims());
    auto factors = factorsOf(map, all);
    if (!factors)
      return factors.takeError();
    if (*factors && isContraction(**factors, kept, reduced))
      return sumOfProducts(work, std::move(**factors), kept, reduced, unit);
  }
  llvm::Expected<ScalarProgram> elements = programOf(operand);
  if (!elements)
    return elements.takeError();
  return reduceElements(work, std::move(*elements), kind, kept, reduced, unit);
}

Evaluation::Result Evaluation::computeSoftmax(attn::SoftmaxOp op) {
  llvm::Expected<Space> reduced = reducedSpace(op, op.getDims());
  if (!reduced)
    return reduced.takeError();
  SmallVector<StringAttr> rest;
  for (StringAttr dim : op.getType().getDims())
    if (!llvm::is_contained(reduced->dims, dim))
      rest.push_back(dim);
  return softmax(work, tensor(op.getOperand()), spaceOf(op.getType().getDims()), spaceOf(rest),
                 *reduced, unitOf(op.getType()));
}

Evaluation::Result Evaluation::computeFold(red::FoldOp fold) {
  Space kept = spaceOf(fold.getType().getDims());
  llvm::Expected<Space> reduced = reducedSpace(fold, fold.getDims());
  if (!reduced)
    return reduced.takeError();
  if (fold.getFactors().size() == 1 && !fold.getExponent() && !fold.getBase())
    return reduceValue(fold.getFactors().front(), reduceKind(fold.getKind()), kept, *reduced);
  double unit = unitOf(fold.getType());
  std::vector<Tensor> factors;
  for (Value factor : fold.getFactors())
    factors.push_back(tensor(factor));
  if (fold.getExponent()) {
    Instruction rule = exponentOfDifferenceRule(unit, work.emulates());
    ScalarProgram weight =
        ScalarProgram::apply(rule, {tensor(fold.getExponent()), tensor(fold.getReference())});
    SmallVector<StringAttr> dims = attn::canonicalDims(program, weight.dims());
    if (factors.empty() && !fold.getBase())
      return reduceElements(work, std::move(weight), attn::ReduceKind::Add, kept, *reduced, unit);
    Result weights = evaluateElements(work, std::move(weight), spaceOf(dims));
    if (!weights)
      return weights;
    factors.push_back(std::move(*weights));
  }
  if (fold.getBase()) {
    ScalarProgram difference = ScalarProgram::apply(
        differenceRule(unit), {tensor(fold.getBase()), tensor(fold.getCentre())});
    SmallVector<StringAttr> dims = attn::canonicalDims(program, difference.dims());
    Result differences = evaluateElements(work, std::move(difference), spaceOf(dims));
    if (!differences)
      return differences;
    factors.insert(factors.end(), fold.degree(), *differences);
  }
  if (std::optional<size_t> narrow = narrowPartner(fold, factors))
    return sumOfRoundedProducts(work, std::move(factors), *narrow, kept, *reduced, unit);
  return sumOfProducts(work, std::move(factors), kept, *reduced, unit);
}

std::optional<size_t> Evaluation::narrowPartner(red::FoldOp fold, ArrayRef<Tensor> factors) const {
  auto nest = fold->getParentOfType<red::NestOp>();
  if (!work.emulates() || factors.size() < 2 || !nest || !feedsTensorCores(nest) ||
      !llvm::is_contained(nest.states(), fold))
    return std::nullopt;
  // What is stored as f32 and is no weight under a maximum is not rounded.
  bool keepsFloat = !fold.getExponent() && llvm::all_of(fold.getFactors(), [](Value factor) {
    return bool(red::maskedRead(factor));
  }) && llvm::count_if(factors, [](const Tensor &factor) { return factor.narrowUnit == 0; }) > 0;
  keepsFloat |= llvm::any_of(fold.termOperands(), std::bind_front(red::mayCancelAlong, fold));
  auto isInner = [&](StringAttr dim) { return llvm::is_contained(nest.getInner(), dim); };
  for (auto [i, factor] : llvm::enumerate(factors))
    if (!keepsFloat && factor.isRead && factor.narrowUnit > 0 && llvm::any_of(factor.dims, isInner))
      return i;
  return std::nullopt;
}

llvm::Expected<std::optional<std::vector<Tensor>>> Evaluation::factorsOf(attn::MapOp map,
                                                                         const Space &space) {
  std::vector<Tensor> tensors;
  for (const Factor &factor : productFactors(map, *this)) {
    if (factor.array) {
      tensors.push_back(tensor(factor.array));
      continue;
    }
    llvm::Expected<ScalarProgram> elements =
        ScalarProgram::compile(factor.map, factor.scalar, *this);
    if (!elements)
      return elements.takeError();
    SmallVector<StringAttr> dims = attn::canonicalDims(program, elements->dims());
    if (dims.size() == space.dims.size())
      return std::nullopt;
    Result factorArray = evaluateElements(work, std::move(*elements), spaceOf(dims));
    if (factorArray && factor.reciprocal)
      factorArray = evaluateElements(
          work, ScalarProgram::apply(reciprocalRule(unitOf(map.getType())), *factorArray),
          spaceOf(dims));
    if (!factorArray)
      return factorArray.takeError();
    tensors.push_back(std::move(*factorArray));
  }
  return tensors;
}

bool Evaluation::isExpanded(attn::MapOp map) const {
  for (Value operand : map.getOperands())
    if (expandedDepth.lookup(operand) >= kMaxExpandedDepth)
      return false;
  if (map.getResult().use_empty())
    return false;
  if (map.getResult().hasOneUse()) {
    auto user = dyn_cast<attn::MapOp>(*map.getResult().user_begin());
    // Expanding it into a map over more dims would compute its elements again and again.
    if (user && user.getType().getDims() == map.getType().getDims())
      return true;
  }
  return llvm::all_of(map.getResult().getUsers(), walksElements);
}

const Tensor &Evaluation::tensor(Value value) const { return arrays.find(value)->second; }
attn::MapOp Evaluation::expanded(Value value) const {
  return expandedDepth.contains(value) ? value.getDefiningOp<attn::MapOp>() : attn::MapOp();
}

llvm::Expected<ScalarProgram> Evaluation::programOf(Value array) {
  if (expandedDepth.contains(array)) {
    auto map = array.getDefiningOp<attn::MapOp>();
    return ScalarProgram::compile(map, map.getYielded(), *this);
  }
  return ScalarProgram::identity(tensor(array));
}

Space Evaluation::spaceOf(ArrayRef<StringAttr> dims) const {
  Space space;
  for (StringAttr dim : dims) {
    const std::vector<int64_t> *sample = sampleOf(dim);
    space.dims.push_back(dim);
    space.shape.push_back(sample ? sample->size() : extents.at(dim.str()));
  }
  return space;
}

llvm::Expected<Space> Evaluation::reducedSpace(Operation *op, ArrayAttr dims) const {
  SmallVector<StringAttr> names = attn::canonicalDims(program, attn::dimNames(dims));
  for (StringAttr dim : names)
    if (sampleOf(dim))
      return llvm::createStringError("dim '%s' cannot be sampled: it is reduced",
                                     dim.str().c_str());
  return spaceOf(names);
}

const std::vector<int64_t> *Evaluation::sampleOf(StringAttr dim) const {
  auto found = options.sample.find(dim.str());
  return found == options.sample.end() ? nullptr : &found->second;
}

void Evaluation::release(Value value) {
  if (--remainingUses[value] > 0)
    return;
  if (expandedDepth.contains(value))
    for (Value operand : value.getDefiningOp()->getOperands())
      release(operand);
  contests.erase(value);
  arrays.erase(value);
}

} // namespace attnc::evaluator
