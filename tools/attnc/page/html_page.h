// What there is to say of a compilation, as one page that needs nothing else.
#ifndef ATTNC_TOOLS_ATTNC_PAGE_HTML_PAGE_H
#define ATTNC_TOOLS_ATTNC_PAGE_HTML_PAGE_H

#include "compiler/explain/facts.h"

namespace attnc::cli {

/// The text of a spec, as it was read.
struct SpecSource {
  std::string fileName, text;
};

/// An HTML page that is also well-formed XML: the spec, pictures of the nests, what each kernel
/// does and takes, the IR after each pass with the lines that changed, the generated code. It has
/// no scripts and fetches nothing. The compilation's IR has been kept. Equal compilations give
/// equal bytes.
std::string explainHtml(const Explanation &explanation, const SpecSource &source);

} // namespace attnc::cli

#endif
