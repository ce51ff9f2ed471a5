#include "tests/programs/random_spec.h"
#include "tests/programs/grammar.h"

namespace attnc::programs {

std::string randomSpec(Choices &choices) { return Grammar(choices).run(); }

std::string Grammar::run() {
  for (uint32_t i = 0, count = 1 + choices.below(3); i < count; ++i)
    scores.push_back(score());
  for (uint32_t i = 0, count = choices.among<uint32_t>({1, 1, 2, 0, 3}); i < count; ++i)
    weights.push_back(combined(normalised(oneOf(scores))));
  if (weights.empty())
    weights.push_back(scores.front());
  for (uint32_t i = 0, count = 1 + choices.below(3); i < count; ++i)
    fold();
  return spec.text();
}

} // namespace attnc::programs
