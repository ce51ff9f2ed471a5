// What a request is answered.
#ifndef ATTNC_TOOLS_ATTNCD_SERVICE_ANSWER_H
#define ATTNC_TOOLS_ATTNCD_SERVICE_ANSWER_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnc::service {

struct Answer {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  /// Never null. Answers to many may share one.
  std::shared_ptr<const std::string> body = std::make_shared<const std::string>();
  bool closes = false; ///< the connection, after it
  std::string from;    ///< for the log: where an entry came from, or why there is none
};

struct Refusal {
  std::string kind; ///< the word for programs: "not_found", "busy", ...
  std::string message;
  std::string remedy = {};
  std::string limit = {}; ///< the one that was crossed, if one was
};

/// {"error": {...}} as JSON. Bytes that are not UTF-8 are replaced.
Answer refuse(unsigned status, const Refusal &why);
/// The same with Retry-After.
Answer refuseForNow(unsigned status, const Refusal &why, int retrySeconds);

/// 413: a body may have as many bytes.
Answer tooLarge(std::uint64_t most);

Answer bytesAnswer(std::string_view type, std::shared_ptr<const std::string> bytes);
Answer jsonAnswer(std::string text);
Answer textAnswer(std::string text);
/// Without a body.
Answer emptyAnswer(unsigned status);

} // namespace attnc::service

#endif
