// What the explorer of attncd is answered.
#ifndef ATTNC_TOOLS_ATTNCD_SERVICE_EXPLORER_ANSWERS_H
#define ATTNC_TOOLS_ATTNCD_SERVICE_EXPLORER_ANSWERS_H

#include "tools/attncd/service/answer.h"
#include "tools/attncd/service/work_queue.h"
#include "tools/explorer/run_command.h"

#include <atomic>
#include <functional>

namespace attnc::service {

/// The page, and the commands that it has run in processes of their own. Thread-safe.
class ExplorerAnswers {
public:
  /// As many commands run beside each other; as many again may wait.
  explicit ExplorerAnswers(int commands);
  /// Commands that run are ended, and answered.
  ~ExplorerAnswers();

  /// The file that `path` names; there is one.
  static Answer file(std::string_view path);
  Answer about() const;
  /// `answered` is called once, by any thread, perhaps before this returns.
  void run(std::string_view command, std::string_view body, std::function<void(Answer)> answered);

private:
  const int most;
  const std::string aboutBody;
  std::atomic<int> accepted = 0;
  std::stop_source stop;
  WorkQueue work; ///< last: what it runs uses the others
};

} // namespace attnc::service

#endif
