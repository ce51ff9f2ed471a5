// The explorer: a page on which a spec is written, with what the compiler makes of it beside.
#ifndef ATTNC_TOOLS_EXPLORER_EXPLORER_H
#define ATTNC_TOOLS_EXPLORER_EXPLORER_H

#include <string>
#include <string_view>

namespace attnc::explorer {

/// A file of the page, with its MIME type.
struct PageFile {
  std::string_view type, text;
};

/// The file that a path names, "/" for the page itself; none: null.
const PageFile *findPageFile(std::string_view path);

/// What the page asks for once, at `aboutPath`: the version, the targets, what this machine has,
/// and the library of specs. JSON.
std::string aboutText();
inline constexpr std::string_view aboutPath = "/v1/explorer";
/// Behind it stands the name of a command.
inline constexpr std::string_view commandPath = "/v1/explorer/";

/// The Content-Security-Policy of the page: nothing from elsewhere, and no script in its text.
inline constexpr const char *contentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

} // namespace attnc::explorer

#endif
