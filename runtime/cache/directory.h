#pragma once

/// Directories of one user.

#include "attnc/result.h"
#include "runtime/cache/file_operations.h"

#include <string>

namespace attnc::cache {

/// Makes a directory that is not there, with its parents, for the user alone (0700), and looks at
/// one that is. Error (Environment): it cannot be made, it belongs to another user, or others may
/// write in it: what they put there would be run by this user.
Status makePrivateDirectory(const FileOperations &files, const std::string &path);

/// Looks only. A directory of root's is good too: for who reads what was installed.
Status checkPrivateDirectory(const std::string &path, bool rootsIsGood);

/// $XDG_CACHE_HOME/attnc, else ~/.cache/attnc; empty if there is neither. Relative paths do not
/// count (https://specifications.freedesktop.org/basedir-spec).
std::string userCacheFolder();

} // namespace attnc::cache
