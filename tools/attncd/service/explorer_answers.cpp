#include "tools/attncd/service/explorer_answers.h"

#include "tools/explorer/explorer.h"

namespace attnc::service {

namespace {

Answer answerOf(explorer::Reply reply) {
  Answer answer = jsonAnswer(std::move(reply.body));
  answer.status = reply.status;
  return answer;
}

} // namespace

ExplorerAnswers::ExplorerAnswers(int commands)
    : most(2 * commands), aboutBody(explorer::aboutText()), work(commands) {}

ExplorerAnswers::~ExplorerAnswers() { stop.request_stop(); }

Answer ExplorerAnswers::file(std::string_view path) {
  const explorer::PageFile *file = explorer::findPageFile(path);
  Answer answer = bytesAnswer(file->type, std::make_shared<const std::string>(file->text));
  answer.headers.insert(answer.headers.end(), {{"Content-Security-Policy", explorer::contentPolicy},
                                               {"X-Content-Type-Options", "nosniff"},
                                               {"Referrer-Policy", "no-referrer"}});
  return answer;
}

Answer ExplorerAnswers::about() const { return jsonAnswer(aboutBody); }

void ExplorerAnswers::run(std::string_view command, std::string_view body,
                          std::function<void(Answer)> answered) {
  Result<explorer::CommandRequest> request = explorer::readCommandRequest(command, body);
  if (!request)
    return answered(
        answerOf(explorer::refuse(400, request.error().message, request.error().remedy)));
  if (++accepted > most) {
    --accepted;
    return answered(answerOf(
        explorer::refuse(429, "as many commands run and wait as may", "try again in a moment")));
  }
  work.add([this, request = *std::move(request), answered = std::move(answered)] {
    explorer::Reply reply = explorer::runCommand(request, {}, stop.get_token());
    --accepted;
    answered(answerOf(std::move(reply)));
  });
}

} // namespace attnc::service
