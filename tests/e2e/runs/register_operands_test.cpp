// Weights that wait in registers for the next turn of the loop over tiles, where products take them
// from. ptxas has given such registers to another value, without a note, at single sizes of tiles
// alone. So every size that a schedule can have is run and compared. Skipped without a GPU of
// compute capability 9.0.
#include "tests/e2e/variant.h"

namespace attnc::e2e {
namespace {

const Result<std::shared_ptr<const CudaDevice>> &gpu() {
  static const Result<std::shared_ptr<const CudaDevice>> opened = openGpu();
  return opened;
}

struct Sizes {
  Setting setting;
  int64_t groups;
  bool pingPong;

  std::string name() const {
    return setting.name() + "_groups" + std::to_string(groups) + (pingPong ? "_ping_pong" : "");
  }
  friend void PrintTo(const Sizes &sizes, std::ostream *os) { *os << sizes.name(); }
};

class GpuRegisterOperands : public testing::TestWithParam<Sizes> {};

TEST_P(GpuRegisterOperands, areWhatWasPutThereAtEverySizeOfTiles) {
  if (!gpu().ok())
    GTEST_SKIP() << gpu().error().text();
  if ((*gpu())->properties().major != 9)
    GTEST_SKIP() << "the form is for compute capability 9.0";
  LoadedSpec spec(GetParam().setting.spec, GetParam().setting.set);
  ASSERT_TRUE(spec);
  Extents extents = spec.extents({200, 1000}); // four tiles or more, and a part of one
  extents["b"] = extents["h"] = 1;
  std::vector<int64_t> fitting;
  for (int64_t tile = 16; tile <= 256; tile += 16) {
    SCOPED_TRACE("stream_tile " + std::to_string(tile));
    auto executor = makeExecutor(*spec, *gpu(),
                                 {{"form", "warpgroups"},
                                  {"groups", GetParam().groups},
                                  {"ping_pong", GetParam().pingPong},
                                  {"stream_tile", tile}});
    if (!executor.ok()) { // too large: refused, not tried
      EXPECT_EQ(executor.error().kind, ErrorKind::InvalidArgument) << executor.error().text();
      continue;
    }
    fitting.push_back(tile);
    expectCorrect(*spec, **executor, extents);
  }
  EXPECT_FALSE(fitting.empty());
}

// Beyond these no tile leaves each thread the registers that it needs.
int64_t mostGroups(const Setting &setting) {
  const std::string &dim = setting.set.at("d");
  if (setting.set.contains("T"))
    return dim == "64" ? 3 : 2;
  return dim == "192" || dim == "256" ? 2 : 4;
}

std::vector<Sizes> allSizes() {
  std::vector<Setting> settings;
  for (const char *dim : {"32", "64", "96", "128", "192", "256"})
    settings.push_back({"full", {{"d", dim}, {"e", dim}}});
  settings.push_back({"causal", {{"d", "128"}, {"e", "128"}}});
  for (const char *dim : {"64", "128"})
    settings.push_back({"full", {{"d", dim}, {"e", dim}, {"T", "f32"}}});
  std::vector<Sizes> all;
  for (const Setting &setting : settings)
    for (int64_t groups : {1, 2, 3, 4})
      for (bool pingPong : {false, true})
        // Of one group there is none to alternate with.
        if ((groups > 1 || !pingPong) && groups <= mostGroups(setting))
          all.push_back({setting, groups, pingPong});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Hopper, GpuRegisterOperands, testing::ValuesIn(allSizes()),
                         [](const auto &info) { return info.param.name(); });

} // namespace
} // namespace attnc::e2e
