#include "tools/attnc/output/remote_finding.h"
#include "compiler/jit/build_id.h"
#include "runtime/remote/remote.h"

#include <fmt/format.h>

namespace attnc::cli {

static RemoteFinding findingOf(const remote::EndpointReport &report) {
  if (!report.state)
    return {report.address, false,
            fmt::format("{}: {}", report.address, report.state.error().message),
            report.state.error().remedy};
  std::string text =
      fmt::format("{}: {} ({:.1f} ms)", report.address, report.state->text, report.milliseconds);
  if (!report.state->build.empty() && report.state->build != buildId())
    text += "; it is of another build, so it does not compile for this one";
  return {report.address, true, text, ""};
}

std::vector<RemoteFinding> examineRemote() {
  Result<std::shared_ptr<remote::Remote>> remote = remote::Remote::ofUser();
  if (!remote)
    return {{"", false, remote.error().message, remote.error().remedy}};
  std::vector<RemoteFinding> findings;
  if (*remote)
    for (const remote::EndpointReport &report : (*remote)->examine())
      findings.push_back(findingOf(report));
  return findings;
}

} // namespace attnc::cli
