// Which build of attnc this is.
#ifndef ATTNC_COMPILER_JIT_BUILD_ID_H
#define ATTNC_COMPILER_JIT_BUILD_ID_H

#include <string_view>

namespace attnc {

/// A hash of the sources of the compiler and the runtime and of what they are compiled with, in
/// hexadecimal. Two builds with the same name make the same programs of the same specs.
std::string_view buildId();

} // namespace attnc

#endif
