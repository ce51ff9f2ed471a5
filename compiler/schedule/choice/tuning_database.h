// Schedules that were measured: which one was the fastest for a nest on a device.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_TUNING_DATABASE_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_TUNING_DATABASE_H

#include "attnc/result.h"
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc::schedule {

/// One winner.
struct TunedSchedule {
  std::string key;                      ///< nestKey
  std::string target;                   ///< "sm_90a"
  std::string kernel;                   ///< its name where it was measured, for people
  nlohmann::json schedule;              ///< the keys of a schedule file, with "form"
  double milliseconds = 0;              ///< the median of the program's time
  std::map<std::string, int64_t> shape; ///< extents of the dynamic dims it was measured at
  std::string date;                     ///< "2026-11-21"
  std::string driver;                   ///< the CUDA version of the driver: "13.0"
};

/// What is known about one device: a JSON file.
struct TuningFile {
  std::string device; ///< as the driver names it
  int multiprocessors = 0;
  std::vector<TunedSchedule> entries; ///< one for each key and target

  /// Adds an entry in place of the one with its key and target, if there is one.
  void put(TunedSchedule entry);
  /// The text of the file.
  std::string text() const;
};

/// Reads the text of a file. Error (InvalidArgument): what is wrong with it.
Result<TuningFile> parseTuningFile(std::string_view text);

/// Reads a file from disk; nothing if there is none. Errors: InvalidArgument where it is damaged,
/// Environment where it cannot be read. Both name the file.
Result<std::optional<TuningFile>> loadTuningFile(const std::string &path);

/// Writes a file in one step: readers see the old one or the new one, whole. Makes its folder.
/// Error (Environment): it cannot be written.
Status saveTuningFile(const std::string &path, const TuningFile &file);

/// The name of a device's file: "nvidia-h100-80gb-hbm3-132.json".
std::string tuningFileName(const std::string &device, int multiprocessors);

/// The folder of the user's files: $XDG_CACHE_HOME/attnc/tuning, else ~/.cache/attnc/tuning. Empty
/// if there is neither.
std::string userTuningFolder();

/// The files that come with the compiler, by name; measured by its authors.
const std::vector<std::pair<std::string, TuningFile>> &builtinTuningFiles();

/// Files in the order in which they are asked. Not changed while it is in use; then safe to read
/// from several threads.
class TuningDatabase {
public:
  /// `origin` says where the file is from, for people.
  void add(std::string origin, TuningFile file);

  /// The entry for a nest, or null; `origin` becomes that of its file, with time and date.
  const TunedSchedule *find(std::string_view key, std::string_view target,
                            std::string &origin) const;

  /// In the order of add, each with its origin.
  const std::vector<std::pair<std::string, TuningFile>> &all() const { return files; }

  /// All files as one text: equal databases give equal texts.
  std::string text() const;

private:
  std::vector<std::pair<std::string, TuningFile>> files;
};

/// Adds the files that come with the compiler: those for a device, or all of them if none is named
/// (their entries name their targets).
void addBuiltinTuning(TuningDatabase &database, const std::string &device = "",
                      int multiprocessors = 0);

} // namespace attnc::schedule

#endif
