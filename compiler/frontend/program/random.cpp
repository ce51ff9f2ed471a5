// rand: random numbers that are a function of a seed and of indices.
#include "compiler/frontend/program/program_builder.h"

using namespace mlir;

namespace attnc {

/// The indices of a counter: three words, and a column that chooses a word of its block of four.
static constexpr size_t maxRandomIndices = 4;

/// `rand(seed, b, h, i, j)`. The indices are the last ones of the counter; leading ones that are
/// left out are 0.
const Scalar *ProgramBuilder::randomNumber(const NameScope &scope, const SyntaxExpr &expr) {
  if (scope.names == NameScope::Sizes)
    return wrong(scope, expr.place, "rand belongs into the body",
                 "sizes, lets and defaults are the same for every element");
  if (expr.args.size() < 2 || expr.args.size() > maxRandomIndices + 1)
    return wrong(scope, expr.place,
                 "rand takes a seed and 1 to " + std::to_string(maxRandomIndices) +
                     " indices, here " + (expr.args.size() == 1 ? "is " : "are ") +
                     std::to_string(expr.args.size()) +
                     (expr.args.size() == 1 ? " argument" : " arguments"),
                 expr.args.size() < 2
                     ? "for example rand(seed, b, h, i, j), with \"seed\": \"i64\" in `params`"
                     : "join indices: rand(seed, b, h, i, j*size(t) + t)");
  SmallVector<const Scalar *> args;
  for (const ExprPtr &arg : expr.args) {
    const Scalar *value = evaluate(scope, *arg);
    if (!value->isPoison() && value->type != ScalarType::Int)
      value = wrong(scope, arg->place,
                    (args.empty() ? "the seed of rand is an integer, this is "
                                  : "an index of rand is an integer, this is ") +
                        typeName(value->type).str(),
                    args.empty() ? "for example \"seed\": \"i64\" in `params`"
                                 : "for example rand(seed, b, h, i, j)");
    args.push_back(value);
  }
  if (llvm::any_of(args, [](const Scalar *arg) { return arg->isPoison(); }))
    return scalars.poison(builder.getUnknownLoc());
  SmallVector<StringAttr> seedDims = attn::unionDims(program, arraysOf(args[0]));
  if (!seedDims.empty())
    return wrong(scope, expr.args[0]->place,
                 "the seed of rand depends on the dim '" + seedDims[0].str() + "'",
                 "a seed is one number for all elements, what varies is an index: rand(seed, " +
                     seedDims[0].str() + ", ...)");
  Location loc = locate(scope, expr.place);
  args.insert(args.begin() + 1, maxRandomIndices + 1 - args.size(), scalars.integer(loc, 0));
  return scalars.operation(loc, ScalarOp::Rand, ScalarType::F32, args);
}

} // namespace attnc
