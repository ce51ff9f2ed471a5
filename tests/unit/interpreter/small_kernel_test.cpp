// Ops that no attention kernel above uses, each in a kernel of a few lines.
#include "compiler/driver/compile.h"
#include "compiler/interpreter/interpreter.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

namespace attnc::interpreter {
namespace {

/// Runs a kernel of one f32 result `o`, which every order must find as `expected`, and a counter
/// `n`, which is 0 before and after.
class SmallKernel : public testing::Test {
protected:
  /// What each order says; "" where it finds the expected result.
  std::vector<std::string> run(const std::string &body, const std::string &head,
                               int64_t blocks = 1) {
    std::string text = "tile.kernel @small(\"o\" = %o: !tile.ptr<f32>, \"map\" = %map: "
                       "!tile.tensor_map<[32, 64, 1], f32>, \"n\" = %n: !tile.ptr<i32>) grid [1] " +
                       head + " {\n" + body + "\n}";
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return {"the kernel is not valid: " + text};
    auto kernel = *module->getOps<tile::KernelOp>().begin();
    auto compiled = KernelInterpreter::compile(kernel, text);
    if (!compiled)
      return {llvm::toString(compiled.takeError())};
    std::vector<std::string> said;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      std::vector<float> o(expected.size(), -1);
      int32_t counter = 0;
      Launch launch;
      launch.blocks = blocks;
      launch.args = {static_cast<void *>(o.data()),
                     TensorMapArg{o.data(), DType::F32, {32, 64, 1}, {128, 128 * 64}, {32, 64, 1}},
                     static_cast<void *>(&counter)};
      launch.memory = {{"o", reinterpret_cast<std::byte *>(o.data()), o.size() * 4, true},
                       {"n", reinterpret_cast<std::byte *>(&counter), sizeof(counter), true}};
      llvm::Error fault = compiled->run(launch, seed);
      said.push_back(fault           ? llvm::toString(std::move(fault))
                     : counter != 0  ? "the counter does not stand at 0 again"
                     : o == expected ? ""
                                     : "wrong result");
    }
    return said;
  }

  void SetUp() override { driver::loadDialects(context); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::vector<float> expected;
};

static std::string without(std::string text, const std::string &line) {
  size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.erase(at, line.size());
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

class Casts : public SmallKernel {
protected:
  /// Rounds f32 numbers, given as they are written in the IR, to `type` and stores them.
  std::vector<std::string> round(const std::string &type, const std::vector<std::string> &numbers) {
    std::string body;
    for (size_t i = 0; i < numbers.size(); ++i) {
      std::string n = std::to_string(i);
      body += "%x" + n + " = arith.constant " + numbers[i] + " : f32\n";
      body += "%h" + n + " = arith.truncf %x" + n + " : f32 to " + type + "\n";
      body += "%y" + n + " = arith.extf %h" + n + " : " + type + " to f32\n";
      body += "%i" + n + " = arith.constant " + n + " : i64\n";
      body += "tile.store %y" + n + ", %o[%i" + n + "] : f32 -> !tile.ptr<f32>\n";
    }
    return run(body, "threads 32 smem 0");
  }
};

TEST_F(Casts, toF16RoundToNearestEven) {
  // 1 + 2^-11 lies in the middle of two numbers, so does 1 + 3 * 2^-11; 65520 rounds to infinity,
  // 2^-25 to 0 and 1.5 * 2^-24 to 2^-23.
  expected = {1.0f, 1.0f + 0x1p-9f, 65504, INFINITY, -INFINITY, 0, 0x1p-23f};
  EXPECT_THAT(round("f16", {"1.00048828125", "1.00146484375", "65519.0", "65520.0", "-1.0e10",
                            "0x33000000", "0x33C00000"}),
              Each(IsEmpty()));
}

TEST_F(Casts, toBf16RoundToNearestEven) {
  // 1 + 2^-8 lies in the middle, so does 1 + 3 * 2^-8. Subnormals are kept.
  expected = {1.0f, 1.0f + 0x1p-6f, 65536, 0x1p-130f};
  EXPECT_THAT(round("bf16", {"1.00390625", "1.01171875", "65520.0", "0x00080000"}),
              Each(IsEmpty()));
}

//===----------------------------------------------------------------------===//
// Bits of words
//===----------------------------------------------------------------------===//

class FirstBit : public SmallKernel {
protected:
  std::vector<std::string> runOf(const std::string &word) {
    return run("%word = arith.constant " + word + R"( : i32
      %bit = tile.first_bit %word
      %x = arith.sitofp %bit : i32 to f32
      %zero = arith.constant 0 : i64
      tile.store %x, %o[%zero] : f32 -> !tile.ptr<f32>)",
               "threads 32 smem 0");
  }
};

TEST_F(FirstBit, isTheLowestThatIsSet) {
  for (auto [word, bit] : {std::pair{"1", 0}, {"40", 3}, {"-2147483648", 31}, {"-1", 0}}) {
    expected = {float(bit)};
    EXPECT_THAT(runOf(word), Each(IsEmpty())) << word;
  }
}

// The GPU's instruction says -1 of it: no kernel may ask.
TEST_F(FirstBit, ofNoneIsAFault) {
  expected = {-1};
  EXPECT_THAT(runOf("0"), Each(HasSubstr("finds no bit that is set")));
}

//===----------------------------------------------------------------------===//
// Clusters that the blocks of a launch do not fill
//===----------------------------------------------------------------------===//

class Clusters : public SmallKernel {
protected:
  // Each block stores its number.
  const std::string body = R"(
    %block = tile.block
    %at = arith.extsi %block : i32 to i64
    %x = arith.sitofp %block : i32 to f32
    tile.store %x, %o[%at] : f32 -> !tile.ptr<f32>)";

