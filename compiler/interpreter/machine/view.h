// Vector clocks: what has happened before, seen from somewhere.
#ifndef ATTNC_COMPILER_INTERPRETER_MACHINE_VIEW_H
#define ATTNC_COMPILER_INTERPRETER_MACHINE_VIEW_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace attnc::interpreter {

/// What a warp, or a barrier, knows of each agent: all accesses of agent a with a clock of at most
/// `seen[a]` have completed. Agents are warps, the copies and products that each warp starts, and
/// the barriers for the copies that complete there.
struct View {
  std::vector<uint32_t> seen;
  /// The same, before a tile.publish: of these, asynchronous ops know too.
  std::vector<uint32_t> published;

  View() = default;
  explicit View(size_t agents) : seen(agents), published(agents) {}

  void join(const View &other) {
    for (size_t i = 0; i < other.seen.size(); ++i) {
      seen[i] = std::max(seen[i], other.seen[i]);
      published[i] = std::max(published[i], other.published[i]);
    }
  }
  void publish() {
    for (size_t i = 0; i < seen.size(); ++i)
      published[i] = std::max(published[i], seen[i]);
  }
};

} // namespace attnc::interpreter

#endif
