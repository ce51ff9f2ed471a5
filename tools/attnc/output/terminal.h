// Colours and progress, where a person is watching.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_TERMINAL_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_TERMINAL_H

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace attnc::cli {

enum class Style { Bold, Red, Green, Yellow, Dim };

/// Whether text for this stream may carry colours: it is a terminal, TERM is not "dumb", and
/// NO_COLOR is unset or empty (https://no-color.org).
bool colourOnStdout();
bool colourOnStderr();

bool stdoutIsTerminal();

/// `text` in a style if `colour`, else as it is.
std::string styled(std::string_view text, Style style, bool colour);

/// Writes results to stdout.
void print(std::string_view text);
void printJson(const nlohmann::ordered_json &json);

/// A remark for people, to stderr.
void note(std::string_view text);

/// A line on stderr that says what is being done, while the object lives; nothing where stderr is
/// no terminal.
class Progress {
public:
  explicit Progress(std::string_view text);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

private:
  bool shown;
};

/// A bar on stderr for work of known length, while the object lives; nothing where stderr is no
/// terminal.
class ProgressBar {
public:
  /// `steps` is at least 1.
  explicit ProgressBar(size_t steps);
  ~ProgressBar();
  ProgressBar(const ProgressBar &) = delete;
  ProgressBar &operator=(const ProgressBar &) = delete;

  /// `done` steps are done, and this is what comes now.
  void show(size_t done, std::string_view now) const;

private:
  size_t steps;
  bool shown;
};

/// The bar's line: "[#####...............]  3/12 stage". `width` is that of the bar alone.
std::string barText(size_t done, size_t steps, size_t width, std::string_view now);

} // namespace attnc::cli

#endif
