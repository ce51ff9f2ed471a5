#include "tests/e2e/kernels/ptx_counts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace attnc::e2e {
namespace {

using llvm::StringRef;

// The classes of instructions: names that begin with `prefix` and contain `part`. The first one
// counts.
struct InstructionClass {
  StringRef name, prefix, part;
};

constexpr InstructionClass kClasses[] = {
    {"wgmma.mma_async", "wgmma.mma_async", ""},
    {"wgmma.fence", "wgmma.fence", ""},
    {"wgmma.commit", "wgmma.commit_group", ""},
    {"wgmma.wait", "wgmma.wait_group", ""},
    {"mma.sync", "mma.sync", ""},
    {"ldmatrix", "ldmatrix", ""},
    {"stmatrix", "stmatrix", ""},
    {"cp.async.bulk.commit", "cp.async.bulk.commit_group", ""},
    {"cp.async.bulk.wait", "cp.async.bulk.wait_group", ""},
    {"cp.async.bulk.store", "cp.async.bulk.", ".global.shared::cta"},
    {"cp.async.bulk.load", "cp.async.bulk.", ""},
    {"cp.async.commit", "cp.async.commit_group", ""},
    {"cp.async.wait", "cp.async.wait_", ""},
    {"cp.async", "cp.async.", ""},
    {"mbarrier", "mbarrier.", ""},
    {"bar", "bar.", ""},
    {"bar", "barrier.", ""},
    {"fence", "fence.", ""},
    {"setmaxnreg", "setmaxnreg.", ""},
    {"shfl", "shfl.", ""},
    {"vote", "vote.", ""},
    {"ex2", "ex2.", ""},
    {"lg2", "lg2.", ""},
    {"tanh", "tanh.", ""},
    {"rcp", "rcp.", ""},
    {"div.f32", "div.", ".f32"},
    {"sqrt", "sqrt.", ""},
    {"rsqrt", "rsqrt.", ""},
    {"fma.f32", "fma.", ".f32"},
    {"mul.f32", "mul.", "f32"},
    {"add.f32", "add.", "f32"},
    {"add.f32", "sub.", "f32"},
    {"max.f32", "max.", "f32"},
    {"min.f32", "min.", "f32"},
    {"select.f32", "selp.", "f32"},
    {"convert", "cvt.", "f32"},
    {"ld.global", "ld.global", ""},
    {"st.global", "st.global", ""},
    {"ld.shared", "ld.shared", ""},
    {"st.shared", "st.shared", ""},
    {"ld.local", "ld.local", ""},
    {"st.local", "st.local", ""},
};

std::string withoutComments(StringRef text) {
  std::string code;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    code += line.split("//").first.str() + "\n";
    text = rest;
  }
  return code;
}

// Removes what stands before an instruction: the heading of the kernel, braces of blocks, labels,
// a guard.
StringRef instructionOf(StringRef statement) {
  while (true) {
    statement = statement.ltrim();
    StringRef word = statement.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '%'; });
    if (statement.starts_with("{") || statement.starts_with("}"))
      statement = statement.drop_front();
    else if (!word.empty() && statement.drop_front(word.size()).starts_with(":"))
      statement = statement.drop_front(word.size() + 1);
    else if (statement.starts_with("@"))
      statement = statement.drop_until(llvm::isSpace);
    else
      return statement.take_until(llvm::isSpace);
  }
}

StringRef classOf(StringRef name) {
  for (const InstructionClass &c : kClasses)
    if (name.starts_with(c.prefix) && name.contains(c.part))
      return c.name;
  return "";
}

} // namespace

std::map<std::string, int> countInstructions(std::string_view ptx) {
  std::string code = withoutComments(ptx);
  std::map<std::string, int> counts;
  StringRef rest = code;
  while (!rest.empty()) {
    auto [statement, after] = rest.split(';');
    rest = after;
    StringRef name = instructionOf(statement);
    if (name.empty() || name.starts_with("."))
      continue; // a directive
    ++counts["total"];
    if (StringRef known = classOf(name); !known.empty())
      ++counts[known.str()];
  }
  return counts;
}

std::string ptxCompiler(std::string_view ptx) {
  auto [before, after] = StringRef(ptx).split("Cuda compilation tools, release ");
  return after.split('\n').first.trim().str();
}

} // namespace attnc::e2e
