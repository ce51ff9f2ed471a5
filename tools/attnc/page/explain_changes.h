// Which lines of a text changed.
#ifndef ATTNC_TOOLS_ATTNC_PAGE_EXPLAIN_CHANGES_H
#define ATTNC_TOOLS_ATTNC_PAGE_EXPLAIN_CHANGES_H

#include <string_view>
#include <vector>

namespace attnc::cli {

struct ComparedLine {
  enum Change { Same, Added, Removed } change;
  std::string_view text; ///< without its newline
};

struct Comparison {
  std::vector<ComparedLine> lines; ///< those of `after` in order, with the removed ones between
  size_t added = 0, removed = 0;
  /// Hardly a line of `before` is left: `lines` are those of `after`, all as Same.
  bool rewritten = false;
};

/// The lines of a text, without their newlines.
std::vector<std::string_view> splitLines(std::string_view text);

/// Compares two texts of IR line by line: a longest common subsequence, or, where the parts that
/// differ are so long that it would take more than 4 million steps, nothing in common between them.
/// Lines are the same if they are but for indentation and the numbers at the end of value names
/// (%12, %s_3), which the printer gives anew. The result refers to both texts.
Comparison compareLines(std::string_view before, std::string_view after);

} // namespace attnc::cli

#endif
