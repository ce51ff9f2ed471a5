// The choices that make a random program: drawn from a seed, or given again.
#ifndef ATTNC_TESTS_PROGRAMS_CHOICES_H
#define ATTNC_TESTS_PROGRAMS_CHOICES_H

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace attnc::programs {

/// A program is a function of a list of small numbers, of which 0 always is the simplest choice. So
/// whatever list is given makes a well-typed program, and a shorter or smaller one a simpler
/// program: that is how a counterexample is shrunk. Not thread-safe.
class Choices {
public:
  /// Choices drawn at random, the same ones for the same seed on every platform.
  explicit Choices(uint64_t seed) : random(seed) {}
  /// The choices in `given`; after its end, 0.
  explicit Choices(std::vector<uint32_t> given) : given(std::move(given)), replays(true) {}

  /// A number from 0 to count - 1; `count` is at least 1.
  uint32_t below(uint32_t count);
  /// True for about `percent` of 100; false is the simpler choice.
  bool chance(uint32_t percent) { return below(100) >= 100 - percent; }
  /// One of `values`; the first is the simplest.
  template <typename T> T among(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<uint32_t>(values.size()))];
  }

  /// What was chosen so far.
  const std::vector<uint32_t> &taken() const { return all; }

private:
  std::mt19937_64 random;
  std::vector<uint32_t> given, all;
  bool replays = false;
};

} // namespace attnc::programs

#endif
