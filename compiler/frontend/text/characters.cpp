#include "compiler/frontend/text/characters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

using llvm::StringRef;

namespace attnc {

unsigned decodeCharacter(StringRef text, size_t at, uint32_t &code) {
  if (at >= text.size())
    return 0;
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data() + at);
  auto *cursor = begin;
  auto *end = reinterpret_cast<const llvm::UTF8 *>(text.data() + text.size());
  if (llvm::convertUTF8Sequence(&cursor, end, &code, llvm::strictConversion) != llvm::conversionOK)
    return 0;
  return static_cast<unsigned>(cursor - begin);
}

bool isInvisible(uint32_t c) {
  // Fillers and variation selectors are drawn as nothing, though they do not count as formatting.
  static constexpr uint32_t blanks[] = {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B,
                                        0x180C, 0x180D, 0x180E, 0x180F, 0x3164, 0xFFA0};
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || llvm::is_contained(blanks, c) ||
         (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0xE0000 && c < 0xE1000) ||
         (c >= 0x80 && llvm::sys::unicode::isFormatting(static_cast<int>(c)));
}

bool isLetter(uint32_t c) {
  if (c < 0x80)
    return llvm::isAlpha(static_cast<char>(c)) || c == '_';
  bool latinSign = (c < 0xC0 && c != 0xB5) || c == 0xD7 || c == 0xF7;
  bool sign = (c >= 0x2000 && c < 0x2C00) || (c >= 0x3000 && c < 0x3040) ||
              (c >= 0xE000 && c < 0xF900) || c >= 0xFE00;
  return !latinSign && !sign && !isInvisible(c);
}

bool isUnusualSpace(uint32_t code) {
  return code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x202F ||
         code == 0x205F || code == 0x3000;
}

