// The remote tier of the cache, for people.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_REMOTE_FINDING_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_REMOTE_FINDING_H

#include <string>
#include <vector>

namespace attnc::cli {

struct RemoteFinding {
  std::string address; ///< empty: the tier as a whole
  bool works = false;
  std::string text, remedy;
};

/// One for each server that ATTNC_REMOTE names, which are asked now; one that does not work where
/// the variables are wrong; none without them.
std::vector<RemoteFinding> examineRemote();

} // namespace attnc::cli

#endif
