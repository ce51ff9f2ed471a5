#include "compiler/driver/checks/check.h"
#include "compiler/driver/checks/exponent_range.h"
#include "compiler/driver/checks/memory_check.h"
#include "compiler/driver/execution/guarded_memory.h"
#include "compiler/evaluator/tolerance/error_rules.h"
#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace mlir;

namespace attnc::driver {

namespace {

using Samples = std::map<std::string, std::vector<int64_t>>;

/// The position in the whole tensor of position `at` of the (sampled) reference.
struct Places {
  std::vector<std::string> dims;
  std::vector<int64_t> referenceShape;
  std::vector<int64_t> wholeShape;
  std::vector<const std::vector<int64_t> *> samples; // null for a whole axis

  std::vector<int64_t> indices(int64_t at) const {
    std::vector<int64_t> index(dims.size());
    for (size_t axis = dims.size(); axis-- > 0; at /= referenceShape[axis]) {
      index[axis] = at % referenceShape[axis];
      if (samples[axis])
        index[axis] = (*samples[axis])[index[axis]];
    }
    return index;
  }
  int64_t flat(int64_t at) const {
    int64_t result = 0;
    std::vector<int64_t> index = indices(at);
    for (size_t axis = 0; axis < dims.size(); ++axis)
      result = result * wholeShape[axis] + index[axis];
    return result;
  }
  std::string text(int64_t at) const {
    std::string result;
    std::vector<int64_t> index = indices(at);
    for (size_t axis = 0; axis < dims.size(); ++axis)
      result += fmt::format("{}{}={}", axis ? ", " : "", dims[axis], index[axis]);
    return result;
  }
};

Places placesOf(const evaluator::Array &reference, const HostTensor &whole,
                const Samples &samples) {
  Places places{reference.dims, reference.shape, whole.shape, {}};
  for (const std::string &dim : reference.dims) {
    auto found = samples.find(dim);
    places.samples.push_back(found == samples.end() ? nullptr : &found->second);
  }
  return places;
}

evaluator::Array gather(const evaluator::Array &reference, const HostTensor &whole,
                        const Places &places) {
  evaluator::Array result;
  result.dims = reference.dims;
  result.shape = reference.shape;
  result.value.resize(reference.size());
  for (int64_t at = 0; at < reference.size(); ++at)
    result.value[at] =
        loadElement(whole.dtype, whole.data.data() + places.flat(at) * dtypeSize(whole.dtype));
  return result;
}

int64_t countUnwritten(const HostTensor &tensor) {
  if (!isFloat(tensor.dtype))
    return 0;
  size_t size = dtypeSize(tensor.dtype);
  std::vector<std::byte> poison(size, std::byte{poisonByte});
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    count += std::memcmp(tensor.data.data() + i * size, poison.data(), size) == 0;
  return count;
}

// A result of 0, where terms cancel, is known as well as its terms are: what is a small part of the
// inputs' magnitude is not held against it.
constexpr double kSmallPart = 0x1p-6;

double medianMagnitude(const evaluator::Array &array) {
  std::vector<double> finite;
  for (double x : array.value)
    if (std::isfinite(x))
      finite.push_back(std::fabs(x));
  if (finite.empty())
    return 0;
  auto middle = finite.begin() + finite.size() / 2;
  std::nth_element(finite.begin(), middle, finite.end());
  return *middle;
}

/// How large the floats among the inputs are: not the few that stand for infinity in a mask.
double magnitudeOf(const evaluator::EvalInputs &inputs) {
  double largest = 0;
  for (const auto &[name, array] : inputs.tensors)
    largest = std::max(largest, medianMagnitude(array));
  return largest;
}

double rootMeanSquare(const evaluator::Array &array) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < array.size(); ++i)
    if (std::isfinite(array.at(i))) {
      sum += array.at(i) * array.at(i);
      ++count;
    }
  return std::sqrt(sum / static_cast<double>(std::max<int64_t>(count, 1)));
}

