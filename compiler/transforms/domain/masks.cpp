#include "compiler/transforms/domain/masks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attnc {

bool Linear::addTerm(StringAttr dim, int64_t coefficient) {
  auto *term = llvm::find_if(terms, [&](auto &known) { return known.first == dim; });
  if (term == terms.end())
    term = &terms.emplace_back(dim, 0);
  int64_t sum = 0;
  if (llvm::AddOverflow(term->second, coefficient, sum) || sum > maxCoefficient ||
      sum < -maxCoefficient)
    return false;
  term->second = sum;
  if (sum == 0)
    terms.erase(term);
  return true;
}

int64_t Linear::coefficientOf(StringAttr dim) const {
  auto *term = llvm::find_if(terms, [&](auto &known) { return known.first == dim; });
  return term == terms.end() ? 0 : term->second;
}

static bool canBeFull(const Mask &mask) {
  auto can = [](const MaskRef &arg) { return arg->canBeFull; };
  switch (mask.kind) {
  case Mask::Kind::False:
  case Mask::Kind::Unknown:
    return false;
  case Mask::Kind::And:
    return llvm::all_of(mask.args, can);
  case Mask::Kind::Or:
    return llvm::any_of(mask.args, can);
  case Mask::Kind::NonNegative:
    return !mask.linear.farApart;
  case Mask::Kind::True:
  case Mask::Kind::Residue:
    return true;
  }
  llvm_unreachable("all kinds are listed");
}

MaskRef Masks::make(Mask mask) {
  std::vector<IndexArithmetic::Key> key = {
      {nullptr,
       4 * static_cast<int64_t>(mask.kind) + 2 * mask.linear.farApart + mask.linear.streamed}};
  for (Value value : {mask.linear.lo, mask.linear.hi, mask.start, mask.modulus, mask.count})
    key.push_back(IndexArithmetic::keyOf(value));
  // Terms of one sum come in any order.
  auto terms = mask.linear.terms;
  llvm::sort(terms, [](auto &x, auto &y) {
    return x.first.getAsOpaquePointer() < y.first.getAsOpaquePointer();
  });
  for (auto [dim, coefficient] : terms) {
    key.push_back({dim.getAsOpaquePointer(), coefficient});
  }
  for (const MaskRef &arg : mask.args)
    key.push_back({arg.get(), 0});
  MaskRef &found = known[key];
  if (!found) {
    mask.canBeFull = canBeFull(mask);
    found = std::make_shared<const Mask>(std::move(mask));
  }
  return found;
}

MaskRef Masks::constant(bool value) {
  return make({value ? Mask::Kind::True : Mask::Kind::False, {}, {}, {}, {}, {}, false});
}

MaskRef Masks::unknown() { return make({Mask::Kind::Unknown, {}, {}, {}, {}, {}, false}); }

MaskRef Masks::nonNegative(Linear linear) {
  return make({Mask::Kind::NonNegative, std::move(linear), {}, {}, {}, {}, false});
}

MaskRef Masks::residue(Linear linear, Value start, Value modulus, Value count) {
  return make({Mask::Kind::Residue, std::move(linear), start, modulus, count, {}, false});
}

MaskRef Masks::both(MaskRef a, MaskRef b) {
  if (a == b || a->kind == Mask::Kind::True || b->kind == Mask::Kind::False)
    return b;
  if (b->kind == Mask::Kind::True || a->kind == Mask::Kind::False)
    return a;
  return make({Mask::Kind::And, {}, {}, {}, {}, {a, b}, false});
}

MaskRef Masks::either(MaskRef a, MaskRef b) {
  if (a == b || a->kind == Mask::Kind::False || b->kind == Mask::Kind::True)
    return b;
  if (b->kind == Mask::Kind::False || a->kind == Mask::Kind::True)
    return a;
  return make({Mask::Kind::Or, {}, {}, {}, {}, {a, b}, false});
}

} // namespace attnc
