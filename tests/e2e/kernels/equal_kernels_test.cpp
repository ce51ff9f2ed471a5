// Kernels that do the same under other names.
#include "compiler/driver/compile.h"
#include "compiler/driver/images/code_size.h"
#include "compiler/driver/images/equal_kernels.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

/// The kernels of a variant of the library as tile IR, by their names without the program's.
class LibraryKernels : public testing::Test {
protected:
  void load(const std::string &name, std::map<std::string, std::string> set) {
    LoadedSpec spec(name, std::move(set));
    ASSERT_TRUE(spec);
    driver::CompileOptions options;
    options.target = "sm_80";
    options.upTo = driver::Stage::Tile;
    Result<driver::Compilation> compilation = driver::compile(*spec, options);
    ASSERT_TRUE(compilation) << compilation.error().text();
    for (const driver::NestReport &nest : compilation->nests) {
      if (nest.tile.empty()) // with the first of its chain
        continue;
      auto module = mlir::parseSourceString<mlir::ModuleOp>(nest.tile, &context);
      ASSERT_TRUE(module);
      for (auto kernel : module->getOps<tile::KernelOp>())
        kernels[kernel.getSymName().drop_front(name.size() + 1).str()] = kernel;
      modules.push_back(std::move(module));
    }
  }
  std::string key(const std::string &name) { return driver::namelessKey(kernels.at(name)); }
  int64_t code(const std::string &name) { return driver::estimateCode(kernels.at(name)); }

  void SetUp() override { driver::loadDialects(context); }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  std::map<std::string, tile::KernelOp> kernels;
};

TEST_F(LibraryKernels, AreEqualIfOnlyNamesAndBlocksDiffer) {
  load("nystrom", {{"m", "32"}});
  EXPECT_FALSE(kernels.contains("z13_2")); // another turn of the iteration calls z13
  EXPECT_EQ(key("kl"), key("ql"));         // means of segments of keys, and of queries
  EXPECT_NE(key("z13"), key("z15"));       // another number in an equal formula
  EXPECT_NE(key("kl"), key("z13"));
}

// The order in which kernels are compiled side by side: tiles of products before rows of elements,
// wide ones before narrow ones.
TEST_F(LibraryKernels, AreLargerWithMoreCodeForEachThread) {
  load("nystrom", {{"d", "64"}, {"e", "64"}, {"m", "64"}});
  EXPECT_GT(code("gv"), code("kl"));
  EXPECT_GT(code("zgv"), code("kl"));
  EXPECT_GT(code("kl"), code("z"));
}

// Of the same tiles: scores and a product with them before one product.
TEST_F(LibraryKernels, AreLargerWithMoreProducts) {
  load("nystrom", {{"d", "64"}, {"e", "64"}, {"m", "16"}});
  EXPECT_GT(code("gv"), code("zgv"));
}

// The functions that a chain calls have names as well: which call is of which function counts.
TEST_F(LibraryKernels, ChainsAreEqualIfTheyCallInTheSameOrder) {
  auto keyOf = [&](const std::string &first, const std::string &second, const std::string &third) {
    std::string text;
    for (const char *name : {"a", "b"})
      text += "tile.kernel @" + std::string(name) +
              R"mlir(("n" = %n: i64) grid [1] threads 32 smem 0 attributes {chain = 0 : i64} {
                     })mlir"
              "\n";
    text += R"mlir(tile.kernel @chain("n" = %n: i64) grid [1] threads 32 smem 0 {)mlir"
            "\n";
    for (const std::string &callee : {first, second, third})
      text += "tile.call @" + callee + "(%n) : (i64) -> ()\n";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text + "}", &context);
    EXPECT_TRUE(module);
    std::string key;
    for (auto kernel : module->getOps<tile::KernelOp>())
      if (kernel.callsOthers())
        key = driver::namelessKey(kernel);
    return key;
  };
  EXPECT_EQ(keyOf("a", "b", "a"), keyOf("b", "a", "b"));
  EXPECT_NE(keyOf("a", "b", "a"), keyOf("a", "b", "b"));
  EXPECT_NE(keyOf("a", "b", "a"), keyOf("a", "a", "b"));
}

} // namespace
} // namespace attnc::e2e
