#ifndef ATTNC_COMPILER_DRIVER_NEST_REPORT_H
#define ATTNC_COMPILER_DRIVER_NEST_REPORT_H

#include "compiler/driver/compile.h"
#include "dialects/Red/Red.h"

namespace attnc::driver {

/// What explain says of a nest before it is scheduled: roles, states, derivation, domain, stores.
NestReport reportNest(red::NestOp nest);

} // namespace attnc::driver

#endif