/// Counts the elements for which the reference decides nothing.
void countVague(const evaluator::Array &reference, double inputs, OutputCheck &check) {
  check.magnitude = std::max(rootMeanSquare(reference), kSmallPart * inputs);
  for (int64_t i = 0; i < reference.size(); ++i) {
    // Where the result is exact, the tolerance is the rounding of the store, however large.
    bool vague =
        reference.errorAt(i) > 0 && !(evaluator::toleranceAt(reference, i) <= check.magnitude);
    check.vague += vague;
    check.undefined += vague && !std::isfinite(reference.at(i));
  }
}

OutputCheck compareOutput(const evaluator::Array &reference, const HostTensor &whole,
                          const Samples &samples, double inputs) {
  OutputCheck result;
  Places places = placesOf(reference, whole, samples);
  evaluator::Array actual = gather(reference, whole, places);
  result.compared = evaluator::compare(reference, actual);
  result.unwritten = countUnwritten(whole);
  countVague(reference, inputs, result);
  if (result.compared.undecided == result.compared.size && result.compared.size > 0)
    result.tolerance = std::numeric_limits<double>::infinity();
  if (int64_t worst = result.compared.worst; worst >= 0) {
    result.tolerance = evaluator::toleranceAt(reference, worst);
    result.expected = reference.at(worst);
    result.actual = actual.at(worst);
    result.place = places.text(worst);
  }
  return result;
}

llvm::SmallVector<StringAttr> dimsOf(Value value) {
  auto type = dyn_cast<attn::ArrayType>(value.getType());
  return type ? llvm::SmallVector<StringAttr>(type.getDims()) : llvm::SmallVector<StringAttr>();
}

/// The dims that `op` reduces.
llvm::SmallVector<StringAttr> reducedBy(Operation *op) {
  if (auto reduce = dyn_cast<attn::ReduceOp>(op))
    return attn::dimNames(reduce.getDims());
  if (auto softmax = dyn_cast<attn::SoftmaxOp>(op))
    return attn::dimNames(softmax.getDims());
  return {};
}

/// The most points over which one op of the program ranges.
double largestSpace(attn::ProgramOp program, const std::map<std::string, int64_t> &extents) {
  double largest = 0;
  for (Operation &op : *program.getBodyBlock()) {
    llvm::SetVector<StringAttr> dims;
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op.getOperands()), llvm::to_vector(op.getResults())))
      dims.insert_range(dimsOf(value));
    double points = 1;
    for (StringAttr dim : dims)
      if (auto found = extents.find(dim.str()); found != extents.end())
        points *= static_cast<double>(found->second);
    largest = std::max(largest, points);
  }
  return largest;
}

/// `count` different indices below `extent`, the first and the last among them, ascending. The
/// others are spread by a multiplicative walk, the same in every run.
std::vector<int64_t> spreadIndices(int64_t extent, int64_t count) {
  llvm::DenseSet<int64_t> chosen;
  chosen.insert(0);
  chosen.insert(extent - 1);
  for (uint64_t word = 1; static_cast<int64_t>(chosen.size()) < std::min(count, extent); ++word)
    chosen.insert(static_cast<int64_t>(((word * 0x9E3779B97F4A7C15ull) >> 11) %
                                       static_cast<uint64_t>(extent)));
  std::vector<int64_t> indices(chosen.begin(), chosen.end());
  llvm::sort(indices);
  return indices;
}

Error fromLlvm(llvm::Error error) { return invalidArgument(llvm::toString(std::move(error))); }

} // namespace

const char *verdictName(Verdict verdict) {
  return verdict == Verdict::Ok ? "ok" : verdict == Verdict::Undecided ? "undecided" : "failed";
}

Verdict OutputCheck::verdict() const {
  if (!compared.passed() || unwritten > 0)
    return Verdict::Failed;
  return vague > compared.size / 2 ? Verdict::Undecided : Verdict::Ok;
}

