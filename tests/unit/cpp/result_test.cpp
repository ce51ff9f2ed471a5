#include "attnc/result.h"

#include <gtest/gtest.h>

using namespace attnc;

namespace {

TEST(ResultDeathTest, AValueThatIsNotThereEndsTheProgramWithTheError) {
  Result<int> failed = invalidArgument("no width", "name one");
  EXPECT_DEATH((void)*failed, "holds an error: no width\n  name one");
  const Result<std::string> text = environmentError("no GPU");
  EXPECT_DEATH((void)text->size(), "holds an error: no GPU");
}

TEST(ResultDeathTest, AnErrorThatIsNotThereEndsTheProgram) {
  EXPECT_DEATH((void)Result<int>(3).error(), "a Result that holds a value");
  EXPECT_DEATH((void)Status().error(), "a Status of success");
}

} // namespace
