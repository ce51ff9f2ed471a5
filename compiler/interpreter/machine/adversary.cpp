#include "compiler/interpreter/machine/adversary.h"
#include "llvm/ADT/STLExtras.h"

namespace attnc::interpreter {

Adversary::Adversary(uint64_t seed) : state(seed) {
  static constexpr std::pair<Order, Timing> extremes[kExtremes] = {
      {Order::RoundRobin, Timing::Late}, {Order::First, Timing::Early},
      {Order::Last, Timing::Late},       {Order::First, Timing::Late},
      {Order::Last, Timing::Early},      {Order::Stay, Timing::Random}};
  if (seed < kExtremes) {
    std::tie(order, timing) = extremes[seed];
    return;
  }
  order = below(4) == 0 ? Order::Stay : Order::Random;
  timing = static_cast<Timing>(below(3));
}

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
uint64_t Adversary::below(uint64_t count) {
  state += 0x9E3779B97F4A7C15ull;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return (z ^ (z >> 31)) % count;
}

unsigned Adversary::chooseWarp(llvm::ArrayRef<unsigned> runnable) {
  switch (order) {
  case Order::First:
    return last = runnable.front();
  case Order::Last:
    return last = runnable.back();
  case Order::RoundRobin: {
    const auto *next = llvm::upper_bound(runnable, last);
    return last = next == runnable.end() ? runnable.front() : *next;
  }
  case Order::Stay:
    if (llvm::is_contained(runnable, last))
      return last;
    [[fallthrough]];
  case Order::Random:
    return last = runnable[below(runnable.size())];
  }
  llvm_unreachable("all orders are handled");
}

bool Adversary::eventNow() {
  switch (timing) {
  case Timing::Early:
    return true;
  case Timing::Late:
    return false;
  case Timing::Random:
    return below(8) == 0;
  }
  llvm_unreachable("all timings are handled");
}

} // namespace attnc::interpreter