std::string OutputCheck::why() const {
  std::string text = fmt::format("{} ({} inputs, seed {}): ", output, inputs, seed);
  if (verdict() != Verdict::Failed && undefined > 0)
    return text + fmt::format("the reference does not decide {} of {} elements: float64 itself "
                              "under- or overflows on the way to {} of them",
                              vague, compared.size, undefined);
  if (verdict() != Verdict::Failed)
    return text + fmt::format("the reference does not decide {} of {} elements: rounding may move "
                              "them by more than the magnitude of the result, {:.3g}",
                              vague, compared.size, magnitude);
  if (compared.worst < 0 && !compared.passed())
    return text + "its shape is not the spec's";
  if (compared.worst >= 0)
    text += fmt::format("[{}] is {:.9g} and should be {:.9g} +- {:.3g}; ", place, actual, expected,
                        tolerance);
  text += fmt::format("{} of {} elements fail", compared.failures, compared.size);
  if (compared.mismatches)
    text += fmt::format(", {} of them NaN or infinite on one side only", compared.mismatches);
  if (unwritten)
    text += fmt::format("; {} elements were never written", unwritten);
  return text;
}

Verdict CheckReport::verdict() const {
  Verdict worst = Verdict::Ok;
  for (const OutputCheck &check : outputs)
    worst = std::max(worst, check.verdict());
  return worst;
}

const OutputCheck *CheckReport::worst() const {
  auto ratio = [](const OutputCheck &a, const OutputCheck &b) {
    return a.compared.maxRatio < b.compared.maxRatio;
  };
  auto found = std::max_element(outputs.begin(), outputs.end(), ratio);
  return found == outputs.end() ? nullptr : &*found;
}

attn::ProgramOp programOf(const Spec &spec) {
  ModuleOp module = const_cast<Spec &>(spec).module.get();
  return *module.getOps<attn::ProgramOp>().begin();
}

HostTensor toHostTensor(const evaluator::Array &array, DType dtype) {
  HostTensor tensor{dtype, array.shape, {}};
  size_t size = dtypeSize(dtype);
  tensor.data.resize(array.size() * size);
  // f64, through which other elements go, does not hold every integer of 64 bits.
  bool exact = dtype == DType::I64 && array.kind != evaluator::ElementKind::Real;
  for (int64_t i = 0; i < array.size(); ++i)
    if (exact)
      std::memcpy(tensor.data.data() + i * size, &array.integer[i], size);
    else
      storeElement(dtype, array.at(i), tensor.data.data() + i * size);
  return tensor;
}

evaluator::Array toArray(const HostTensor &tensor, const std::vector<std::string> &dims) {
  evaluator::Array array;
  array.dims = dims;
  array.shape = tensor.shape;
  bool real = isFloat(tensor.dtype);
  array.kind = real                        ? evaluator::ElementKind::Real
               : tensor.dtype == DType::U8 ? evaluator::ElementKind::Bool
                                           : evaluator::ElementKind::Whole;
  size_t size = dtypeSize(tensor.dtype);
  (real ? array.value.reserve(tensor.elements()) : array.integer.reserve(tensor.elements()));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const std::byte *element = tensor.data.data() + i * size;
    if (real)
      array.value.push_back(loadElement(tensor.dtype, element));
    else if (tensor.dtype == DType::I64)
      std::memcpy(&array.integer.emplace_back(), element, size);
    else
      array.integer.push_back(static_cast<int64_t>(loadElement(tensor.dtype, element)));
  }
  return array;
}

RunRequest runRequest(const Manifest &manifest, const evaluator::EvalInputs &inputs) {
  RunRequest request;
  request.extents = inputs.extents;
  for (const TensorDecl &input : manifest.inputs)
    if (auto found = inputs.tensors.find(input.name); found != inputs.tensors.end())
      request.inputs[input.name] = toHostTensor(found->second, input.dtype);
  for (const auto &[name, value] : inputs.params) {
    const ParamDecl *param = manifest.findParam(name);
    bool integer = param && !isFloat(param->dtype);
    request.params[name] = integer ? Scalar(static_cast<int64_t>(value)) : Scalar(value);
  }
  return request;
}

