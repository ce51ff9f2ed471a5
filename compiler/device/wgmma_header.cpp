#include "compiler/device/wgmma_header.h"
#include "compiler/device/device_headers.h"
#include <regex>

namespace attnc::device {

namespace {

// The pieces with commas between, broken into lines of `width` that start with `indent`; `end` ends
// each line but the last.
template <class Piece>
std::string list(int count, Piece piece, const std::string &indent, const std::string &end) {
  constexpr size_t kWidth = 84;
  std::string text = indent;
  size_t lineStart = 0;
  for (int i = 0; i < count; ++i) {
    std::string next = piece(i) + (i + 1 < count ? "," : "");
    if (text.size() - lineStart + next.size() > kWidth) {
      text += end;
      lineStart = text.size() - 1;
      text += indent;
    }
    text += (text.ends_with(indent) ? "" : " ") + next;
  }
  return text;
}

// Part of an asm template: `%first` to `%(first + count - 1)` in braces.
std::string registers(int first, int count) {
  return "  \"{" +
         list(
             count, [&](int i) { return "%" + std::to_string(first + i); }, "", " \"  \\\n  \"") +
         "}\"";
}

// One instruction as a macro over the type of the factors, because the text of an asm statement is
// a literal. `operands` are those after the result, `inputs` what they are bound to.
std::string macro(int columns, const std::string &comment, const std::string &operands,
                  int addOperand, const std::string &inputs) {
  int count = columns / 2;
  std::string results = list(
      count,
      [](int i) {
        return "\"+f\"(c.block[0][" + std::to_string(i / 4) + "][" + std::to_string(i % 4) + "])";
      },
      "                 ", " \\\n");
  results.erase(0, results.find_first_not_of(' '));
  return "// " + comment + "\n#define ATTNC_WGMMA(TYPE) \\\n  asm volatile(\"{\\n\" \\\n" +
         "               \".reg .pred add;\\n\" \\\n               \"setp.ne.b32 add, %" +
         std::to_string(addOperand) + ", 0;\\n\" \\\n" +
         "               \"wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) +
         "k16.f32.\" TYPE \".\" TYPE \"\\n\" \\\n             " + registers(0, count) + " \\\n" +
         "               \", " + operands + ";\\n}\" \\\n               : " + results +
         " \\\n               : " + inputs + ")\n";
}

std::string function(int columns, const std::string &factor) {
  return "template <class T, int kTransposeA, int kTransposeB>\n"
         "ATTNC_DEVICE void wgmma(Accumulator<16, " +
         std::to_string(columns) + "> &c, " + factor + ", u64 b, int add) {\n" +
         "  if constexpr (sameType<T, bf16>)\n    ATTNC_WGMMA(\"bf16\");\n"
         "  else\n    ATTNC_WGMMA(\"f16\");\n}\n#undef ATTNC_WGMMA\n";
}

} // namespace

std::string wgmmaHeader(int columns) {
  int count = columns / 2;
  auto operand = [&](int i) { return "%" + std::to_string(count + i); };
  std::string n = std::to_string(columns);
  std::string shared =
      macro(columns, "a in shared memory: both factors by descriptor.",
            operand(0) + ", " + operand(1) + ", add, 1, 1, " + operand(3) + ", " + operand(4),
            count + 2, "\"l\"(a), \"l\"(b), \"r\"(add), \"n\"(kTransposeA), \"n\"(kTransposeB)");
  std::string inRegisters =
      macro(columns, "a in registers, which has only one layout.",
            "{" + operand(0) + ", " + operand(1) + ", " + operand(2) + ", " + operand(3) + "}, " +
                operand(4) + ", add, 1, 1, " + operand(6),
            count + 5,
            "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(b), \"r\"(add), "
            "\"n\"(kTransposeB)");
  return "// wgmma.mma_async.m64n" + n +
         "k16: c = a b, or c += a b where `add`, for 64 x 16 a and 16 x " + n +
         " b. PTX ISA,\n// \"Asynchronous Warpgroup Level Matrix Multiply-Accumulate\". Generated "
         "for " +
         n +
         " columns by\n// compiler/device/wgmma_header.cpp; wgmma.cuh has the products of whole "
         "tiles.\n#pragma once\n#include \"attnc/fragment.cuh\"\n\nnamespace attnc {\n\n" +
         shared + function(columns, "u64 a") + "\n" + inRegisters +
         function(columns, "const u32 (&a)[4]") + "\n} // namespace attnc\n";
}

std::map<std::string, std::string> headersFor(const std::string &source) {
  std::map<std::string, std::string> headers;
  for (auto [name, text] : files())
    headers["attnc/" + std::string(name)] = std::string(text);
  static const std::regex kInclude("\"(attnc/wgmma_n([0-9]+)\\.cuh)\"");
  for (std::sregex_iterator it(source.begin(), source.end(), kInclude), end; it != end; ++it)
    headers[(*it)[1]] = wgmmaHeader(std::stoi((*it)[2]));
  return headers;
}

} // namespace attnc::device