  std::vector<std::string> runBlocks(int64_t blocks, int64_t cluster) {
    for (int64_t block = 0; block < blocks; ++block)
      expected.push_back(float(block));
    return run(body,
               "threads 32 smem 0 attributes {cluster = " + std::to_string(cluster) + " : i64}",
               blocks);
  }
};

TEST_F(Clusters, thatAreFull) { EXPECT_THAT(runBlocks(4, 2), Each(IsEmpty())); }

TEST_F(Clusters, ofWhichTheLastIsNotFull) {
  EXPECT_THAT(runBlocks(3, 2), Each("3 blocks are no multiple of the kernel's cluster of 2"));
}

TEST_F(Clusters, largerThanTheLaunch) {
  EXPECT_THAT(runBlocks(1, 2), Each("1 blocks are no multiple of the kernel's cluster of 2"));
}

TEST_F(Clusters, ofNoBlocks) {
  EXPECT_THAT(runBlocks(2, 0), Each("2 blocks are no multiple of the kernel's cluster of 0"));
}

//===----------------------------------------------------------------------===//
// Tickets: each of three blocks stores 1 at the number that it draws.
//===----------------------------------------------------------------------===//

class Tickets : public SmallKernel {
protected:
  std::vector<std::string> runOf(int count) {
    expected.assign(3, 1);
    return run("%count = arith.constant " + std::to_string(count) + R"( : i32
      %zero = arith.constant 0 : i64
      %x = arith.constant 1.0 : f32
      tile.single {
        %drawn = tile.ticket %n[%zero] of %count : !tile.ptr<i32>
        %at = arith.extsi %drawn : i32 to i64
        tile.store %x, %o[%at] : f32 -> !tile.ptr<f32>
      })",
               "threads 64 smem 0", 3);
  }
};

TEST_F(Tickets, areDrawnOnce) { EXPECT_THAT(runOf(3), Each(IsEmpty())); }

TEST_F(Tickets, ofMoreBlocksThanThereAre) {
  EXPECT_THAT(runOf(4), Each("the counter does not stand at 0 again"));
}

TEST_F(Tickets, ofFewerBlocksThanThereAre) {
  // The third block draws the first number of the next count.
  EXPECT_THAT(runOf(2), Each("the counter does not stand at 0 again"));
}

//===----------------------------------------------------------------------===//
// Numbers that one role hands to another: a block draws 1 to 5 elements of o and adds 1 to each.
//===----------------------------------------------------------------------===//