Samples chooseSamples(attn::ProgramOp program, const std::map<std::string, int64_t> &extents,
                      double maxElements) {
  llvm::SetVector<StringAttr> reduced, produced;
  for (Operation &op : *program.getBodyBlock()) {
    reduced.insert_range(reducedBy(&op));
    if (auto output = dyn_cast<attn::OutputOp>(op))
      produced.insert_range(dimsOf(output->getOperand(0)));
  }
  std::map<std::string, int64_t> left = extents;
  Samples samples;
  int64_t count = 66;
  while (largestSpace(program, left) > maxElements) {
    std::string largest;
    for (StringAttr dim : produced)
      if (!reduced.contains(dim) && !samples.contains(dim.str()) && left[dim.str()] > count &&
          (largest.empty() || left[dim.str()] > left[largest]))
        largest = dim.str();
    if (largest.empty())
      break;
    samples[largest] = spreadIndices(left[largest], count);
    left[largest] = count;
    count = 2;
  }
  return samples;
}

bool canSample(attn::ProgramOp program, std::map<std::string, int64_t> extents,
               double maxElements) {
  for (auto dim : program.getDims().getAsRange<attn::DimAttr>())
    if (dim.isStatic())
      extents[dim.getName().str()] = dim.getExtent();
  for (const auto &[dim, indices] : chooseSamples(program, extents, maxElements))
    extents[dim] = static_cast<int64_t>(indices.size());
  return largestSpace(program, extents) <= maxElements;
}

Result<CheckReport> checkOutputs(const Spec &spec, const evaluator::EvalInputs &inputs,
                                 const std::map<std::string, HostTensor> &outputs,
                                 const std::string &label, double maxElements,
                                 double productUnit) {
  attn::ProgramOp program = programOf(spec);
  auto extents = evaluator::bindExtents(program, inputs);
  if (!extents)
    return fromLlvm(extents.takeError());
  evaluator::EvalOptions options;
  options.sample = chooseSamples(program, *extents, maxElements);
  options.productUnit = productUnit;
  llvm::Expected<evaluator::Outputs> reference = evaluator::evaluate(program, inputs, options);
  if (!reference)
    return fromLlvm(reference.takeError());
  llvm::Expected<evaluator::Outputs> inRange = evaluateInRange(program, inputs, options);
  if (!inRange)
    return fromLlvm(inRange.takeError());
  doubtOverflow(*reference, *inRange);
  CheckReport report;
  double magnitude = magnitudeOf(inputs);
  for (const auto &[dim, indices] : options.sample)
    report.sampled[dim] = static_cast<int64_t>(indices.size());
  for (const auto &[name, expected] : *reference) {
    auto found = outputs.find(name);
    if (found == outputs.end())
      return internalError(fmt::format("the program has no output '{}'", name));
    report.outputs.push_back(compareOutput(expected, found->second, options.sample, magnitude));
    report.outputs.back().output = name;
    report.outputs.back().inputs = label;
  }
  return report;
}

double productUnitOf(const Manifest &manifest) {
  bool isLess = llvm::any_of(manifest.kernels, [](const KernelDecl &kernel) {
    return llvm::StringRef(kernel.schedule).contains("accuracy = tf32");
  });
  return isLess ? evaluator::kUnitF16 : 0; // 11 bits, as f16
}

Result<CheckReport> checkProgram(const Spec &spec, const Executor &executor,
                                 const CheckRequest &request) {
  if (Status enough = checkMemory(executor.manifest(), request.extents, executor.device()); !enough)
    return enough.error();
  CheckReport all;
  for (uint64_t seed : request.seeds)
    for (evaluator::InputKind kind : request.kinds) {
      auto inputs = evaluator::makeInputs(programOf(spec), request.extents, seed, kind);
      if (!inputs)
        return fromLlvm(inputs.takeError());
      for (const auto &[name, value] : request.params)
        inputs->params[name] = value;
      RunRequest run = runRequest(executor.manifest(), *inputs);
      run.layout = request.layout;
      Result<RunResult> ran = executor.run(run);
      if (!ran)
        return ran.error();
      Result<CheckReport> report = checkOutputs(
          spec, *inputs, ran->outputs, evaluator::inputKindName(kind).str(), request.maxElements,
          productUnitOf(executor.manifest()));
      if (!report)
        return report.error();
      for (OutputCheck &check : report->outputs) {
        check.seed = seed;
        all.outputs.push_back(std::move(check));
      }
      all.sampled = report->sampled;
      all.milliseconds = ran->milliseconds;
    }
  return all;
}

} // namespace attnc::driver