std::string codePoint(uint32_t code) {
  std::string digits = llvm::utohexstr(code);
  return "U+" + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

static std::string encode(uint32_t code) {
  char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char *end = bytes;
  return llvm::ConvertCodePointToUTF8(code, end) ? std::string(bytes, end) : "";
}

//===----------------------------------------------------------------------===//
// Characters that cannot stand in index notation
//===----------------------------------------------------------------------===//

namespace {

struct Advice {
  uint32_t code;
  StringRef remedy;
};

constexpr StringRef quotes = "texts exist only in JSON: write the name without quotes";
constexpr StringRef product = "write a product with `*`";
constexpr StringRef dash = "this is a dash: write a minus as `-`";
constexpr StringRef subscriptDigit = "write the digits of a name plainly: x1";

constexpr Advice advices[] = {
    {'&', "write `and`"},
    {'|', "write `or`"},
    {'!', "write `not`, or `!=`"},
    {'^', "write a power with `**`"},
    {'~', "write `not`"},
    {'?', "write where(condition, a, b)"},
    {'@', "write a matrix product as sum(d, a[i, d] * b[j, d])"},
    {';', "a statement is one string of the body: \"p = softmax(j, s)\", \"o = ...\""},
    {':', "there are no slices: a read names an index for each dim, k[b, h, j, d]"},
    {'#', "a comment stands outside of the strings, after `//`"},
    {'{', "only JSON has braces: group with parentheses"},
    {'}', "only JSON has braces: group with parentheses"},
    {'"', quotes},
    {'\'', quotes},
    {'`', quotes},
    {'$', "a name is one word of letters, digits and _"},
    {'\\', "a name is one word of letters, digits and _"},
    {0x2018, quotes},
    {0x2019, quotes},
    {0x201C, quotes},
    {0x201D, quotes},
    {0x2212, "this is a typographic minus: write `-`"},
    {0x2010, dash},
    {0x2011, dash},
    {0x2013, dash},
    {0x2014, dash},
    {0x00D7, product},
    {0x00B7, product},
    {0x2217, product},
    {0x2219, product},
    {0x22C5, product},
    {0x2297, product},
    {0x2299, product},
    {0x00F7, "write `/`"},
    {0x2044, "write `/`"},
    {0x2215, "write `/`"},
    {0x2264, "write `<=`"},
    {0x2265, "write `>=`"},
    {0x2260, "write `!=`"},
    {0x2261, "write `==`"},
    {0x00AC, "write `not`"},
    {0x2227, "write `and`"},
    {0x2228, "write `or`"},
    {0x2190, "write `=`"},
    {0x221E, "write `inf`"},
    {0x221A, "write sqrt(x)"},
    {0x2211, "write sum(j, x)"},
    {0x220F, "write prod(j, x)"},
    {0x230A, "write floor(x), or a whole quotient as `a // b`"},
    {0x00B2, "write `x ** 2`"},
    {0x00B3, "write `x ** 3`"},
    {0x2032, "names have no primes: write x2"},
    {0x2026, "there is no ellipsis: a read names an index for each dim, k[b, h, j, d]"},
    {0x22A4, "there is no transpose: subscripts name the dims in any expression"},
    {0x2080, subscriptDigit},
    {0x2081, subscriptDigit},
    {0x2082, subscriptDigit},
    {0x2083, subscriptDigit},
};

/// The ASCII character that a mathematical or full-width one is a form of, or 0.
char plainForm(uint32_t code) {
  if (code >= 0x1D400 && code < 0x1D6A4) { // thirteen alphabets of bold, italic, script ...
    uint32_t letter = (code - 0x1D400) % 52;
    return static_cast<char>(letter < 26 ? 'A' + letter : 'a' + letter - 26);
  }
  return code > 0xFF00 && code < 0xFF5F ? static_cast<char>(code - 0xFF00 + 0x20) : 0;
}

} // namespace

CharacterFinding describeUnexpected(StringRef text, size_t at) {
  uint32_t code = 0;
  unsigned length = decodeCharacter(text, at, code);
  if (!length)
    return {"invalid UTF-8", "save the file as UTF-8"};
  if (code < 0x20 || code == 0x7F)
    return {"unexpected control character " + codePoint(code), "delete it"};
  if (isInvisible(code))
    return {"unexpected invisible character " + codePoint(code),
            "delete it: it came with text copied from elsewhere, and changes what a name is"};
  if (isUnusualSpace(code))
    return {"unexpected " + codePoint(code) + ", which looks like a space", "type a plain space"};
  std::string message = "unexpected '" + text.substr(at, length).str() + "'";
  if (code >= 0x80)
    message += ", " + codePoint(code);
  if (text.substr(at).starts_with("..."))
    return {"unexpected '...'", "a read names an index for each dim: k[b, h, j, d]"};
  if (text.substr(at).starts_with(".inf"))
    return {message, "write `inf`"};
  if (text.substr(at).starts_with(".pi"))
    return {message, "write `pi`"};
  if (code == '.')
    return {message, "there are no members: a size is size(d), a function exp(x)"};
  if (char plain = plainForm(code))
    return {message, std::string("write the plain form of this character, `") + plain + "`"};
  StringRef before = text.take_front(at).rtrim();
  if (code == '\'' && before.ends_with("einsum("))
    return {message, "write a contraction as sum(d, a[i, d] * b[j, d])"};
  if (code == '\'' && before.ends_with("float("))
    return {message, "write `inf` or `-inf`"};
  StringRef word = text.take_until([](char c) { return c == ' '; });
  if (code == ':' && (before.contains("lambda") || word == "def" || word == "for" ||
                      word == "while" || word == "if" || word == "with"))
    return {message, "a statement is `name = expression`; what repeats is {\"repeat\": 3, "
                     "\"carry\": [...], \"body\": [...]}"};
  const auto *advice = llvm::find_if(advices, [=](const Advice &a) { return a.code == code; });
  if (advice != std::end(advices))
    return {message, advice->remedy.str()};
  return {message, "names hold letters, digits and _; operators are + - * / // % ** < <= > >= == "
                   "!= and or not"};
}

//===----------------------------------------------------------------------===//
// Look-alikes
//===----------------------------------------------------------------------===//

namespace {

struct Twin {
  uint32_t code;
  char latin;
};

/// Letters of other scripts that most fonts draw with the glyph of a Latin letter.
constexpr Twin twins[] = {
    {0x0430, 'a'}, {0x0435, 'e'}, {0x043E, 'o'}, {0x0440, 'p'}, {0x0441, 'c'}, {0x0443, 'y'},
    {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'}, {0x0501, 'd'}, {0x04BB, 'h'},
    {0x051B, 'q'}, {0x051D, 'w'}, {0x043A, 'k'}, {0x0410, 'A'}, {0x0412, 'B'}, {0x0415, 'E'},
    {0x041A, 'K'}, {0x041C, 'M'}, {0x041D, 'H'}, {0x041E, 'O'}, {0x0420, 'P'}, {0x0421, 'C'},
    {0x0422, 'T'}, {0x0425, 'X'}, {0x0405, 'S'}, {0x0406, 'I'}, {0x0408, 'J'}, {0x03BF, 'o'},
    {0x03F2, 'c'}, {0x03F3, 'j'}, {0x0391, 'A'}, {0x0392, 'B'}, {0x0395, 'E'}, {0x0396, 'Z'},
    {0x0397, 'H'}, {0x0399, 'I'}, {0x039A, 'K'}, {0x039C, 'M'}, {0x039D, 'N'}, {0x039F, 'O'},
    {0x03A1, 'P'}, {0x03A4, 'T'}, {0x03A5, 'Y'}, {0x03A7, 'X'}, {0x0131, 'i'}, {0x0261, 'g'},
};

/// The letters of Latin-1 that are written with an accent, and the accent as its own character.
struct Accented {
  StringRef letters; // the base letters from `first` on
  uint32_t first;
};
constexpr Accented latin1 = {"AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.y",
                             0xC0};
constexpr uint32_t accents[] = {0x300, 0x301, 0x302, 0x303, 0x308, 0x30A, 0,     0x327,
                                0x300, 0x301, 0x302, 0x308, 0x300, 0x301, 0x302, 0x308,
                                0,     0x303, 0x300, 0x301, 0x302, 0x303, 0x308, 0,
                                0,     0x300, 0x301, 0x302, 0x308, 0x301, 0,     0x308};

} // namespace

std::string lookAlike(StringRef name) {
  std::string result;
  for (size_t at = 0; at < name.size();) {
    uint32_t code = 0;
    unsigned length = decodeCharacter(name, at, code);
    if (!length)
      return name.str();
    const auto *twin = llvm::find_if(twins, [=](const Twin &t) { return t.code == code; });
    size_t letter = code - latin1.first;
    if (twin != std::end(twins))
      result += twin->latin;
    else if (code >= latin1.first && letter < latin1.letters.size() &&
             latin1.letters[letter] != '.')
      result += latin1.letters[letter] + encode(accents[letter % 32]);
    else
      result += name.substr(at, length);
    at += length;
  }
  return result;
}

std::string unusualCharacters(StringRef name) {
  std::vector<std::string> codes;
  for (size_t at = 0; at < name.size();) {
    uint32_t code = 0;
    unsigned length = decodeCharacter(name, at, code);
    if (!length)
      break;
    if (code >= 0x80)
      codes.push_back(codePoint(code));
    at += length;
  }
  return codes.empty() ? "only ASCII" : llvm::join(codes, " and ");
}

} // namespace attnc
