// The tiles that a pass visits, in words.
#ifndef ATTNC_COMPILER_DRIVER_REPORT_DOMAIN_TEXT_H
#define ATTNC_COMPILER_DRIVER_REPORT_DOMAIN_TEXT_H

#include "dialects/Red/Red.h"
#include <string>
#include <utility>
#include <vector>

namespace attnc::driver {

/// What the domain of a nest computes, as expressions.
struct DomainText {
  std::string lo, hi; ///< the elements of the stream that are visited: from lo, before hi
  std::string full;   ///< where a tile needs no mask; "true" everywhere
  std::string live;   ///< which tiles between lo and hi are visited; "" for all of them
  /// Names for what occurs in several places and is long: "t1", and what it stands for.
  std::vector<std::pair<std::string, std::string>> shared;
};

/// The nest has a domain.
DomainText domainText(red::NestOp nest);

} // namespace attnc::driver

#endif
