// What nests compute, as text that does not depend on how it was spelt.
#ifndef ATTNC_TESTS_UNIT_TRANSFORMS_NEST_STRUCTURE_H
#define ATTNC_TESTS_UNIT_TRANSFORMS_NEST_STRUCTURE_H

#include "dialects/Red/Red.h"
#include <map>
#include <string>
#include <vector>

namespace attnc {

/// The states and results of a program's nests. Names of results are not in it, nor is the order of
/// statements, of states, or of the operands of + and *; maps are opened, so it does not matter
/// which of an expression's parts had a name.
struct NestStructure {
  size_t nests = 0;
  std::vector<std::string> kinds;             ///< of states: "max", "add", "add exp", sorted
  std::vector<std::string> states;            ///< in full, sorted
  std::map<std::string, std::string> outputs; ///< in full, by name

  static NestStructure of(attn::ProgramOp program);
};

} // namespace attnc

#endif
