// Tuning files that several processes change.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_TUNING_UPDATE_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_TUNING_UPDATE_H

#include "compiler/schedule/choice/tuning_database.h"
#include <functional>
#include <system_error>

namespace attnc::schedule {

/// Makes the folder of a file; the user's own lies in the cache's, which is the user's alone.
std::error_code makeTuningFolder(const std::string &path);

/// Reads a file, changes it, and writes it, while no other process does so: of two at once neither
/// loses what the other has stored. `change` is given what is there, nothing if there is no file,
/// and does not take long. Beside the file a lock stays, PATH.lock; where there are no locks, it
/// goes without. Errors: those of loadTuningFile, `change` and saveTuningFile.
Status changeTuningFile(const std::string &path,
                        const std::function<Result<TuningFile>(std::optional<TuningFile>)> &change);

} // namespace attnc::schedule

#endif
