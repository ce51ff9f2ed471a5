// Characters of any script: which stand in names, which look like others, which cannot be seen.
#ifndef ATTNC_COMPILER_FRONTEND_TEXT_CHARACTERS_H
#define ATTNC_COMPILER_FRONTEND_TEXT_CHARACTERS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace attnc {

/// Decodes the character at byte `at`; returns its length, or 0 if it is not valid UTF-8.
unsigned decodeCharacter(llvm::StringRef text, size_t at, uint32_t &code);

/// Letters of any script and the underscore; not the signs, punctuation and operators that look
/// like ASCII ones, and nothing invisible.
bool isLetter(uint32_t code);

/// True for characters that a reader does not see: controls, joiners, fillers, and what changes
/// the direction of the text.
bool isInvisible(uint32_t code);

/// True for blanks other than the plain space, such as U+00A0.
bool isUnusualSpace(uint32_t code);

/// "U+200B"
std::string codePoint(uint32_t code);

/// What is said about a character that cannot stand in index notation.
struct CharacterFinding {
  std::string message, remedy;
};
CharacterFinding describeUnexpected(llvm::StringRef text, size_t at);

/// The name with the characters that look exactly like Latin letters replaced by those, and
/// accented letters taken apart: two names with one result cannot be told apart by a reader.
std::string lookAlike(llvm::StringRef name);

/// The characters of `name` beyond ASCII by code point, "U+0455 and U+0430", or "only ASCII".
std::string unusualCharacters(llvm::StringRef name);

} // namespace attnc

#endif
