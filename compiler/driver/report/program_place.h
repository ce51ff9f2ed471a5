// Where something stands in a spec, told without the spec's path.
#ifndef ATTNC_COMPILER_DRIVER_REPORT_PROGRAM_PLACE_H
#define ATTNC_COMPILER_DRIVER_REPORT_PROGRAM_PLACE_H

#include "dialects/Attn/Attn.h"
#include <string>

namespace attnc::driver {

/// `loc` as "name:line:column" with the name of the program, or "" if it has no place. For what is
/// kept in a program: its bytes do not depend on where the spec lay.
std::string placeIn(attn::ProgramOp program, mlir::Location loc);

} // namespace attnc::driver

#endif
