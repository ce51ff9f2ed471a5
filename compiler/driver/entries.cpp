#include "compiler/driver/entries.h"
#include "compiler/driver/has_name.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace attnc::driver {

template <typename T> static void append(std::vector<T> &list, std::vector<T> more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

// Images and sources of `other` whose names `whole` has get the name of the entry, too.
static void renameImages(const Program &whole, Program &other, const std::string &entry) {
  for (KernelDecl &kernel : other.manifest.kernels)
    if (hasName(whole.images, kernel.image))
      kernel.image += "_" + entry;
  for (Image &image : other.images)
    if (hasName(whole.images, image.name))
      image.name += "_" + entry;
  for (Source &source : other.sources)
    if (hasName(whole.sources, source.name))
      source.name.insert(std::min(source.name.find('.'), source.name.size()), "_" + entry);
}

void addEntry(Program &whole, const std::string &name, Program other) {
  renameImages(whole, other, name);
  whole.entries.push_back({name, std::move(other.manifest)});
  append(whole.images, std::move(other.images));
  append(whole.sources, std::move(other.sources));
}

std::string textPrefix(const std::string &entry) { return entry + "."; }

Result<Program> entryOf(const Program &whole, const std::string &name) {
  auto entry = std::ranges::find(whole.entries, name, &Entry::name);
  if (entry == whole.entries.end())
    return invalidArgument(
        fmt::format("the program {} has no entry point '{}'", whole.manifest.name, name),
        "a spec with `grad` has \"backward\" beside \"forward\"");
  Program program;
  program.manifest = entry->manifest;
  program.build = whole.build;
  program.processor = whole.processor;
  std::set<std::string> files;
  for (const KernelDecl &kernel : program.manifest.kernels)
    files.insert({kernel.image, kernel.image + ".cu"});
  std::ranges::copy_if(whole.images, std::back_inserter(program.images),
                       [&](const Image &image) { return files.contains(image.name); });
  const std::string prefix = textPrefix(name);
  for (const Source &source : whole.sources)
    if (files.contains(source.name))
      program.sources.push_back(source);
    else if (source.name.starts_with(prefix))
      program.sources.push_back({source.name.substr(prefix.size()), source.text});
  return program;
}

} // namespace attnc::driver
