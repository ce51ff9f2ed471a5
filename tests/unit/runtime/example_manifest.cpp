#include "tests/unit/runtime/example_manifest.h"

namespace attnc {

Manifest exampleManifest() {
  auto size = [](const char *dim) { return Expr::size(dim); };
  Manifest manifest;
  manifest.name = "example";
  manifest.target = "sm_80";
  manifest.dims = {{"b", {}, 1},
                   {"h", {}, 1},
                   {"hk", {}, 1},
                   {"i", {}, 1},
                   {"j", {}, 0},
                   {"d", Expr::constant(4), 1},
                   {"t", Expr::apply(ExprOp::CeilDiv, {size("j"), Expr::constant(64)}), 0}};
  manifest.inputs = {{"q", DType::F32, {"b", "h", "i", "d"}, 0},
                     {"k", DType::F32, {"b", "hk", "j", "d"}, 16}};
  manifest.outputs = {{"o", DType::F32, {"b", "h", "i", "d"}, 0}};
  manifest.intermediates = {{"partial", DType::F32, {"t", "i", "d"}, 0},
                            {"flags", DType::U8, {"t"}, 0}};
  manifest.lets = {{"g", Expr::apply(ExprOp::FloorDiv, {size("h"), size("hk")})}};
  manifest.params = {
      {"scale", DType::F32, Expr::apply(ExprOp::Rsqrt, {size("d")}), Limit{0, true}, {}},
      {"window", DType::I32, Expr::constant(8), Limit{1, false}, Limit{100, false}}};
  manifest.requires_ = {{Expr::apply(ExprOp::Eq, {Expr::apply(ExprOp::Mod, {size("h"), size("hk")}),
                                                  Expr::constant(0)}),
                         "size(h) % size(hk) == 0"}};
  manifest.kernels = {
      {"fold", "main", "fold_f32", 128, Expr::constant(1024), KernelResources{40, 0, 0, 0, 512}},
      {"merge",
       "main",
       "merge_f32",
       64,
       Expr::apply(ExprOp::Mul, {size("i"), Expr::constant(4)}),
       {}}};

  LaunchDecl fold;
  fold.kernel = "fold";
  fold.grid = {Expr::apply(ExprOp::CeilDiv, {size("i"), Expr::constant(64)}), size("h"), size("b")};
  fold.args = {ArgDecl::pointer("q"),    ArgDecl::stride("k", 1),
               ArgDecl::size("j"),       ArgDecl::param("scale"),
               ArgDecl::param("window"), ArgDecl::value(Expr::let("g"), DType::I32),
               ArgDecl::pointer("o")};
  LaunchDecl split = fold;
  split.args.back() = ArgDecl::pointer("partial");
  LaunchDecl merge;
  merge.kernel = "merge";
  merge.grid = {size("t"), Expr::constant(1), Expr::constant(1)};
  merge.args = {ArgDecl::pointer("partial"), ArgDecl::stride("partial", 0),
                ArgDecl::pointer("flags"), ArgDecl::pointer("o")};
  manifest.variants = {{Expr::apply(ExprOp::Gt, {size("j"), Expr::constant(128)}), {split, merge}},
                       {{}, {fold}}};
  return manifest;
}

} // namespace attnc
