// The command line of attncd.
#ifndef ATTNC_TOOLS_ATTNCD_OPTIONS_H
#define ATTNC_TOOLS_ATTNCD_OPTIONS_H

#include "tools/attncd/http/listener.h"
#include "tools/attncd/workers/compile_pool.h"

#include <CLI/CLI.hpp>
#include <string>

namespace attnc::service {

struct DaemonOptions {
  ListenAddress listen;
  std::string keyFile;
  std::string tokensFile; ///< empty: on a Unix socket, everybody who may connect may do all
  std::string cacheDirectory;
  std::uint64_t cacheBytes = 0;
  std::uint64_t memoryBytes = 0;
  std::string certificateFile, keyOfCertificateFile;
  CompilePoolOptions pool;
  int threads = 2;
  int maxConnections = 1024;
  std::uint64_t maxUploadBytes = 0;
  int patienceSeconds = 60;
  int drainSeconds = 120;
  bool explorer = false;
};

/// The options as they are written. Add them to a command, parse, then ask for their values.
class OptionTexts {
public:
  explicit OptionTexts(CLI::App &command);

  /// Error (InvalidArgument): an option that is missing, or whose value does not fit; it names the
  /// option.
  Result<DaemonOptions> values() const;

private:
  Status readSizes(DaemonOptions &options) const;
  Status readCache(DaemonOptions &options) const;

  std::string listen, cacheSize, memorySize = "256MiB", maxUpload = "64MiB", memoryLimit = "4GiB",
                                 outputLimit = "64MiB";
  DaemonOptions plain;
};

} // namespace attnc::service

#endif
