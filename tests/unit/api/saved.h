// Programs as the bytes of their files.
#ifndef ATTNC_TESTS_UNIT_API_SAVED_H
#define ATTNC_TESTS_UNIT_API_SAVED_H

#include "tests/unit/api/handles.h"

#include <cstdio>
#include <fstream>
#include <iterator>

namespace attnc::test {

inline std::string saved(const attnc_program *program) {
  std::string path = testing::TempDir() + "/attnc_api_test.program";
  EXPECT_EQ(said(attnc_program_save(program, path.c_str())), "");
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::remove(path.c_str());
  return bytes;
}

} // namespace attnc::test

#endif
