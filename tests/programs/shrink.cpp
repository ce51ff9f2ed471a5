#include "tests/programs/shrink.h"
#include <algorithm>

namespace attnc::programs {
namespace {

using List = std::vector<uint32_t>;

class Shrinker {
public:
  Shrinker(List best, const std::function<bool(const List &)> &fails, unsigned attempts)
      : best(std::move(best)), fails(fails), left(attempts) {}

  List run() {
    for (bool progress = true; progress && left;) {
      progress = false;
      for (size_t length : {32, 16, 8, 4, 2, 1})
        progress |= removeBlocks(length);
      for (size_t length : {4, 1})
        progress |= zeroBlocks(length);
      progress |= reduceValues();
    }
    return best;
  }

private:
  bool accept(List candidate) {
    while (!candidate.empty() && candidate.back() == 0) // what is missing is 0
      candidate.pop_back();
    if (!left || candidate == best)
      return false;
    --left;
    if (!fails(candidate))
      return false;
    best = std::move(candidate);
    return true;
  }

  bool removeBlocks(size_t length) {
    bool progress = false;
    for (size_t end = best.size(); end >= length && left; --end) {
      if (end > best.size())
        continue;
      List candidate = best;
      candidate.erase(candidate.begin() + (end - length), candidate.begin() + end);
      progress |= accept(candidate);
    }
    return progress;
  }

  bool zeroBlocks(size_t length) {
    bool progress = false;
    for (size_t at = 0; at + length <= best.size() && left; ++at) {
      List candidate = best;
      std::fill_n(candidate.begin() + at, length, 0);
      progress |= accept(candidate);
    }
    return progress;
  }

  bool reduceValues() {
    bool progress = false;
    for (size_t at = 0; at < best.size() && left; ++at)
      for (uint32_t step = best[at]; step && at < best.size(); step /= 2) {
        List candidate = best;
        candidate[at] -= std::min(step, candidate[at]);
        progress |= accept(candidate);
      }
    return progress;
  }

  List best;
  const std::function<bool(const List &)> &fails;
  unsigned left;
};

} // namespace

List shrink(List choices, const std::function<bool(const List &)> &fails, unsigned attempts) {
  return Shrinker(std::move(choices), fails, attempts).run();
}

} // namespace attnc::programs
