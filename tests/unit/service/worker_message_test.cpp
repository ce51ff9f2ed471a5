// Messages between the service and its workers, whatever comes through the socket.
#include "tools/attncd/workers/worker_message.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace attnc::service;
using Received = MessageSocket::Received;

namespace {

class WorkerMessage : public testing::Test {
protected:
  WorkerMessage() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0); }

  static MessageSocket::Clock::time_point soon() {
    return MessageSocket::Clock::now() + std::chrono::milliseconds(100);
  }
  /// What these bytes are to who receives them.
  Received receivedOf(const std::string &bytes) {
    MessageSocket socket(ends[0], 1000);
    EXPECT_EQ(::write(ends[1], bytes.data(), bytes.size()), ssize_t(bytes.size()));
    Message message;
    Received received = socket.receive(message, soon());
    ::close(ends[1]);
    return received;
  }

  int ends[2] = {-1, -1};
};

TEST_F(WorkerMessage, ComesAsItWasSent) {
  MessageSocket service(ends[0], 10 << 20), worker(ends[1], 10 << 20);
  Message job;
  job.kind = Message::Kind::Job;
  job.header = {{"seconds", 1.5}};
  job.body = std::string(5 << 20, '\0') + "\n\xff";
  std::jthread sender([&] { EXPECT_TRUE(service.send(job)); });
  Message received;
  ASSERT_EQ(worker.receive(received), Received::Message);
  EXPECT_EQ(received.kind, job.kind);
  EXPECT_EQ(received.header, job.header);
  EXPECT_EQ(received.body, job.body);
  EXPECT_EQ(worker.receive(received, soon()), Received::Nothing);
}

TEST_F(WorkerMessage, ThatNobodyTakesIsGivenUpInTime) {
  MessageSocket service(ends[0], 1000);
  Message job;
  job.body = std::string(5 << 20, 'x');
  EXPECT_FALSE(service.send(job, soon()));
  ::close(ends[1]);
  EXPECT_FALSE(service.send(job)) << "and nobody is there any more";
}

TEST_F(WorkerMessage, ThatIsNoneEndsTheConnection) {
  EXPECT_EQ(receivedOf("HTTP/1.1 400 Bad Request"), Received::Closed);
}
TEST_F(WorkerMessage, ThatIsTooLongEndsTheConnection) {
  EXPECT_EQ(receivedOf(std::string("\xe9\x03\0\0", 4)), Received::Closed); // 1001
}
TEST_F(WorkerMessage, ThatIsNotWholeIsWaitedFor) {
  EXPECT_EQ(receivedOf(std::string("\xe8\x03\0\0J{", 6)), Received::Nothing); // 1000
}
TEST_F(WorkerMessage, WithoutAnObjectEndsTheConnection) {
  EXPECT_EQ(receivedOf(std::string("\x04\0\0\0J[]\n", 8)), Received::Closed);
}
TEST_F(WorkerMessage, WithoutALineEndsTheConnection) {
  EXPECT_EQ(receivedOf(std::string("\x01\0\0\0J", 5)), Received::Closed);
}
TEST_F(WorkerMessage, OfNoLengthEndsTheConnection) {
  EXPECT_EQ(receivedOf(std::string("\0\0\0\0", 4)), Received::Closed);
}

} // namespace
