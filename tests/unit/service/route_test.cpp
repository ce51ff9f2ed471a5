#include "tools/attncd/http/route.h"

#include <gtest/gtest.h>

using namespace attnc::service;

namespace {

const std::string key(64, 'a');

TEST(Route, EntriesAreTierAndKey) {
  Route route = routeOf("/v1/image/" + key);
  EXPECT_EQ(route.place, Place::Image);
  EXPECT_EQ(route.tier(), attnc::cache::Tier::Image);
  EXPECT_TRUE(route.isKey);
  EXPECT_EQ(route.key, key);
  EXPECT_EQ(routeOf("/v1/program/" + key).tier(), attnc::cache::Tier::Program);
  for (const std::string &wrong : {std::string(), std::string("x"), key + "0", key.substr(1),
                                   std::string(64, 'A'), std::string(64, '\0')})
    EXPECT_FALSE(routeOf("/v1/program/" + wrong).isKey) << wrong;
}

TEST(Route, WhatIsNoPathIsNowhere) {
  for (const std::string &path :
       {std::string(), std::string("//"), std::string("*"), std::string("/v1/compile/"),
        std::string("/V1/compile"), "/v1/program/" + key + "/", "/v1/program//" + key,
        "/v1/kernel/" + key, "http://host/v1/program/" + key})
    EXPECT_EQ(routeOf(path).place, Place::Nowhere) << path;
}

TEST(Route, TheExplorerHasItsPlaces) {
  EXPECT_EQ(routeOf("/").place, Place::Page);
  EXPECT_EQ(routeOf("/explorer.css").place, Place::Page);
  EXPECT_EQ(routeOf("/explorer.cs").place, Place::Nowhere);
  EXPECT_EQ(routeOf("/v1/explorer").place, Place::About);
  EXPECT_EQ(routeOf("/v1/explorer/check").place, Place::Command);
  EXPECT_EQ(routeOf("/v1/explorer/check").key, "check");
  EXPECT_EQ(scopeOf(Place::Page, Method::Get), NoScope);
  EXPECT_EQ(scopeOf(Place::About, Method::Get), ReadEntries);
  EXPECT_EQ(scopeOf(Place::Command, Method::Post), CompileSpecs);
}

TEST(Route, EachMethodNeedsItsScope) {
  EXPECT_EQ(scopeOf(Place::Program, Method::Get), ReadEntries);
  EXPECT_EQ(scopeOf(Place::Image, Method::Head), ReadEntries);
  EXPECT_EQ(scopeOf(Place::Image, Method::Put), WriteEntries);
  EXPECT_EQ(scopeOf(Place::Compile, Method::Post), CompileSpecs);
  EXPECT_EQ(scopeOf(Place::Metrics, Method::Get), ReadEntries);
  EXPECT_EQ(scopeOf(Place::Ready, Method::Get), NoScope);
}

TEST(Route, PlacesAllowTheirMethodsAlone) {
  EXPECT_TRUE(allows(Place::Program, Method::Put));
  EXPECT_TRUE(allows(Place::Compile, Method::Post));
  EXPECT_FALSE(allows(Place::Program, Method::Post));
  EXPECT_FALSE(allows(Place::Compile, Method::Get));
  EXPECT_FALSE(allows(Place::Nowhere, Method::Get));
  EXPECT_FALSE(allows(Place::Health, Method::Other));
}

TEST(Route, MethodsAreUpperCase) {
  EXPECT_EQ(methodOf("GET"), Method::Get);
  EXPECT_EQ(methodOf("POST"), Method::Post);
  for (std::string_view other : {"get", "DELETE", "other", "", "GETS"})
    EXPECT_EQ(methodOf(other), Method::Other) << other;
}

} // namespace
