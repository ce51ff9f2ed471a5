#include "runtime/program/program.h"

#include "tests/unit/runtime/example_manifest.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace attnc;

namespace {

Program example() {
  return {exampleManifest(),
          {{ImageKind::Cubin, "main",
            std::string("\x7f"
                        "ELF\0\xff",
                        6)},
           {ImageKind::Ptx, "main", ".version 8.0"}},
          {{"example.cu", "__global__ void fold_f32() {}"}}};
}

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
  }
  return ~crc;
}

/// A program file of these sections.
std::string programOf(const std::string &sections) {
  auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int byte = 0; byte < bytes; ++byte)
      text += static_cast<char>(value >> (8 * byte));
    return text;
  };
  std::string checked = number(24 + sections.size(), 8) + sections;
  return "ATTNCPRG" + number(2, 4) + number(crc32c(checked), 4) + checked;
}

TEST(Program, RoundTripGivesTheSameBytes) {
  std::string bytes = *serializeProgram(example());
  Result<Program> read = deserializeProgram(bytes);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*serializeProgram(*read), bytes);
  EXPECT_EQ(read->findImage("main", ImageKind::Cubin)->bytes, example().images[0].bytes);
  EXPECT_EQ(read->findImage("main", ImageKind::Object), nullptr);
  EXPECT_EQ(read->sources[0].text, example().sources[0].text);
}

TEST(Program, EveryDamagedBitIsFound) {
  std::string bytes = *serializeProgram(example());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_FALSE(deserializeProgram(damaged)) << "byte " << at << " bit " << bit;
    }
}

TEST(Program, EveryTruncationAndExtensionIsFound) {
  std::string bytes = *serializeProgram(example());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(deserializeProgram(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(deserializeProgram(bytes + '\0'));
}

TEST(Program, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(deserializeProgram("\x7f"
                               "ELF, something else entirely")
                .error()
                .message,
            "not an attnc program: the file does not begin with ATTNCPRG");
  std::string bytes = *serializeProgram(example());
  std::string newer = bytes;
  newer[8] = 9;
  EXPECT_EQ(deserializeProgram(newer).error().message,
            "program format 9 is not 2, the one that this attnc reads");
  EXPECT_NE(
      deserializeProgram(bytes.substr(0, bytes.size() - 1)).error().message.find("its header says"),
      std::string::npos);
  std::string damaged = bytes;
  damaged.back() ^= 1;
  EXPECT_EQ(deserializeProgram(damaged).error().message,
            "the program file is damaged: its checksum does not match");
}

TEST(Program, EntryPointsShareImages) {
  Program program = example();
  program.entries.push_back({"backward", exampleManifest()});
  program.entries[0].manifest.name = "example_backward";
  program.build = "0123456789abcdef";
  program.processor = "x86_64 avx2";
  Result<Program> read = deserializeProgram(*serializeProgram(program));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->manifest.name, exampleManifest().name);
  ASSERT_EQ(read->entries.size(), 1u);
  EXPECT_EQ(read->entries[0].name, "backward");
  EXPECT_EQ(read->entries[0].manifest.name, "example_backward");
  EXPECT_EQ(read->images.size(), 2u);
  EXPECT_EQ(read->build, program.build);
  EXPECT_EQ(read->processor, program.processor);
}

TEST(Program, AnEntryPointIsNamedOnce) {
  Program program = example();
  program.entries.push_back({"forward", exampleManifest()});
  EXPECT_EQ(serializeProgram(program).error().message,
            "the program has two entry points 'forward'");
}

/// The bytes of a program with one more section at the end.
std::string withSection(std::string_view tag, char flags) {
  std::string body = serializeProgram(example())->substr(24);
  body += std::string(tag) + flags + std::string(3, '\0') + '\2' + std::string(7, '\0') + "hi";
  return programOf(body);
}

TEST(Program, ReadersPassOverSectionsThatTheyNeedNotKnow) {
  Result<Program> read = deserializeProgram(withSection("NEWS", 0));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*serializeProgram(*read), *serializeProgram(example()));
}

TEST(Program, SectionsThatMustBeKnownAreRefusedByName) {
  Result<Program> read = deserializeProgram(withSection("LOOP", 1));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "the program file has a section 'LOOP', which this attnc does not know");
  EXPECT_EQ(read.error().remedy, "use a newer attnc, or compile the spec again with this one");
}

TEST(Program, WhatCannotBeReadBackIsNotWritten) {
  Program program = example();
  program.images[0].name = program.images[1].name = "other";
  EXPECT_EQ(serializeProgram(program).error().message,
            "kernel fold: the program has no image 'main'");
  program = example();
  program.manifest.variants.clear();
  EXPECT_FALSE(serializeProgram(program));
}

TEST(Program, SaveAndLoad) {
  auto path = std::filesystem::path(testing::TempDir()) / "attnc_program_test.attnc";
  Status saved = saveProgram(example(), path);
  ASSERT_TRUE(saved) << saved.error().message;
  Result<Program> loaded = loadProgram(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*serializeProgram(*loaded), *serializeProgram(example()));
  std::ofstream(path, std::ios::binary) << "text";
  EXPECT_EQ(loadProgram(path).error().message.find(path.string() + ": not an attnc program"), 0u);
  std::filesystem::remove(path);
  EXPECT_EQ(loadProgram(path).error().kind, ErrorKind::Environment);
  EXPECT_EQ(saveProgram(example(), "/nonexistent/folder/x").error().kind, ErrorKind::Environment);
}

} // namespace