class Handed : public SmallKernel {
protected:
  const std::string acquire = "tile.acquire %queue[%turn] : !tile.pipe<2, <1, 1, i32>>\n";
  const std::string put = "tile.put %queue[%turn], %next : !tile.pipe<2, <1, 1, i32>>\n";
  const std::string await = "tile.await %queue[%turn] : !tile.pipe<2, <1, 1, i32>>\n";
  const std::string take = "%next = tile.take %queue[%turn] : !tile.pipe<2, <1, 1, i32>>\n";
  const std::string release = "tile.release %queue[%turn] : !tile.pipe<2, <1, 1, i32>>\n";

  /// Two blocks with five pieces of work: each takes the one of its number, then draws.
  std::vector<std::string> runWith(const std::string &producer, const std::string &consumer) {
    expected.assign(5, 0); // each is -1 before
    return run(R"(
      %works = arith.constant 5 : i32
      %zero = arith.constant 0 : i64
      %none = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %x = arith.constant 1.0 : f32
      %queue = tile.pipe at 0 barriers 64 users 4 writers 1 : <2, <1, 1, i32>>
      tile.start_pipes %queue : !tile.pipe<2, <1, 1, i32>>
      tile.role "draw" warps 0 count 4 registers 24 {
        tile.single {
          %first = tile.block
          scf.while (%w = %first, %t = %none) : (i32, i32) -> (i32, i32) {
            %more = arith.cmpi slt, %w, %works : i32
            scf.condition(%more) %w, %t : i32, i32
          } do {
          ^bb0(%work: i32, %turn: i32):
            %blocks = tile.grid_size
            %ticket = tile.ticket %n[%zero] of %works relaxed : !tile.ptr<i32>
            %next = arith.addi %blocks, %ticket : i32
            )" + producer +
                   R"(
            %after = arith.addi %turn, %one : i32
            scf.yield %next, %after : i32, i32
          }
        }
      }
      tile.role "work" warps 4 count 4 registers 24 {
        %first = tile.block
        scf.while (%w = %first, %t = %none) : (i32, i32) -> (i32, i32) {
          %more = arith.cmpi slt, %w, %works : i32
          scf.condition(%more) %w, %t : i32, i32
        } do {
        ^bb0(%work: i32, %turn: i32):
          %at = arith.extsi %work : i32 to i64
          tile.single {
            %before = tile.load %o[%at] : !tile.ptr<f32> -> f32
            %sum = arith.addf %before, %x : f32
            tile.store %sum, %o[%at] : f32 -> !tile.ptr<f32>
          }
          )" + consumer +
                   R"(
          %after = arith.addi %turn, %one : i32
          scf.yield %next, %after : i32, i32
        }
      })",
               "threads 256 smem 96", 2);
  }
};

TEST_F(Handed, reachThemOnce) {
  EXPECT_THAT(runWith(acquire + put, await + take + release), Each(IsEmpty()));
}

TEST_F(Handed, intoASlotThatIsNotFree) {
  EXPECT_THAT(runWith(put, await + take + release),
              Contains(HasSubstr("tile.put %queue[%turn], %next : !tile.pipe<2, <1, 1, i32>>`")));
}

TEST_F(Handed, beforeTheyAreThere) {
  EXPECT_THAT(runWith(acquire + put, take + release),
              Each(AnyOf(HasSubstr("that nothing has written"),
                         HasSubstr("with no barrier or release between the two"))));
}

TEST_F(Handed, andNeverReleased) {
  EXPECT_THAT(runWith(acquire + put, await + take), Each(HasSubstr("deadlock")));
}

TEST_F(Handed, andReleasedBeforeTheyAreTaken) {
  EXPECT_THAT(runWith(acquire + put, await + release + take),
              Contains(HasSubstr("with no barrier or release between the two")));
}

//===----------------------------------------------------------------------===//
// Accesses to global memory by several elements at a time, from element `at` on
//===----------------------------------------------------------------------===//

class Alignment : public SmallKernel {
protected:
  static constexpr size_t kElements = 300;

