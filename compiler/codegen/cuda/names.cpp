#include "compiler/codegen/cuda/names.h"
#include "dialects/Attn/SpecLocation.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attnc::cuda {

// Keywords, types and functions that a name of a spec could collide with, and macros in small
// letters. Functions matter because a variable would hide them.
static constexpr StringLiteral kReserved =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl "
    "concept const constexpr continue decltype default delete do double else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register requires return short "
    "signed sizeof static struct switch template this throw true try typedef typename union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq f16 bf16 f32 u16 u32 u64 i32 "
    "i64 attnc exp exp2 log log2 tanh erf sqrt rsqrt max min minus kInfinity base abs pow sin cos "
    "floor ceil lane blockIndex threadIndex warpIndex uniformWarpIndex launchPoint warp gcd fill "
    "split ratio reciprocal normalReciprocal memory threadIdx blockIdx blockDim gridDim uint4 meet "
    "signal save restore "
    "transposed choose settle arrive inSlot gridSize wgmma descriptor unpack kFresh uniform philox "
    "char8_t char16_t char32_t co_await co_return co_yield consteval constinit const_cast "
    "dynamic_cast reinterpret_cast static_cast static_assert thread_local typeid typeof restrict "
    "float2 float4 double2 int2 int4 uint2 dim3 warpSize printf assert linux unix half i8 i16 u8 "
    "size_t isnan isinf signbit main";

Names::Names() {
  for (StringRef word : split(kReserved, ' '))
    taken.insert(word);
}

// Names with two underscores in a row, or that begin with one and a capital, belong to the compiler
// and its headers (C++ standard, [lex.name]): __global__ is a macro, __syncthreads a function.
static std::string withoutReservedUnderscores(StringRef text) {
  std::string result;
  for (char c : text)
    if (c != '_' || !StringRef(result).ends_with("_"))
      result += c;
  if (result.size() > 1 && result[0] == '_' && isUpper(result[1]))
    result.erase(0, 1);
  return result;
}

// What consists of capitals may be a macro: NULL, INFINITY, M_PI. Single letters are names of
// tensors.
static bool mayBeMacro(StringRef text) {
  return text.size() > 1 && llvm::none_of(text, isLower) && llvm::any_of(text, isUpper);
}

static std::string identifier(StringRef text) {
  std::string result;
  for (unsigned char c : text.bytes())
    result += isAlnum(c) || c == '_' ? std::string(1, c) : "_u" + utohexstr(c);
  result = withoutReservedUnderscores(result);
  if (result.empty() || result == "_" || isDigit(result.front()))
    result.insert(0, "v");
  return mayBeMacro(result) ? "v_" + result : result;
}

std::string Names::unique(StringRef wanted) {
  std::string base = identifier(wanted), name = base;
  for (unsigned number = 2; !taken.insert(name).second; ++number)
    name = base + (StringRef(base).ends_with("_") ? "" : "_") + std::to_string(number);
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
