#include "tools/attncd/service/answer.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attnc::service {

Answer bytesAnswer(std::string_view type, std::shared_ptr<const std::string> bytes) {
  Answer answer;
  answer.headers.emplace_back("Content-Type", type);
  answer.body = std::move(bytes);
  return answer;
}

Answer jsonAnswer(std::string text) {
  return bytesAnswer("application/json", std::make_shared<const std::string>(std::move(text)));
}

Answer textAnswer(std::string text) {
  return bytesAnswer("text/plain; charset=utf-8",
                     std::make_shared<const std::string>(std::move(text)));
}

Answer emptyAnswer(unsigned status) {
  Answer answer;
  answer.status = status;
  return answer;
}

Answer refuse(unsigned status, const Refusal &why) {
  nlohmann::ordered_json error = {{"kind", why.kind}, {"message", why.message}};
  if (!why.remedy.empty())
    error["remedy"] = why.remedy;
  if (!why.limit.empty())
    error["limit"] = why.limit;
  using Json = nlohmann::ordered_json;
  Answer answer = jsonAnswer(
      Json{{"error", error}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  answer.status = status;
  answer.from = why.kind;
  return answer;
}

Answer refuseForNow(unsigned status, const Refusal &why, int retrySeconds) {
  Answer answer = refuse(status, why);
  answer.headers.emplace_back("Retry-After", std::to_string(retrySeconds));
  return answer;
}

Answer tooLarge(std::uint64_t most) {
  return refuse(413, {"too_large", fmt::format("the body may have {} bytes", most),
                      "--max-upload of attncd bounds entries"});
}

} // namespace attnc::service
