// Pictures of nests, as SVG that follows the page's colours.
#ifndef ATTNC_TOOLS_ATTNC_PAGE_HTML_DIAGRAM_H
#define ATTNC_TOOLS_ATTNC_PAGE_HTML_DIAGRAM_H

#include "compiler/explain/facts.h"
#include "tools/attnc/page/html_writer.h"

namespace attnc::cli {

/// One nest: what streams, what is resident, the part of row x stream that it visits, what it keeps
/// and what it stores.
Markup nestPicture(const KernelFacts &kernel);

/// The kernels in order with what goes from one to another; empty for a single kernel.
Markup flowPicture(const Explanation &explanation);

} // namespace attnc::cli

#endif
