// What makes two nests the same to the tuning database.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_NEST_KEY_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_NEST_KEY_H

#include "dialects/Red/Red.h"
#include <string>

namespace attnc::schedule {

/// The nest as text without the names that a spec gives: dims are numbered by role, arrays in
/// order. It holds the roles and static extents of dims, the ops of body and domain with their
/// attributes and types, the element types and axes of the tensors that it reads and stores, and
/// the declared ranges of params. Not in it: names, documentation, dynamic extents, the schedule,
/// other nests.
std::string canonicalNest(red::NestOp nest);

/// The first 32 hexadecimal digits of the SHA-256 of canonicalNest.
std::string nestKey(red::NestOp nest);

} // namespace attnc::schedule

#endif