  void SetUp() override {
    SmallKernel::SetUp();
    expected.assign(kElements, -1); // as they are before
  }
  std::vector<std::string> runAt(const std::string &ops, int at) {
    return run(R"(
      %c0 = arith.constant 0 : i32
      %c16 = arith.constant 16 : i32
      %stride = arith.constant 16 : i64
      %tile = tile.shared at 0 : !tile.shared<16, 16, f32>
      %row = tile.shared at 1024 : !tile.shared<1, 16, f32>
      %at = arith.constant )" +
                   std::to_string(at) + " : i64\n" + ops,
               "threads 32 smem 1088");
  }
  /// Every order finds that `op` moves `how`, and no other fault.
  static auto misaligned(const std::string &op, const std::string &how) {
    return Each(AllOf(HasSubstr("`" + op), HasSubstr(how + " of 'o', address 0x"),
                      HasSubstr(": no multiple of 16")));
  }

  const std::string copy = R"(
    tile.copy %o[%at] stride %stride rows %c16 to %tile vector 16 : !tile.ptr<f32> -> !tile.shared<16, 16, f32>
    tile.commit
    tile.wait 0)";
  const std::string add = R"(
    %x = tile.registers all 3.0 : !tile.rows<16>
    tile.write_vector %x to %row[%c0] : !tile.rows<16>, !tile.shared<1, 16, f32>
    tile.publish
    tile.barrier
    tile.single {
      tile.add_bulk %row to %o[%at] : !tile.shared<1, 16, f32> -> !tile.ptr<f32>
      tile.store_commit
      tile.store_wait 0
    })";
  const std::string save = R"(
    %x = tile.registers all 3.0 : !tile.fragment<16, 16>
    tile.save %x to %o[%at] : !tile.fragment<16, 16>, !tile.ptr<f32>)";
  const std::string store = R"(
    %x = tile.registers all 3.0 : !tile.fragment<16, 16>
    tile.store_fragment_rows %x from %c0 to %c16, %o[%at] stride %stride : !tile.fragment<16, 16> -> !tile.ptr<f32>)";
};

// The columns of a block may lie behind those of a narrow result.
TEST_F(Alignment, ofNoColumnsBehindTheEnd) {
  std::string none = store;
  none.insert(none.rfind(" : "), " cols %c0");
  EXPECT_THAT(runAt(none, kElements + 4), Each(IsEmpty()));
}

TEST_F(Alignment, ofACopy) {
  EXPECT_THAT(runAt(copy, 4), Each(IsEmpty()));
  EXPECT_THAT(runAt(copy, 2), misaligned("tile.copy", "reads 16 bytes at byte 8"));
}

TEST_F(Alignment, ofACopyOfPairs) {
  std::string pairs = copy;
  pairs.replace(pairs.find("vector 16"), 9, "vector 8");
  EXPECT_THAT(runAt(pairs, 2), Each(IsEmpty()));
  EXPECT_THAT(runAt(pairs, 1), Each(HasSubstr(": no multiple of 8")));
}

TEST_F(Alignment, ofABulkAddition) {
  std::fill_n(expected.begin() + 4, 16, 2.0f);
  EXPECT_THAT(runAt(add, 4), Each(IsEmpty()));
  EXPECT_THAT(runAt(add, 1), misaligned("tile.add_bulk", "writes 64 bytes at byte 4"));
}

TEST_F(Alignment, ofAFragmentInTheOrderOfLanes) {
  std::fill_n(expected.begin() + 4, 256, 3.0f);
  EXPECT_THAT(runAt(save, 4), Each(IsEmpty()));
  EXPECT_THAT(runAt(save, 6), misaligned("tile.save", "writes 1024 bytes at byte 24"));
}

TEST_F(Alignment, ofRowsOfAFragment) {
  std::fill_n(expected.begin() + 4, 256, 3.0f);
  EXPECT_THAT(runAt(store, 4), Each(IsEmpty()));
  EXPECT_THAT(runAt(store, 3),
              misaligned("tile.store_fragment_rows", "writes 64 bytes at byte 12"));
}

//===----------------------------------------------------------------------===//
// A result that leaves through shared memory: 64 rows of 32 elements, 2 row.
//===----------------------------------------------------------------------===//

