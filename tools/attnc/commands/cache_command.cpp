// attnc cache: what the cache on disk holds, and what becomes of it.
#include "runtime/cache/user_store.h"
#include "runtime/program/byte_count.h"
#include "tools/attnc/commands/command.h"
#include "tools/attnc/input/warm_list.h"
#include "tools/attnc/output/remote_finding.h"
#include "tools/attnc/output/terminal.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace attnc::cli {

namespace {

using cache::EntryInfo;
using cache::Store;
using cache::StoreUsage;
using cache::Tier;
using Json = nlohmann::ordered_json;

struct CacheArguments {
  bool json = false;
  std::string size, file, tier;
  std::vector<std::string> keys;
  int jobs = 4;
};

std::shared_ptr<Store> openStore() {
  std::optional<cache::StoreOptions> options = cache::userStoreOptions();
  if (!options)
    throw Failure(Environment, "there is no cache: ATTNC_CACHE says off, or there is no home",
                  "set ATTNC_CACHE_DIR to a directory, and leave ATTNC_CACHE unset");
  return orFail(Store::open(*options), Environment);
}

std::string entriesText(std::uint64_t entries, std::uint64_t bytes) {
  return fmt::format("{} {}, {}", entries, entries == 1 ? "entry" : "entries",
                     bytesText(static_cast<double>(bytes)));
}

Json usageJson(const StoreUsage &usage) {
  return {{"entries", usage.entries}, {"bytes", usage.bytes}};
}

std::string timeText(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

ExitCode printStats(const CacheArguments &arguments) {
  std::shared_ptr<Store> store = openStore();
  cache::StoreStats stats = store->stats();
  if (arguments.json) {
    Json json = {
        {"ok", true}, {"directory", store->folder()->path()}, {"max_bytes", store->maxBytes()}};
    for (Tier tier : cache::tiers)
      json[std::string(nameOf(tier))] = usageJson(stats.usage[static_cast<size_t>(tier)]);
    json["remote"] = Json::array();
    for (const RemoteFinding &finding : examineRemote())
      json["remote"].push_back(
          {{"address", finding.address}, {"works", finding.works}, {"text", finding.text}});
    printJson(json);
    return Done;
  }
  print(fmt::format("directory  {}\n", store->folder()->path()));
  for (Tier tier : cache::tiers) {
    const StoreUsage &usage = stats.usage[static_cast<size_t>(tier)];
    print(fmt::format("{:<10} {}\n", nameOf(tier), entriesText(usage.entries, usage.bytes)));
  }
  print(fmt::format("at most    {}\n", bytesText(static_cast<double>(store->maxBytes()))));
  for (const RemoteFinding &finding : examineRemote())
    print(fmt::format("remote     {}\n", finding.text));
  return Done;
}

ExitCode printList(const CacheArguments &arguments) {
  std::shared_ptr<Store> store = openStore();
  Json all = Json::array();
  for (const EntryInfo &entry : store->list())
    if (arguments.json)
      all.push_back({{"tier", nameOf(entry.tier)},
                     {"key", entry.key},
                     {"bytes", entry.bytes},
                     {"last_use", timeText(entry.lastUse)}});
    else
      print(fmt::format("{:<8} {} {:>10}  {}\n", nameOf(entry.tier), entry.key,
                        bytesText(static_cast<double>(entry.bytes)), timeText(entry.lastUse)));
  if (arguments.json)
    printJson({{"ok", true}, {"entries", all}});
  return Done;
}

ExitCode verify(const CacheArguments &arguments) {
  cache::VerifyReport report = openStore()->verify();
  if (arguments.json)
    printJson({{"ok", true}, {"good", report.good}, {"dropped", report.dropped}});
  else
    print(fmt::format("{} good, {} damaged and removed\n", report.good, report.dropped));
  return Done;
}

ExitCode printRemoved(const cache::PruneReport &report, bool json) {
  if (json)
    printJson({{"ok", true},
               {"removed", report.removed},
               {"removed_bytes", report.removedBytes},
               {"left", usageJson(report.left)}});
  else
    print(fmt::format("removed {}; {} left\n", entriesText(report.removed, report.removedBytes),
                      entriesText(report.left.entries, report.left.bytes)));
  return Done;
}

ExitCode prune(const CacheArguments &arguments) {
  std::shared_ptr<Store> store = openStore();
  std::uint64_t bound = arguments.size.empty()
                            ? store->maxBytes()
                            : static_cast<std::uint64_t>(orFail(parseBytes(arguments.size)));
  return printRemoved(store->prune(bound), arguments.json);
}

ExitCode clear(const CacheArguments &arguments) {
  return printRemoved(openStore()->clear(), arguments.json);
}

ExitCode exportPack(const CacheArguments &arguments) {
  auto isWanted = [&](const EntryInfo &entry) {
    if (!arguments.tier.empty() && arguments.tier != nameOf(entry.tier))
      return false;
    return arguments.keys.empty() ||
           std::any_of(arguments.keys.begin(), arguments.keys.end(),
                       [&](const std::string &key) { return entry.key.starts_with(key); });
  };
  cache::PackReport report = orFail(openStore()->exportPack(arguments.file, isWanted));
  if (arguments.json)
    printJson({{"ok", true}, {"entries", report.entries}});
  else
    note(fmt::format("wrote {} ({} {})", arguments.file, report.entries,
                     report.entries == 1 ? "entry" : "entries"));
  return Done;
}

ExitCode importPack(const CacheArguments &arguments) {
  cache::PackReport report = orFail(openStore()->importPack(arguments.file));
  if (arguments.json)
    printJson({{"ok", report.refused == 0},
               {"added", report.entries},
               {"present", report.present},
               {"refused", report.refused}});
  else
    print(fmt::format("{} added, {} were there, {} damaged and left out\n", report.entries,
                      report.present, report.refused));
  return report.refused ? CheckFailed : Done;
}

ExitCode warm(const CacheArguments &arguments) {
  return warmList(arguments.file, arguments.jobs, arguments.json);
}

} // namespace

Command addCacheCommand(CLI::App &tool) {
  auto arguments = std::make_shared<CacheArguments>();
  CLI::App *app = tool.add_subcommand("cache", "What was compiled before: look, check, carry");
  app->require_subcommand(1);
  using Run = ExitCode (*)(const CacheArguments &);
  std::vector<std::pair<CLI::App *, Run>> actions;
  auto add = [&](const char *name, const char *description, Run run, const char *file = "") {
    CLI::App *action = app->add_subcommand(name, description);
    action->add_flag("--json", arguments->json, "As JSON on stdout");
    action->footer(fmt::format("Example: attnc cache {}{}", name, file));
    actions.emplace_back(action, run);
    return action;
  };
  add("stats", "Where it is and what it holds", printStats);
  add("ls", "Every entry: tier, key, size, last use (UTC)", printList);
  add("verify", "Read every entry and remove those that are damaged", verify);
  add("prune", "Remove what was used least recently, until the bound is kept", prune)
      ->add_option("--size", arguments->size, "The bound, e.g. 1GiB; else that of the cache");
  add("clear", "Remove every entry", clear);
  CLI::App *packs = add("export", "Write entries to one file", exportPack, " kernels.pack");
  packs->add_option("FILE", arguments->file, "The pack to write")->required();
  packs->add_option("KEY", arguments->keys, "Keys, or how they begin; all entries without it");
  packs->add_option("--tier", arguments->tier, "program or image; both without it")
      ->check(CLI::IsMember({"program", "image"}));
  add("import", "Add the entries of a file", importPack, " kernels.pack")
      ->add_option("FILE", arguments->file, "A pack")
      ->required();
  CLI::App *list = add("warm", "Compile what is on a list, before it is needed", warm,
                       " rollout.list\nA line of the list: causal --target sm_90a --set d=128");
  list->add_option("LIST", arguments->file, "A file with the arguments of a compilation a line")
      ->required();
  list->add_option("--jobs", arguments->jobs, "How many at a time; 4 without it")
      ->check(CLI::Range(1, 256));
  app->footer(
      "Example: attnc cache stats\n"
      "Each action takes --json. ATTNC_CACHE_DIR says where the cache is, ATTNC_CACHE_SIZE how "
      "much it may hold,\nATTNC_CACHE=off that there is none, ATTNC_REMOTE where "
      "entries are beyond this machine.");
  return {app, [arguments, actions] {
            for (const auto &[action, run] : actions)
              if (action->parsed())
                return run(*arguments);
            return Usage; // one is required
          }};
}

} // namespace attnc::cli
