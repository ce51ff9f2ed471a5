#include "tests/unit/api/saved.h"

using namespace attnc::test;

namespace {

int32_t originOf(const attnc_program *program) {
  attnc_timings timings = {};
  timings.struct_size = sizeof timings;
  EXPECT_EQ(said(attnc_program_timings(program, &timings)), "");
  return timings.origin;
}

TEST(ProgramFile, IsLoadedFromBytes) {
  Own<attnc_program> program = compile(scaleSpec, optionsFor("cpu"));
  std::string bytes = saved(program.get());
  attnc_program *read = nullptr;
  ASSERT_EQ(said(attnc_program_load_bytes(bytes.data(), bytes.size(), &read)), "");
  Own<attnc_program> loaded(read);
  EXPECT_EQ(originOf(loaded.get()), ATTNC_FROM_FILE);
  EXPECT_STREQ(attnc_program_name(loaded.get()), "scaled");
  EXPECT_STREQ(attnc_program_text(loaded.get(), ATTNC_TEXT_MANIFEST, 0, nullptr),
               attnc_program_text(program.get(), ATTNC_TEXT_MANIFEST, 0, nullptr));
  EXPECT_EQ(saved(loaded.get()), bytes);
}

TEST(ProgramFile, OfWhichAnyByteIsCutOffIsAnError) {
  std::string bytes = saved(compile(scaleSpec, optionsFor("cpu")).get());
  attnc_program *read = nullptr;
  for (size_t length = 0; length < bytes.size(); length += 97) {
    EXPECT_EQ(said(attnc_program_load_bytes(bytes.data(), length, &read)).front(), '1') << length;
    EXPECT_EQ(read, nullptr);
  }
  EXPECT_EQ(said(attnc_program_load_bytes(nullptr, 0, &read)),
            "1: the bytes of the program are NULL");
  EXPECT_EQ(said(attnc_program_load("/nowhere/x.program", &read)).front(), '3');
}

TEST(ProgramFile, ThatCannotBeWrittenIsAnError) {
  Own<attnc_program> program = compile(scaleSpec, optionsFor("cpu"));
  EXPECT_EQ(said(attnc_program_save(program.get(), "/nowhere/x.program")).front(), '3');
  EXPECT_EQ(said(attnc_program_save(program.get(), nullptr)),
            "1: the path of the program file is NULL");
}

TEST(WarmUp, IsNothingForTheProcessor) {
  Own<attnc_program> program = compile(scaleSpec, optionsFor("cpu"));
  EXPECT_EQ(said(attnc_program_warm_up(program.get())), "");
  EXPECT_EQ(said(attnc_warm_up(load(program.get()).get())), "");
}

TEST(Cache, IsReadAndWrittenUnlessToldOtherwise) {
  attnc_compile_options options = optionsFor("cpu");
  compile(tableSpec, options);
  EXPECT_EQ(originOf(compile(tableSpec, options).get()), ATTNC_FROM_DISK);
  options.no_cache = 1;
  EXPECT_EQ(originOf(compile(tableSpec, options).get()), ATTNC_FROM_COMPILER);
}

} // namespace
