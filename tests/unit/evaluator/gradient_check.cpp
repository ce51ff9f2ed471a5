#include "gradient_check.h"

#include "kernels_spec/library.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace attnc::evaluator {

namespace {

/// Steps of the differences: near the cube root of the unit roundoff, where truncation (h^2) and
/// cancellation (2^-53 / h) lose about the same, 6e-11 and 1.5e-11 of numbers near 1. A power of
/// two, so that a param's step is one in f32.
constexpr double kStep = 0x1p-17;
/// Third derivatives may be thousands of times the first ones.
constexpr double kTruncation = 1e-6;
/// Outputs after some thousand roundings each; these add up at random.
constexpr double kCancellation = 100 * 0x1p-53 / kStep;

std::vector<double> randomReals(std::mt19937_64 &random, int64_t count) {
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double &value : values)
    value = normal(random);
  return values;
}

std::map<std::string, Array> randomCotangents(std::mt19937_64 &random, const Outputs &outputs) {
  std::map<std::string, Array> cotangents;
  for (const auto &[name, output] : outputs) {
    if (output.kind != ElementKind::Real)
      continue;
    cotangents[name] = reals(output.shape, randomReals(random, output.size()));
    for (int64_t i = 0; i < output.size(); ++i)
      if (!std::isfinite(output.value[i])) // has no slope
        cotangents[name].value[i] = 0;
  }
  return cotangents;
}

/// A direction in which an input or a param is moved.
struct Direction {
  std::string name;
  std::vector<double> by;

  EvalInputs moved(EvalInputs inputs, double step) const {
    if (auto param = inputs.params.find(name); param != inputs.params.end())
      param->second += step * by[0];
    else
      for (auto [value, slope] : llvm::zip_equal(inputs.tensors.at(name).value, by))
        value += step * slope;
    return inputs;
  }

  double dot(const Array &gradient) const {
    double sum = 0;
    for (auto [slope, element] : llvm::zip_equal(by, gradient.value))
      sum += slope * element;
    return sum;
  }
};

Direction directionOf(std::mt19937_64 &random, const std::string &name, const EvalInputs &inputs) {
  if (auto param = inputs.params.find(name); param != inputs.params.end())
    return {name, {std::exp2(std::ilogb(param->second))}};
  return {name, randomReals(random, inputs.tensors.at(name).size())};
}

/// The slope of what the cotangents make of the outputs, and what it may be off by.
struct Slope {
  double value = 0, tolerance = 0;
};

Slope slopeAlong(const Direction &direction, attn::ProgramOp program, const EvalInputs &inputs,
                 const std::map<std::string, Array> &cotangents) {
  Outputs above = llvm::cantFail(evaluate(program, direction.moved(inputs, kStep)));
  Outputs below = llvm::cantFail(evaluate(program, direction.moved(inputs, -kStep)));
  Slope slope;
  double magnitude = 0;
  for (const auto &[name, cotangent] : cotangents)
    for (auto [weight, high, low] :
         llvm::zip_equal(cotangent.value, above[name].value, below[name].value))
      if (weight != 0) {
        slope.value += weight * (high - low) / (2 * kStep);
        magnitude += std::fabs(weight * high);
      }
  slope.tolerance = kTruncation * std::fabs(slope.value) + kCancellation * magnitude;
  return slope;
}

} // namespace

SpecProgram::SpecProgram(const std::string &text, const Overrides &overrides)
    : context(std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED)) {
  context->loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect>();
  Diagnostics diagnostics;
  spec = parseSpec(*context, "test.json", text, overrides, diagnostics, libraryBases());
  std::string findings;
  llvm::raw_string_ostream stream(findings);
  diagnostics.render(stream, /*colour=*/false);
  EXPECT_TRUE(spec) << findings;
  if (spec)
    program = *spec->module->getOps<attn::ProgramOp>().begin();
}

std::string specText(const std::string &inputs, const std::vector<std::string> &body,
                     const std::string &outputs, const std::string &more) {
  return R"({"attnc": 1, "name": "t", )" + more + R"( "inputs": {)" + inputs + R"(}, "body": )" +
         nlohmann::json(body).dump() + R"(, "outputs": {)" + outputs + "}}";
}

Gradients gradientsOf(attn::ProgramOp program, const EvalInputs &inputs,
                      const std::map<std::string, Array> &cotangents,
                      const std::vector<std::string> &wanted) {
  auto gradients = reverseMode(program, inputs, cotangents, wanted);
  if (gradients)
    return std::move(*gradients);
  ADD_FAILURE() << llvm::toString(gradients.takeError());
  return {};
}

std::string refusalOf(attn::ProgramOp program, const EvalInputs &inputs,
                      const std::map<std::string, Array> &cotangents,
                      const std::vector<std::string> &wanted, const EvalOptions &options) {
  auto gradients = reverseMode(program, inputs, cotangents, wanted, options);
  return gradients ? "differentiated" : llvm::toString(gradients.takeError());
}

std::vector<std::string> realSources(attn::ProgramOp program, const EvalInputs &inputs) {
  std::vector<std::string> names;
  for (const auto &[name, array] : inputs.tensors)
    if (array.kind == ElementKind::Real)
      names.push_back(name);
  for (auto param : program.getBodyBlock()->getOps<attn::ParamOp>())
    if (isa<FloatType>(param.getType().getElementType()) &&
        inputs.params.contains(param.getName().str()))
      names.push_back(param.getName().str());
  return names;
}

void expectDifferences(attn::ProgramOp program, const EvalInputs &inputs, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto outputs = evaluate(program, inputs);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  std::map<std::string, Array> cotangents = randomCotangents(random, *outputs);
  std::vector<std::string> sources = realSources(program, inputs);
  Gradients gradients = gradientsOf(program, inputs, cotangents, sources);
  ASSERT_EQ(gradients.size(), sources.size());
  for (const std::string &name : sources) {
    Direction direction = directionOf(random, name, inputs);
    Slope slope = slopeAlong(direction, program, inputs, cotangents);
    EXPECT_NEAR(direction.dot(gradients[name]), slope.value, slope.tolerance) << name;
  }
}

} // namespace attnc::evaluator
