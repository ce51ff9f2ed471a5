#ifndef ATTNC_COMPILER_DRIVER_REPORT_NEST_REPORT_H
#define ATTNC_COMPILER_DRIVER_REPORT_NEST_REPORT_H

#include "compiler/driver/compile.h"
#include "dialects/Red/Red.h"

namespace attnc::driver {

/// What explain says of a nest before it is scheduled: roles, states, derivation, domain, stores,
/// and its work, with the part of the stream that is visited at `extents` (empty: not known).
NestReport reportNest(red::NestOp nest, const std::map<std::string, int64_t> &extents);

} // namespace attnc::driver

#endif
