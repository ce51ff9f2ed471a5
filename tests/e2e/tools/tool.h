// The attnc binary as a user meets it: arguments in; exit code, stdout and stderr out.
#ifndef ATTNC_TESTS_E2E_TOOL_H
#define ATTNC_TESTS_E2E_TOOL_H

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attnc::e2e {

struct Ended {
  int exit; ///< -1 if a signal ended it
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// Runs a program and waits for it. `program` is looked up in PATH if it has no slash.
Ended runProgram(const std::string &program, const std::vector<std::string> &arguments,
                 const std::string &input = "");

/// Runs the attnc that was built with this test.
Ended attnc(const std::vector<std::string> &arguments, const std::string &input = "");

/// A folder that is removed with the object.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const std::string &name) const { return (path / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &text) const;
  std::filesystem::path path;
};

std::string readText(const std::filesystem::path &path);

} // namespace attnc::e2e

#endif
