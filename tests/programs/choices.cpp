#include "tests/programs/choices.h"

namespace attnc::programs {

uint32_t Choices::below(uint32_t count) {
  uint32_t value = 0;
  if (!replays)
    value = static_cast<uint32_t>(random() % count);
  else if (all.size() < given.size())
    value = given[all.size()] % count;
  all.push_back(value);
  return value;
}

} // namespace attnc::programs
