// Specs of the library, put together by SpecBuilder: the same IR as that of their files.
#include "tests/unit/cpp/specs.h"

#include <regex>

using namespace attnc;

namespace {

/// The IR of a spec without `attn.reference`, for which SpecBuilder has no function.
std::string irOf(const Spec &spec) {
  Options options{"cpu"};
  options.keepTexts = true;
  Result<Program> program = compile(spec, options);
  EXPECT_TRUE(program) << program.error().text();
  if (!program)
    return "";
  std::string ir(program->text(Text::Attn).value_or(""));
  return std::regex_replace(ir, std::regex(R"(attn\.reference = \{[^}]*\}(, )?)"), "");
}

void expectLibrarysIr(const std::string &name, const SpecBuilder &builder) {
  std::string own = irOf(builder.spec());
  EXPECT_NE(own.find("attn.program @" + name), std::string::npos);
  EXPECT_EQ(own, irOf(Spec::fromFile(ATTNC_SPEC_DIR "/" + name + ".json")));
}

/// What most variants share; `head` is the dim of the heads of keys.
SpecBuilder attention(const char *name, const char *doc, const std::string &head = "h") {
  return SpecBuilder(name)
      .doc(doc)
      .type("T", "bf16")
      .dim("d", 64)
      .dim("e", 64)
      .param("scale", "f32 > 0 = 1/sqrt(size(d))")
      .input("q", "T[b, h, i, d]")
      .input("k", "T[b, " + head + ", j, d]")
      .input("v", "T[b, " + head + ", j, e]");
}

TEST(SpecBuilderParity, Causal) {
  expectLibrarysIr("causal",
                   attention("causal", "Causal attention, the mask aligned at the top left: query "
                                       "i sees keys 0 to i; Vaswani et al. 2017, Attention Is All "
                                       "You Need")
                       .statement("s = sum(d, q[b,h,i,d] * k[b,h,j,d]) * scale")
                       .statement("p = softmax(j, where(j <= i, s, -inf))")
                       .statement("o[b,h,i,e] = sum(j, p * v[b,h,j,e])")
                       .output("o", "T"));
}

TEST(SpecBuilderParity, GroupedHeadsWithALetAndARequirement) {
  expectLibrarysIr("gqa", attention("gqa",
                                    "Grouped-query attention: g query heads share a key head; "
                                    "Ainslie et al. 2023, GQA",
                                    "hk")
                              .let("g", "size(h) // size(hk)")
                              .require("size(h) % size(hk) == 0")
                              .statement("s = sum(d, q[b,h,i,d] * k[b,h//g,j,d]) * scale")
                              .statement("p = softmax(j, s)")
                              .statement("o[b,h,i,e] = sum(j, p * v[b,h//g,j,e])")
                              .output("o", "T"));
}

TEST(SpecBuilderParity, SeveralOutputs) {
  expectLibrarysIr("lse", attention("lse", "Attention and the logarithm of its normaliser, as "
                                           "merges and backward passes need it; Dao et al. 2022, "
                                           "FlashAttention")
                              .statement("s = sum(d, q[b,h,i,d] * k[b,h,j,d]) * scale")
                              .statement("p = softmax(j, s)")
                              .statement("o[b,h,i,e] = sum(j, p * v[b,h,j,e])")
                              .statement("lse[b,h,i] = logsumexp(j, s)")
                              .output("o", "T")
                              .output("lse", "f32"));
}

TEST(SpecBuilderParity, AComputedDimAndATable) {
  expectLibrarysIr(
      "paged",
      SpecBuilder("paged")
          .doc("Attention over a paged KV cache: blocks of t keys, found through a table; Kwon et "
               "al. 2023, PagedAttention")
          .type("T", "bf16")
          .dim("d", 64)
          .dim("e", 64)
          .dim("t", 16)
          .dim("j", "size(w) * size(t)")
          .let("g", "size(h) // size(hk)")
          .require("size(h) % size(hk) == 0")
          .param("scale", "f32 > 0 = 1/sqrt(size(d))")
          .input("q", "T[b, h, i, d]")
          .input("kp", "T[n, t, hk, d]")
          .input("vp", "T[n, t, hk, e]")
          .input("table", "i32[b, w]")
          .statement("s = sum(d, q[b,h,i,d] * "
                     "kp[table[b, j//size(t)], j % size(t), h//g, d]) * scale")
          .statement("s = where(table[b, j//size(t)] >= 0, s, -inf)")
          .statement("p = softmax(j, s)")
          .statement("o[b,h,i,e] = sum(j, p * "
                     "vp[table[b, j//size(t)], j % size(t), h//g, e])")
          .output("o", "T"));
}

TEST(SpecBuilderParity, ARepeat) {
  expectLibrarysIr(
      "nystrom",
      SpecBuilder("nystrom")
          .doc("Attention through m landmarks, the means of segments of which the last takes the "
               "remainder, with six steps towards the pseudoinverse; Xiong et al. 2021, "
               "Nystromformer")
          .type("T", "f32")
          .dim("d", 64)
          .dim("e", 64)
          .dim("m", 32)
          .dim("n", "size(m)")
          .dim("x", "size(m)")
          .dim("y", "size(m)")
          .dim("r", "size(i) - lq * (size(m) - 1)")
          .dim("t", "size(j) - lk * (size(m) - 1)")
          .let("lq", "size(i) // size(m)")
          .let("lk", "size(j) // size(m)")
          .require("size(i) >= size(m)")
          .require("size(j) >= size(m)")
          .param("root", "f32 > 0 = 1/sqrt(sqrt(size(d)))")
          .input("q", "T[b, h, i, d]")
          .input("k", "T[b, h, j, d]")
          .input("v", "T[b, h, j, e]")
          .statement("nq = where(m == size(m) - 1, size(r), lq)")
          .statement("nk = where(n == size(m) - 1, size(t), lk)")
          .statement("ql[b,h,m,d] = sum(r, where(r < nq, q[b,h,m*lq+r,d] else 0, 0)) * root / nq")
          .statement("kl[b,h,n,d] = sum(t, where(t < nk, k[b,h,n*lk+t,d] else 0, 0)) * root / nk")
          .statement("f[b,h,i,n] = softmax(n, sum(d, q[b,h,i,d] * root * kl))")
          .statement("a[b,h,m,n] = softmax(n, sum(d, ql * kl))")
          .statement("g[b,h,m,j] = softmax(j, sum(d, ql * (k[b,h,j,d] * root)))")
          .statement("z[b,h,n,m] = a[b,h,m,n] / (max(n, sum(m, a)) * max(m, sum(n, a)))")
          .repeat(6, {"z"},
                  {"az[b,h,m,x] = sum(n, a[b,h,m,n] * z[b,h,n,x])",
                   "z7[b,h,m,x] = where(m == x, 7, 0) - az",
                   "z15[b,h,m,x] = where(m == x, 15, 0) - sum(y, az[b,h,m,y] * z7[b,h,y,x])",
                   "z13[b,h,m,x] = where(m == x, 13, 0) - sum(y, az[b,h,m,y] * z15[b,h,y,x])",
                   "z[b,h,n,m] = sum(x, z[b,h,n,x] * z13[b,h,x,m]) / 4"})
          .statement("gv[b,h,m,e] = sum(j, g * v[b,h,j,e])")
          .statement("zgv[b,h,n,e] = sum(m, z * gv)")
          .statement("o[b,h,i,e] = sum(n, f * zgv)")
          .output("o", "T"));
}

} // namespace
