// What a path and a method mean.
#ifndef ATTNC_TOOLS_ATTNCD_HTTP_ROUTE_H
#define ATTNC_TOOLS_ATTNCD_HTTP_ROUTE_H

#include "runtime/cache/entry.h"
#include "tools/attncd/http/tokens.h"

#include <string>
#include <string_view>

namespace attnc::service {

/// Nowhere is every path that there is not.
enum class Place {
  Program,
  Image,
  Compile,
  Specs,
  Status,
  Metrics,
  Health,
  Ready,
  Page,    ///< a file of the explorer
  About,   ///< what the explorer asks for once
  Command, ///< one that the explorer runs
  Nowhere
};
inline constexpr std::size_t placeCount = 12;
/// As metrics call it.
std::string_view nameOf(Place place);

/// The last one stands for all that the service does not know.
enum class Method { Get, Head, Put, Post, Other };
inline constexpr std::size_t methodCount = 5;
Method methodOf(std::string_view name);
std::string_view nameOf(Method method);

struct Route {
  Place place = Place::Nowhere;
  /// Of an entry: the last part of the path, which is 64 lower case hexadecimal digits if `isKey`.
  /// Of a command: its name.
  std::string key;
  bool isKey = false;

  bool isEntry() const { return place == Place::Program || place == Place::Image; }
  cache::Tier tier() const {
    return place == Place::Program ? cache::Tier::Program : cache::Tier::Image;
  }
  bool isExplorer() const {
    return place == Place::Page || place == Place::About || place == Place::Command;
  }
  /// Probes of whoever supervises the service need no token, nor does the page that asks for one.
  bool isOpen() const {
    return place == Place::Health || place == Place::Ready || place == Place::Page;
  }
};

Route routeOf(std::string_view path);

/// The scope that a request needs.
Scope scopeOf(Place place, Method method);
bool allows(Place place, Method method);
/// "GET, HEAD, PUT"
std::string_view methodsOf(Place place);

} // namespace attnc::service

#endif
