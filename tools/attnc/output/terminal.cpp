#include "tools/attnc/output/terminal.h"
#include "tools/attnc/output/failure.h"

#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace attnc::cli {

namespace {

bool set(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value;
}

bool takesColour(int descriptor) {
  const char *term = std::getenv("TERM");
  return isatty(descriptor) && !set("NO_COLOR") && !(term && std::strcmp(term, "dumb") == 0);
}

const char *codeOf(Style style) {
  switch (style) {
  case Style::Bold:
    return "1";
  case Style::Red:
    return "1;31";
  case Style::Green:
    return "32";
  case Style::Yellow:
    return "33";
  case Style::Dim:
    return "2";
  }
  return "0";
}

} // namespace

bool colourOnStdout() { return takesColour(STDOUT_FILENO); }
bool colourOnStderr() { return takesColour(STDERR_FILENO); }
bool stdoutIsTerminal() { return isatty(STDOUT_FILENO); }

std::string styled(std::string_view text, Style style, bool colour) {
  return colour ? fmt::format("\033[{}m{}\033[0m", codeOf(style), text) : std::string(text);
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout))
    throw Failure(Environment, fmt::format("stdout cannot be written: {}", std::strerror(errno)));
}

void printJson(const nlohmann::ordered_json &json) {
  print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void note(std::string_view text) {
  llvm::errs() << styled("note:", Style::Dim, colourOnStderr()) << ' ' << text << '\n';
}

Progress::Progress(std::string_view text) : shown(isatty(STDERR_FILENO)) {
  if (shown)
    llvm::errs() << text << " ...";
}

Progress::~Progress() {
  if (shown)
    llvm::errs() << "\r\033[K";
}

std::string barText(size_t done, size_t steps, size_t width, std::string_view now) {
  size_t filled = width * std::min(done, steps) / steps;
  std::string count = std::to_string(steps);
  return fmt::format("[{:#<{}}{:.<{}}] {:>{}}/{} {}", "", filled, "", width - filled, done,
                     count.size(), count, now);
}

ProgressBar::ProgressBar(size_t steps) : steps(steps), shown(isatty(STDERR_FILENO)) {}

ProgressBar::~ProgressBar() {
  if (shown)
    llvm::errs() << "\r\033[K";
}

void ProgressBar::show(size_t done, std::string_view now) const {
  if (shown)
    llvm::errs() << "\r\033[K" << barText(done, steps, 24, now);
}

} // namespace attnc::cli
