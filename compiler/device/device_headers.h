// The texts of the device headers (*.cuh), embedded in the binary.
#ifndef ATTNC_COMPILER_DEVICE_DEVICE_HEADERS_H
#define ATTNC_COMPILER_DEVICE_DEVICE_HEADERS_H

#include <string_view>
#include <utility>
#include <vector>

namespace attnc::device {

/// File name ("scalar.cuh") and text of each header.
std::vector<std::pair<std::string_view, std::string_view>> files();

} // namespace attnc::device

#endif
