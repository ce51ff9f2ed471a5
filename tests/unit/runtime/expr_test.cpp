#include "runtime/program/expr.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace attnc;

namespace {

Scope scope() {
  return {{{"i", 300}, {"j", 65}}, {{"g", Scalar(std::int64_t(4))}}, {{"scale", Scalar(0.25)}}};
}

/// The value as text, or "error: ...".
std::string run(const std::string &text) {
  Result<Expr> expr = parseExpr(Json::parse(text));
  if (!expr)
    return "parse error: " + expr.error().message;
  EXPECT_EQ(exprToJson(*expr).dump(), Json::parse(text).dump());
  Result<Scalar> value = evaluate(*expr, scope());
  return value ? toText(*value) : "error: " + value.error().message;
}

TEST(Expr, LeavesAndArithmetic) {
  EXPECT_EQ(run("7"), "7");
  EXPECT_EQ(run("0.5"), "0.5");
  EXPECT_EQ(run(R"(["ceildiv",["size","i"],64])"), "5");
  EXPECT_EQ(run(R"(["mul",["let","g"],["param","scale"]])"), "1");
  EXPECT_EQ(run(R"(["sub",["size","j"],["size","i"]])"), "-235");
  EXPECT_EQ(run(R"(["neg",["let","g"]])"), "-4");
  EXPECT_EQ(run(R"(["div",1,4])"), "0.25");
  EXPECT_EQ(run(R"(["rsqrt",64])"), "0.125");
  EXPECT_EQ(run(R"(["pow",3,4])"), "81");
  EXPECT_EQ(run(R"(["pow",2,-1])"), "0.5");
  EXPECT_EQ(run(R"(["pow",-1,1000000001])"), "-1");
  EXPECT_EQ(run(R"(["min",3,2.5])"), "2.5");
  EXPECT_EQ(run(R"(["exp",["log",1]])"), "1");
}

TEST(Expr, DivisionFloorsForEverySign) {
  for (std::int64_t a = -7; a <= 7; ++a)
    for (std::int64_t b : {-3, -1, 1, 3}) {
      auto apply = [&](ExprOp op) {
        return *evaluateInteger(Expr::apply(op, {Expr::constant(a), Expr::constant(b)}), {});
      };
      double quotient = static_cast<double>(a) / static_cast<double>(b);
      EXPECT_EQ(apply(ExprOp::FloorDiv), static_cast<std::int64_t>(std::floor(quotient)))
          << a << " " << b;
      EXPECT_EQ(apply(ExprOp::CeilDiv), static_cast<std::int64_t>(std::ceil(quotient)))
          << a << " " << b;
      EXPECT_EQ(apply(ExprOp::Mod), a - b * static_cast<std::int64_t>(std::floor(quotient)))
          << a << " " << b;
    }
}

TEST(Expr, ComparisonsAndLogic) {
  EXPECT_EQ(run(R"(["lt",1,2])"), "1");
  EXPECT_EQ(run(R"(["ge",1.5,2])"), "0");
  EXPECT_EQ(run(R"(["eq",["mod",["size","i"],2],0])"), "1");
  EXPECT_EQ(run(R"(["not",5])"), "0");
  EXPECT_EQ(run(R"(["or",0,2])"), "1");
  EXPECT_EQ(run(R"(["select",["ne",1,1],10,20])"), "20");
}

TEST(Expr, LogicEvaluatesOnlyWhatItNeeds) {
  EXPECT_EQ(run(R"(["and",0,["mod",1,0]])"), "0");
  EXPECT_EQ(run(R"(["or",1,["mod",1,0]])"), "1");
  EXPECT_EQ(run(R"(["select",1,5,["mod",1,0]])"), "5");
}

TEST(Expr, ErrorsOfEvaluation) {
  EXPECT_EQ(run(R"(["mod",5,0])"), "error: mod(5, 0) divides by zero");
  EXPECT_EQ(run(R"(["div",5,0.0])"), "error: div(5, 0) divides by zero");
  EXPECT_EQ(run(R"(["mul",4611686018427387904,2])"),
            "error: mul(4611686018427387904, 2) does not fit in 64 bits");
  EXPECT_EQ(run(R"(["neg",-9223372036854775808])"),
            "error: sub(0, -9223372036854775808) does not fit in 64 bits");
  EXPECT_EQ(run(R"(["floordiv",-9223372036854775808,-1])"),
            "error: floordiv(-9223372036854775808, -1) does not fit in 64 bits");
  EXPECT_EQ(run(R"(["mod",-9223372036854775808,-1])"), "0");
  EXPECT_EQ(run(R"(["pow",2,63])"), "error: pow(2, 63) does not fit in 64 bits");
  EXPECT_EQ(run(R"(["floordiv",1.5,2])"), "error: floordiv(1.5, 2) needs integers");
  EXPECT_EQ(run(R"(["sqrt",-1])"), "error: sqrt(-1) is not a real number");
  EXPECT_EQ(run(R"(["log",0])"), "error: log(0) is not a real number");
  EXPECT_EQ(run(R"(["size","z"])"), "error: size 'z' is unknown here");
  EXPECT_EQ(evaluateInteger(Expr::constant(0.5), {}).error().message,
            "expected an integer, found 0.5");
}

TEST(Expr, MultiprocessorsAreKnownWhereThereIsAGpu) {
  EXPECT_EQ(run(R"(["multiprocessors"])"), "error: the number of multiprocessors is unknown here");
  EXPECT_EQ(run(R"(["multiprocessors",1])"),
            R"(parse error: 'multiprocessors' takes 0 operands, not 1, in ["multiprocessors",1])");
  Expr grid = *parseExpr(Json::parse(R"(["min",["size","i"],["multiprocessors"]])"));
  Scope names = scope();
  EXPECT_EQ(checkExpr(grid, names).error().message,
            "the number of multiprocessors is unknown here");
  names.multiprocessors = 132;
  EXPECT_TRUE(checkExpr(grid, names));
  EXPECT_EQ(*evaluateInteger(grid, names), 132);
  names.sizes["i"] = 131;
  EXPECT_EQ(*evaluateInteger(grid, names), 131);
}

TEST(Expr, ErrorsOfParsing) {
  EXPECT_EQ(run(R"(["plus",1,2])"), R"(parse error: unknown operation 'plus' in ["plus",1,2])");
  EXPECT_EQ(run(R"(["add",1])"), R"(parse error: 'add' takes 2 operands, not 1, in ["add",1])");
  EXPECT_EQ(run(R"(["size",1])"), R"(parse error: 'size' takes one name, in ["size",1])");
  EXPECT_EQ(run(R"("i")"), R"(parse error: expected an expression, found "i")");
  EXPECT_EQ(run("[]"), "parse error: expected an expression, found []");
  EXPECT_EQ(run("9223372036854775808"),
            "parse error: integer 9223372036854775808 does not fit in 64 bits");
}

TEST(Expr, DeepNestingIsAnError) {
  std::string text = "1";
  for (int depth = 0; depth < 10000; ++depth)
    text = "[\"neg\"," + text + "]";
  Result<Expr> expr = parseExpr(Json::parse(text));
  ASSERT_FALSE(expr);
  EXPECT_EQ(expr.error().message, "expression is nested deeper than 200");
  Result<Expr> brackets =
      parseExpr(Json::parse(std::string(1000000, '[') + std::string(1000000, ']')));
  ASSERT_FALSE(brackets);
  EXPECT_EQ(brackets.error().message, "expected an expression, found something deeply nested");
}

TEST(Expr, CheckFindsWhatEvaluationMightNotReach) {
  Scope names = scope();
  EXPECT_TRUE(checkExpr(Expr::size("i"), names));
  Expr hidden = Expr::apply(ExprOp::And, {Expr::constant(0), Expr::param("nothing")});
  EXPECT_EQ(checkExpr(hidden, names).error().message, "param 'nothing' is unknown here");
  EXPECT_FALSE(checkExpr(Expr::apply(ExprOp::Add, {Expr::constant(1)}), names));
  EXPECT_FALSE(checkExpr(Expr::constant(double(INFINITY)), names));
}

} // namespace
