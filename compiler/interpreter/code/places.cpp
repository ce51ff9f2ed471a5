#include "compiler/interpreter/code/places.h"
#include <bit>

namespace attnc::interpreter {

bool Place::sharesAgree() const {
  for (size_t i = 0; i < elements.size(); ++i)
    if (std::bit_cast<uint32_t>(elements[i]) !=
        std::bit_cast<uint32_t>(elements[i / kShares * kShares]))
      return false;
  return true;
}

} // namespace attnc::interpreter
