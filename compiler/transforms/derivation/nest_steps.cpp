#include "compiler/transforms/derivation/nest_steps.h"
#include "compiler/transforms/derivation/derivation.h"
#include "compiler/transforms/derivation/spec_text.h"
#include "compiler/transforms/fusion/pass_states.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attnc::attn;
using attnc::derivation::Rule;
using attnc::red::FoldOp;
using attnc::red::NestOp;

namespace attnc {
namespace {

// "the pass over j that gives o"
std::string passOf(NestOp nest) {
  std::string results;
  for (Value result : nest.getResults())
    results += (results.empty() ? "" : ", ") + specTextOf(result);
  if (nest.getStream().empty())
    return "the nest that gives " + results;
  return "the pass over " + listDims(dimNames(nest.getStream())) + " that gives " + results;
}

std::string typeOf(FoldOp fold) {
  std::string text;
  llvm::raw_string_ostream(text) << fold.getType().getElementType() << "["
                                 << listDims(fold.getType().getDims()) << "]";
  return text;
}

bool hasSome(Value array, ArrayAttr dims) {
  return llvm::any_of(dims.getAsRange<StringAttr>(), [&](StringAttr dim) {
    return cast<attn::ArrayType>(array.getType()).hasDim(dim);
  });
}

// The folds of the step: what tiles are made of.
SmallVector<FoldOp> contractions(NestOp nest) {
  SmallVector<FoldOp> found;
  for (auto fold : nest.getBodyBlock()->getOps<FoldOp>())
    if (!llvm::is_contained(nest.states(), fold) && !nest.dependsOnState(fold))
      found.push_back(fold);
  return found;
}

/// By place and expression.
using FirstNests = std::map<std::pair<std::string, std::string>, NestOp>;

void recordTiles(NestOp nest, FirstNests &first) {
  for (FoldOp fold : contractions(nest)) {
    if (hasSome(fold, nest.getRow()) && hasSome(fold, nest.getStream()))
      derivation::record(nest, derivation::stepAt(Rule::Demoted, fold.getLoc(), specTextOf(fold),
                                                  {{"type", typeOf(fold)}}));
    NestOp &other = first[{specPlace(fold.getLoc()), definitionOf(fold)}];
    if (!other)
      other = nest;
    else if (other != nest)
      derivation::record(nest, derivation::stepAt(Rule::Recomputed, fold.getLoc(), specTextOf(fold),
                                                  {{"others", passOf(other)}}));
  }
  if (!nest.getInner().empty())
    derivation::record(nest, derivation::Step{Rule::Eliminated,
                                              "",
                                              {{"dims", listDims(dimNames(nest.getInner()))},
                                               {"how", "whole in a tile"}}});
}

void recordStores(NestOp nest) {
  auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
  for (auto [result, value] : llvm::zip_equal(nest.getResults(), yield.getValues())) {
    std::string users;
    for (Operation *user : result.getUsers())
      if (auto reader = user->getParentOfType<NestOp>()) {
        std::string words = passOf(reader);
        if (StringRef(users).find(words) == StringRef::npos)
          users += (users.empty() ? "" : ", ") + words;
      }
    if (!users.empty())
      derivation::record(nest, derivation::stepAt(Rule::Materialised, value.getLoc(),
                                                  specTextOf(value), {{"users", users}}));
  }
}

// A step of the program is that of the first nest with a fold at its place, else of the first nest.
void giveToNests(ProgramOp program) {
  auto nests = llvm::to_vector(program.getBodyBlock()->getOps<NestOp>());
  if (nests.empty())
    return;
  for (const derivation::Step &step : derivation::stepsOf(program)) {
    auto has = [&](NestOp nest) {
      return llvm::any_of(nest.getBodyBlock()->getOps<FoldOp>(), [&](FoldOp fold) {
        derivation::Step here = derivation::stepAt(step.rule, fold.getLoc(), "");
        derivation::forgetOwnFile(here, program);
        return std::tie(here.file, here.line, here.column) ==
               std::tie(step.file, step.line, step.column);
      });
    };
    auto *found = llvm::find_if(nests, has);
    derivation::record(found == nests.end() ? nests.front() : *found, step);
  }
  program->removeAttr(derivation::kAttr);
}

bool isWhole(red::BoundsOp bounds, NestOp nest) {
  auto lo = bounds.getLo().front().getDefiningOp<arith::ConstantOp>();
  auto hi = bounds.getHi().front().getDefiningOp<red::ScalarOp>();
  auto size = hi ? hi.getArray().getDefiningOp<SizeOp>() : SizeOp();
  return lo && cast<IntegerAttr>(lo.getValue()).getInt() == 0 && size &&
         nest.isStreamDim(size.getDimAttr()) && !bounds.getLive();
}

void recordSkipping(NestOp nest) {
  Block *domain = nest.getDomainBlock();
  if (domain && !isWhole(cast<red::BoundsOp>(domain->getTerminator()), nest))
    derivation::record(
        nest,
        derivation::Step{Rule::Skipped, "", {{"dims", listDims(dimNames(nest.getStream()))}}});
}

} // namespace

void recordNestSteps(ProgramOp program) {
  giveToNests(program);
  FirstNests first;
  for (auto nest : program.getBodyBlock()->getOps<NestOp>()) {
    recordTiles(nest, first);
    recordStores(nest);
    recordSkipping(nest);
  }
}

} // namespace attnc