class BulkStore : public SmallKernel {
protected:
  const std::string head = "threads 128 smem 8192";
  const std::string body = R"(
    %c0 = arith.constant 0 : i32
    %c2 = arith.constant 2.0 : f32
    %c16 = arith.constant 16 : i32
    %warp = tile.warp
    %row = arith.muli %warp, %c16 : i32
    %x = tile.registers : !tile.fragment<16, 32>
    tile.map rows(%row as %i) cols(%c0 as %j) ins() outs(%x : !tile.fragment<16, 32>) {
      %real = arith.sitofp %i : i32 to f32
      %y = arith.mulf %real, %c2 : f32
      tile.yield %y : f32
    }
    %tile = tile.shared at 0 : !tile.shared<64, 32, f32, panels 64>
    %strip = tile.strip %tile[%row] : !tile.shared<64, 32, f32, panels 64> -> <16, 32, f32, panels 64>
    tile.store_fragment %x to %strip : !tile.fragment<16, 32>, !tile.shared<16, 32, f32, panels 64>
    tile.publish
    tile.barrier
    tile.single {
      tile.store_box %tile to %map(%c0, %c0) : !tile.shared<64, 32, f32, panels 64> -> !tile.tensor_map<[32, 64, 1], f32>
      tile.store_commit
      tile.store_wait 0 read
    })";

  void SetUp() override {
    SmallKernel::SetUp();
    for (int i = 0; i < 64; ++i)
      expected.insert(expected.end(), 32, 2.0f * i);
  }
  std::vector<std::string> runBody(const std::string &text) { return run(text, head); }
};

TEST_F(BulkStore, isCorrect) { EXPECT_THAT(runBody(body), Each(IsEmpty())); }

TEST_F(BulkStore, ofWhatIsNotPublished) {
  EXPECT_THAT(runBody(without(body, "tile.publish\n")), Each(HasSubstr("with no tile.publish")));
}

TEST_F(BulkStore, beforeTheWritersHaveMet) {
  EXPECT_THAT(runBody(without(body, "tile.barrier\n")),
              Each(AnyOf(HasSubstr("with no barrier or release between the two"),
                         HasSubstr("that nothing has written"))));
}

TEST_F(BulkStore, thatTheBlockDoesNotWaitFor) {
  EXPECT_THAT(runBody(without(body, "tile.store_wait 0 read\n")),
              Each(HasSubstr("is not waited for (tile.store_wait)")));
}

TEST_F(BulkStore, ofATileThatIsWrittenAgain) {
  std::string again = body;
  again.insert(again.find("tile.store_wait"),
               "tile.store_fragment %x to %strip : !tile.fragment<16, 32>, "
               "!tile.shared<16, 32, f32, panels 64>\n");
  EXPECT_THAT(runBody(again),
              Each(HasSubstr("a store that this warp does not know to be complete")));
}

//===----------------------------------------------------------------------===//
// Barriers in shared memory: warp 0 writes a vector, warp 1 reads it and stores it.
//===----------------------------------------------------------------------===//

class Barriers : public SmallKernel {
protected:
  const std::string head = "threads 64 smem 128";
  const std::string body = R"(
    %c0 = arith.constant 0 : i32
    %c16 = arith.constant 16 : i32
    %base = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %barriers = tile.shared at 64 : !tile.mbarriers<1>
    %tile = tile.shared at 0 : !tile.shared<1, 16, f32>
    tile.single {
      tile.mbarrier_init %barriers arrivals 32 : !tile.mbarriers<1>
    }
    tile.barrier
    %warp = tile.warp
    %writes = arith.cmpi eq, %warp, %c0 : i32
    %x = tile.registers all 3.0 : !tile.rows<16>
    scf.if %writes {
      tile.write_vector %x to %tile[%c0] : !tile.rows<16>, !tile.shared<1, 16, f32>
      tile.mbarrier_arrive %barriers[%c0] : !tile.mbarriers<1>
    } else {
      tile.mbarrier_wait %barriers[%c0] parity %c0 : !tile.mbarriers<1>
      tile.read_vector %x from %tile[%c0] : !tile.rows<16>, !tile.shared<1, 16, f32>
      tile.store_rows %x from %c0 to %c16, %o[%base] stride %one : !tile.rows<16> -> !tile.ptr<f32>
    })";

  void SetUp() override {
    SmallKernel::SetUp();
    expected.assign(16, 3.0f);
  }
};

