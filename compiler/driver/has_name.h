// Looks for a name in a list of declarations.
#ifndef ATTNC_COMPILER_DRIVER_HAS_NAME_H
#define ATTNC_COMPILER_DRIVER_HAS_NAME_H

#include <algorithm>
#include <string>
#include <vector>

namespace attnc::driver {

template <typename T> bool hasName(const std::vector<T> &list, const std::string &name) {
  return std::ranges::any_of(list, [&](const T &one) { return one.name == name; });
}

} // namespace attnc::driver

#endif
