#include "runtime/remote/breaker.h"

#include <gtest/gtest.h>

namespace attnc::remote {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Breaker, LeavesAServerAloneForAWhileThatDoubles) {
  Breaker breaker;
  Breaker::Clock::time_point now;
  EXPECT_TRUE(breaker.allows(now));
  for (int wait : {10, 20, 40, 80, 160, 300, 300}) {
    breaker.failed(now, now);
    EXPECT_FALSE(breaker.allows(now + seconds(wait) - milliseconds(1))) << wait;
    now += seconds(wait);
    EXPECT_TRUE(breaker.allows(now)) << wait;
  }
  breaker.succeeded();
  EXPECT_TRUE(breaker.allows(now));
  breaker.failed(now, now);
  EXPECT_TRUE(breaker.allows(now + seconds(10))) << "the while begins anew";
}

TEST(Breaker, LetsOneTryAtATime) {
  Breaker breaker;
  Breaker::Clock::time_point now;
  breaker.failed(now, now);
  now += seconds(11);
  EXPECT_TRUE(breaker.allows(now));
  EXPECT_FALSE(breaker.allows(now));
  EXPECT_FALSE(breaker.allows(now + seconds(9)));
}

TEST(Breaker, CountsCallsThatFailTogetherOnce) {
  Breaker breaker;
  Breaker::Clock::time_point began;
  for (int call = 0; call < 100; ++call)
    breaker.failed(began, began + milliseconds(100 + call));
  EXPECT_FALSE(breaker.allows(began + seconds(10)));
  EXPECT_TRUE(breaker.allows(began + seconds(10) + milliseconds(100)));
}

} // namespace
} // namespace attnc::remote
