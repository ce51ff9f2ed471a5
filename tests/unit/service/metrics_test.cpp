#include "tools/attncd/metrics.h"

#include <gmock/gmock.h>
#include <thread>

using namespace attnc::service;
using testing::HasSubstr;
using testing::Not;

namespace {

TEST(Metrics, RequestsAreCountedByRouteMethodAndStatus) {
  Metrics metrics("1.2", "abc");
  metrics.answered(Place::Program, Method::Get, 200, 0.0001);
  metrics.answered(Place::Program, Method::Get, 200, 0.3);
  metrics.answered(Place::Compile, Method::Post, 429, 0.001);
  metrics.answered(Place::Nowhere, Method::Other, 799, 0.001);
  std::string text = metrics.text({});
  EXPECT_THAT(text, HasSubstr("attncd_build_info{build=\"abc\",version=\"1.2\"} 1"));
  EXPECT_THAT(text,
              HasSubstr(R"(attncd_requests_total{method="GET",route="program",status="200"} 2)"));
  EXPECT_THAT(text,
              HasSubstr(R"(attncd_requests_total{method="POST",route="compile",status="429"} 1)"));
  EXPECT_THAT(text,
              HasSubstr(R"(attncd_requests_total{method="other",route="other",status="other"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(attncd_request_seconds_bucket{route="program",le="0.0002"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(attncd_request_seconds_count{route="program"} 2)"));
}

TEST(Metrics, ThreadsCountTheSameNumbers) {
  Metrics metrics("", "");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j)
        metrics.answered(Place::Image, Method::Head, 404, 0);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_THAT(metrics.text({}),
              HasSubstr(R"(attncd_requests_total{method="HEAD",route="image",status="404"} 4000)"));
}

TEST(Metrics, JobsAreCountedByKindsThatAreKnown) {
  Moment moment;
  moment.compiler.done = {{"compiler", 3}, {"remote", 1}};
  moment.compiler.failed = {{"limit", 2}, {"something\nnew", 4}, {"and another", 1}};
  moment.compiler.waiting = 7;
  std::string text = Metrics("", "").text(moment);
  EXPECT_THAT(text, HasSubstr("attncd_compile_jobs_total{result=\"compiler\"} 3"));
  EXPECT_THAT(text, HasSubstr("attncd_compile_jobs_total{result=\"disk\"} 0"));
  EXPECT_THAT(text, HasSubstr("attncd_compile_jobs_total{result=\"remote\"} 1"));
  EXPECT_THAT(text, HasSubstr("attncd_compile_jobs_total{result=\"limit\"} 2"));
  EXPECT_THAT(text, HasSubstr("attncd_compile_jobs_total{result=\"other\"} 5"));
  EXPECT_THAT(text, HasSubstr("attncd_compile_waiting 7"));
  EXPECT_THAT(text, Not(HasSubstr("something")));
}

} // namespace