TEST_F(Barriers, passWhatWasWrittenBefore) { EXPECT_THAT(run(body, head), Each(IsEmpty())); }

TEST_F(Barriers, thatNobodyWaitsAt) {
  EXPECT_THAT(
      run(without(body, "tile.mbarrier_wait %barriers[%c0] parity %c0 : !tile.mbarriers<1>\n"),
          head),
      Each(AnyOf(HasSubstr("with no barrier or release between the two"),
                 HasSubstr("that nothing has written"))));
}

TEST_F(Barriers, thatNobodyArrivesAt) {
  EXPECT_THAT(
      run(without(body, "tile.mbarrier_arrive %barriers[%c0] : !tile.mbarriers<1>\n"), head),
      Each(AllOf(HasSubstr("deadlock"), HasSubstr("32 of 32 arrivals"))));
}

TEST_F(Barriers, thatAreNotStarted) {
  EXPECT_THAT(
      run(without(body, "tile.mbarrier_init %barriers arrivals 32 : !tile.mbarriers<1>\n"), head),
      Each(HasSubstr("uses a barrier that has not been started")));
}

TEST_F(Barriers, ofAPhaseTooEarly) {
  std::string early = "%odd = arith.constant 1 : i32" + body;
  early.replace(early.find("parity %c0"), 10, "parity %odd");
  // Before warp 0 arrives the wait passes at once, afterwards it never does.
  EXPECT_THAT(run(early, head),
              Each(AnyOf(HasSubstr("with no barrier or release between the two"),
                         HasSubstr("that nothing has written"), HasSubstr("deadlock"))));
}

/// A tile whose rows lie where `first` and `second` say, the coordinates of row %row in a map whose
/// boxes have 64 rows along the first.
class Runs : public SmallKernel {
protected:
  std::vector<std::string> runWith(const std::string &first, const std::string &second) {
    expected.assign(64 * 32, -1);
    return run(R"(
      %none = arith.constant 0 : i32
      %two = arith.constant 2 : i32
      %columns = arith.constant 32 : i64
      %there = arith.constant true
      %pipe = tile.pipe at 0 barriers 8192 users 4 writers 4 copied : <1, <64, 32, f32, panels 64>>
      tile.start_pipes %pipe : !tile.pipe<1, <64, 32, f32, panels 64>>
      tile.role "load" warps 0 count 4 registers 24 {
        tile.acquire %pipe[%none] : !tile.pipe<1, <64, 32, f32, panels 64>>
        %tile = tile.stage %pipe[%none] : !tile.pipe<1, <64, 32, f32, panels 64>> -> <64, 32, f32, panels 64>
        tile.copy_rows %o rows %none to %tile vector 16 {run = 64 : i64} : <f32> -> <64, 32, f32, panels 64> {
        ^bb0(%row: i32):
          %wide = arith.extsi %row : i32 to i64
          %offset = arith.muli %wide, %columns : i64
          %twice = arith.muli %row, %two : i32
          tile.yield %offset, %there, %map, )" +
                   first + ", " + second +
                   R"( : i64, i1, !tile.tensor_map<[32, 64, 1], f32>, i32, i32
        }
        tile.complete %pipe[%none] : !tile.pipe<1, <64, 32, f32, panels 64>>
      }
      tile.role "compute" warps 4 count 4 registers 24 {
        tile.await %pipe[%none] : !tile.pipe<1, <64, 32, f32, panels 64>>
        tile.release %pipe[%none] : !tile.pipe<1, <64, 32, f32, panels 64>>
      })",
               "threads 256 smem 9216");
  }
};

TEST_F(Runs, growAlongTheirBox) { EXPECT_THAT(runWith("%row", "%none"), Each("")); }

TEST_F(Runs, thatGrowElsewhere) {
  auto fault = Each(HasSubstr("has a run whose rows do not lie behind each other"));
  EXPECT_THAT(runWith("%none", "%row"), fault);
  EXPECT_THAT(runWith("%row", "%row"), fault);
  EXPECT_THAT(runWith("%twice", "%none"), fault);
}

} // namespace
} // namespace attnc::interpreter
