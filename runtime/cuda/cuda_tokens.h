#pragma once

/// CUDA C++ without what does not matter to a compiler.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

struct CudaTokens {
  /// The text without comments, line continuations, blank lines and further white space: texts in
  /// which these are equal are the same to the compiler.
  std::string text;
  std::vector<std::string> includes; ///< the names in #include, in order
};

/// Nothing: the text depends on more than its tokens (it asks for its lines, its name or the time,
/// by __LINE__ or assert, for example), or is not understood (a literal or a comment that does not
/// end, lines continued beside raw strings, __has_include).
std::optional<CudaTokens> cudaTokens(std::string_view text);

} // namespace attnc
