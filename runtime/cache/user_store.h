#pragma once

/// The store that the environment names, for who reports on it.

#include "runtime/cache/store.h"

namespace attnc::cache {

/// What Store::ofUser opens; nothing where it is null.
std::optional<StoreOptions> userStoreOptions();

/// Whether entries can be written to a directory. Error (Environment): why not.
Status tryToWrite(const EntryFolder &folder);

} // namespace attnc::cache
