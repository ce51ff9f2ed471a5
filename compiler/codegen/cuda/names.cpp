#include "compiler/codegen/cuda/names.h"
#include "dialects/Attn/SpecLocation.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attnc::cuda {

// Keywords, types and functions that a name of a spec could collide with. Functions matter because
// a variable would hide them.
static constexpr StringLiteral kReserved[] = {
    "alignas",    "alignof",     "and",      "and_eq",    "asm",        "auto",
    "bitand",     "bitor",       "bool",     "break",     "case",       "catch",
    "char",       "class",       "compl",    "concept",   "const",      "constexpr",
    "continue",   "decltype",    "default",  "delete",    "do",         "double",
    "else",       "enum",        "explicit", "export",    "extern",     "false",
    "float",      "for",         "friend",   "goto",      "if",         "inline",
    "int",        "long",        "mutable",  "namespace", "new",        "noexcept",
    "not",        "not_eq",      "nullptr",  "operator",  "or",         "or_eq",
    "private",    "protected",   "public",   "register",  "requires",   "return",
    "short",      "signed",      "sizeof",   "static",    "struct",     "switch",
    "template",   "this",        "throw",    "true",      "try",        "typedef",
    "typename",   "union",       "unsigned", "using",     "virtual",    "void",
    "volatile",   "wchar_t",     "while",    "xor",       "xor_eq",     "f16",
    "bf16",       "f32",         "u16",      "u32",       "u64",        "i32",
    "i64",        "attnc",       "exp",      "exp2",      "log",        "log2",
    "tanh",       "erf",         "sqrt",     "rsqrt",     "max",        "min",
    "minus",      "kInfinity",   "base",     "abs",       "pow",        "sin",
    "cos",        "floor",       "ceil",     "lane",      "blockIndex", "threadIndex",
    "warpIndex",  "launchPoint", "warp",     "gcd",       "fill",       "split",
    "ratio",      "reciprocal",  "memory",   "threadIdx", "blockIdx",   "blockDim",
    "gridDim",    "uint4",       "meet",     "signal",    "save",       "restore",
    "transposed", "choose",      "settle",   "arrive",    "gridSize",   "wgmma",
    "descriptor", "unpack",      "kFresh"};

Names::Names() {
  for (StringRef word : kReserved)
    taken.insert(word);
}

static std::string identifier(StringRef text) {
  std::string result;
  for (unsigned char c : text.bytes())
    result += isAlnum(c) || c == '_' ? std::string(1, c) : "_u" + utohexstr(c);
  if (result.empty() || isDigit(result.front()))
    result.insert(0, "_");
  return result;
}

std::string Names::unique(StringRef wanted) {
  std::string base = identifier(wanted), name = base;
  for (unsigned number = 2; !taken.insert(name).second; ++number)
    name = base + "_" + std::to_string(number);
  scopes.back().push_back(name);
  return name;
}

void Names::closeScope() {
  for (const std::string &name : scopes.back())
    taken.erase(name);
  scopes.pop_back();
}

std::string Names::uniqueFor(mlir::Location loc, StringRef fallback) {
  StringRef name = attn::specName(loc);
  return unique(name.empty() ? fallback : name);
}

} // namespace attnc::cuda
