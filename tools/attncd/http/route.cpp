#include "tools/attncd/http/route.h"

#include "tools/explorer/explorer.h"

#include <algorithm>
#include <iterator>

namespace attnc::service {

namespace {

struct Known {
  Place place;
  std::string_view name, path, methods;
};

constexpr Known knownPlaces[placeCount] = {
    {Place::Program, "program", "/v1/program/", "GET, HEAD, PUT"},
    {Place::Image, "image", "/v1/image/", "GET, HEAD, PUT"},
    {Place::Compile, "compile", "/v1/compile", "POST"},
    {Place::Specs, "specs", "/v1/specs", "GET, HEAD"},
    {Place::Status, "status", "/v1/status", "GET, HEAD"},
    {Place::Metrics, "metrics", "/metrics", "GET, HEAD"},
    {Place::Health, "healthz", "/healthz", "GET, HEAD"},
    {Place::Ready, "readyz", "/readyz", "GET, HEAD"},
    {Place::Page, "page", "", "GET, HEAD"},
    {Place::About, "about", explorer::aboutPath, "GET, HEAD"},
    {Place::Command, "command", explorer::commandPath, "POST"},
    {Place::Nowhere, "other", "", ""}};

constexpr std::string_view methodNames[methodCount] = {"GET", "HEAD", "PUT", "POST", "other"};

const Known &known(Place place) { return knownPlaces[static_cast<std::size_t>(place)]; }

} // namespace

std::string_view nameOf(Place place) { return known(place).name; }
std::string_view methodsOf(Place place) { return known(place).methods; }

std::string_view nameOf(Method method) { return methodNames[static_cast<std::size_t>(method)]; }

Method methodOf(std::string_view name) {
  // The last name is none that a client can mean: methods are upper case.
  auto *found = std::find(std::begin(methodNames), std::end(methodNames) - 1, name);
  return static_cast<Method>(found - std::begin(methodNames));
}

bool allows(Place place, Method method) {
  return method != Method::Other && methodsOf(place).find(nameOf(method)) != std::string_view::npos;
}

Route routeOf(std::string_view path) {
  if (explorer::findPageFile(path))
    return {Place::Page, "", false};
  if (path.starts_with(explorer::commandPath))
    return {Place::Command, std::string(path.substr(explorer::commandPath.size())), false};
  for (const Known &one : knownPlaces) {
    if (one.place == Place::Program || one.place == Place::Image) {
      if (!path.starts_with(one.path))
        continue;
      std::string_view key = path.substr(one.path.size());
      if (key.find('/') != std::string_view::npos)
        continue;
      cache::Digest digest;
      return {one.place, std::string(key), cache::parseHex(key, digest)};
    }
    if (!one.path.empty() && path == one.path)
      return {one.place, "", false};
  }
  return {};
}

Scope scopeOf(Place place, Method method) {
  if (place == Place::Compile || place == Place::Command)
    return CompileSpecs;
  if (place == Place::Nowhere || place == Place::Page || place == Place::Health ||
      place == Place::Ready)
    return NoScope;
  return method == Method::Put ? WriteEntries : ReadEntries;
}

} // namespace attnc::service
