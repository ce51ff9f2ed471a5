#include "compiler/frontend/text/extended_spec.h"
#include "compiler/frontend/source_limits.h"
#include "compiler/frontend/text/lexer.h"
#include "compiler/frontend/text/statement_lines.h"
#include "compiler/frontend/text/suggest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using llvm::StringRef;

namespace attnc {

namespace {

/// How many specs may extend one another in a row.
constexpr size_t maxBases = 16;

void shift(JsonValue &value, size_t by) {
  value.offset += by;
  for (uint32_t &place : value.textOffsets)
    place += static_cast<uint32_t>(by);
  for (JsonValue &element : value.elements)
    shift(element, by);
  for (JsonMember &member : value.members) {
    member.keyOffset += by;
    shift(member.value, by);
  }
}

JsonMember *findMember(JsonValue &object, StringRef key) {
  auto it = llvm::find_if(object.members, [&](const JsonMember &m) { return m.key == key; });
  return it == object.members.end() ? nullptr : &*it;
}

void erase(JsonValue &object, StringRef key) {
  llvm::erase_if(object.members, [&](const JsonMember &member) { return member.key == key; });
}

/// What an entry of a body assigns: one name, or those of the statements of a repeat.
std::set<std::string> namesOf(const JsonValue &entry) {
  std::set<std::string> names;
  if (entry.kind == JsonValue::String) {
    StringRef text = StringRef(entry.text).ltrim();
    names.insert(text.take_front(nameLength(text, 0)).str());
  }
  if (const JsonValue *body = entry.find("body"))
    for (const JsonValue &statement : body->elements)
      names.merge(namesOf(statement));
  names.erase("");
  return names;
}

std::string listed(const std::set<std::string> &names) {
  return "'" + llvm::join(names, "', '") + "'";
}

bool shareOne(const std::set<std::string> &some, const std::set<std::string> &others) {
  return llvm::any_of(some, [&](const std::string &name) { return others.contains(name); });
}

/// A body of the base, and what becomes of it.
class ExtendedBody {
public:
  ExtendedBody(const SourceFile &file, std::vector<JsonValue> statements, Diagnostics &diagnostics)
      : file(file), diagnostics(diagnostics) {
    for (JsonValue &statement : statements) {
      std::set<std::string> names = namesOf(statement);
      places.push_back({std::move(names), {}, std::move(statement), false});
    }
  }

  /// The next statement of the spec that extends it.
  void add(JsonValue statement) {
    std::set<std::string> names = namesOf(statement);
    auto find = [&](llvm::function_ref<bool(const Place &)> fits) {
      return llvm::find_if(places, [&](const Place &p) {
        return !p.isReplaced && p.statement.kind == statement.kind && fits(p);
      });
    };
    auto place = find([&](const Place &p) { return p.names == names; });
    if (place == places.end())
      place = find([&](const Place &p) { return shareOne(p.names, names); });
    if (place == places.end()) {
      added.push_back(std::move(statement));
      return;
    }
    if (place->names != names)
      diagnostics.add(file.at(statement.offset,
                              "this assigns " + listed(names) + ", and what it replaces in " +
                                  file.nameAt(place->statement.offset).str() + " assigns " +
                                  listed(place->names),
                              "write a statement that assigns the same, or choose another name"));
    place->before = std::move(added);
    added.clear();
    place->statement = std::move(statement);
    place->isReplaced = true;
  }

  std::vector<JsonValue> finish() {
    for (const Place &place : places)
      if (place.isReplaced)
        checkOthers(place);
    std::vector<JsonValue> body;
    for (Place &place : places) {
      llvm::move(place.before, std::back_inserter(body));
      body.push_back(std::move(place.statement));
    }
    llvm::move(added, std::back_inserter(body));
    return body;
  }

private:
  struct Place {
    std::set<std::string> names;
    std::vector<JsonValue> before;
    JsonValue statement;
    bool isReplaced;
  };

  /// A name that the base assigns several times is replaced each time: which one is meant is not to
  /// be guessed.
  void checkOthers(const Place &replaced) {
    for (const Place &other : places)
      if (!other.isReplaced && other.statement.kind == replaced.statement.kind &&
          shareOne(other.names, replaced.names))
        diagnostics.add(file.at(replaced.statement.offset,
                                listed(replaced.names) + " is assigned again in " +
                                    file.lineText(other.statement.offset),
                                "write all of these statements, or choose another name"));
  }

  const SourceFile &file;
  Diagnostics &diagnostics;
  std::vector<Place> places;
  std::vector<JsonValue> added; ///< for before the next one that is replaced
};

class Extension {
public:
  Extension(const SourceFile &file, Diagnostics &diagnostics)
      : file(file), diagnostics(diagnostics) {}

  JsonValue join(JsonValue base, JsonValue spec) {
    erase(base, "name");
    erase(base, "doc");
    JsonMember *statements = findMember(base, "body");
    JsonMember *changes = findMember(spec, "body");
    if (statements && changes && areLists(*statements, *changes))
      changes->value.elements = joinBodies(std::move(statements->value), changes->value);
    JsonMember *facts = findMember(base, "require");
    JsonMember *more = findMember(spec, "require");
    if (facts && more && areLists(*facts, *more)) {
      llvm::move(more->value.elements, std::back_inserter(facts->value.elements));
      more->value.elements = std::move(facts->value.elements);
    }
    return joinObjects(std::move(base), std::move(spec));
  }

private:
  static bool areLists(const JsonMember &one, const JsonMember &other) {
    return one.value.kind == JsonValue::Array && other.value.kind == JsonValue::Array;
  }

  std::vector<JsonValue> joinBodies(JsonValue base, JsonValue &spec) {
    ExtendedBody body(file, std::move(base.elements), diagnostics);
    for (JsonValue &statement : spec.elements)
      body.add(std::move(statement));
    return body.finish();
  }

  /// In the base's order, which is that of a program's arguments; what is new comes last.
  JsonValue joinObjects(JsonValue base, JsonValue spec) {
    std::vector<JsonMember> joined = std::move(base.members);
    base.members.clear();
    for (JsonMember &member : spec.members) {
      auto old = llvm::find_if(joined, [&](const JsonMember &m) { return m.key == member.key; });
      if (member.value.kind == JsonValue::Null)
        remove(joined, member);
      else if (old == joined.end())
        joined.push_back(std::move(member));
      else if (old->value.kind == JsonValue::Object && member.value.kind == JsonValue::Object)
        old->value = joinObjects(std::move(old->value), std::move(member.value));
      else
        *old = std::move(member);
    }
    spec.members = std::move(joined);
    return spec;
  }

  void remove(std::vector<JsonMember> &from, const JsonMember &member) {
    std::vector<std::string> keys;
    for (const JsonMember &known : from)
      keys.push_back(known.key);
    size_t before = from.size();
    llvm::erase_if(from, [&](const JsonMember &known) { return known.key == member.key; });
    if (from.size() == before)
      diagnostics.add(file.at(
          member.keyOffset, "there is no '" + member.key + "' to remove in what this extends",
          didYouMean(member.key, keys, "null removes what the other spec has")));
  }

  const SourceFile &file;
  Diagnostics &diagnostics;
};

class Reader {
public:
  Reader(const SpecBases &bases, Diagnostics &diagnostics)
      : bases(bases), diagnostics(diagnostics) {}

  std::optional<JsonValue> read(SourceFile &file) {
    std::optional<JsonValue> root = parseJson(file, diagnostics);
    if (!root)
      return std::nullopt;
    joinStatementLines(*root);
    const JsonValue *name = root->find("extends");
    if (!name)
      return root;
    unsigned before = diagnostics.errorCount();
    std::optional<JsonValue> base = readBase(file, *name);
    if (!base)
      return std::nullopt;
    shift(*base, file.text().size() + 1);
    JsonValue joined = Extension(file, diagnostics).join(std::move(*base), std::move(*root));
    if (diagnostics.errorCount() != before)
      return std::nullopt;
    return joined;
  }

private:
  std::nullopt_t refuse(const SourceFile &file, const JsonValue &at, std::string message,
                        std::string remedy) {
    diagnostics.add(file.at(at.offset, std::move(message), std::move(remedy)));
    return std::nullopt;
  }

  std::optional<JsonValue> readBase(SourceFile &file, const JsonValue &name) {
    if (name.kind != JsonValue::String)
      return refuse(file, name, "'extends' is a string, this is " + kindName(name.kind).str(),
                    "for example \"extends\": \"causal\"");
    std::optional<SpecSource> source =
        bases.find ? bases.find(name.text, file.name()) : std::nullopt;
    if (!source)
      return refuse(file, name, "there is no spec '" + name.text + "' to extend",
                    didYouMean(name.text, bases.names,
                               "a spec extends one of the library (attnc list), or, in a file, "
                               "another .json file by its path from there"));
    // A file may have the name of a spec of the library.
    std::string identity = (source->isFile ? "file " : "library ") + source->fileName;
    bool isKnown = llvm::is_contained(chain, identity);
    chain.push_back(std::move(identity));
    if (isKnown || chain.size() > maxBases)
      return refuse(file, name,
                    !isKnown ? "more than " + std::to_string(maxBases) + " specs extend one another"
                             : "'" + name.text + "' extends this spec, or is it",
                    "let one of them stand by itself");
    if (!checkSourceSize(source->fileName, source->text, diagnostics))
      return std::nullopt;
    std::optional<JsonValue> base = read(file.append(std::move(*source)));
    if (base && base->kind != JsonValue::Object)
      return refuse(file, name, "'" + name.text + "' is no spec, but " + kindName(base->kind).str(),
                    "extend a JSON object with a body");
    return base;
  }

  const SpecBases &bases;
  Diagnostics &diagnostics;
  std::vector<std::string> chain; ///< of what was extended, one by the other
};

} // namespace

std::optional<JsonValue> readExtendedSpec(SourceFile &file, const SpecBases &bases,
                                          Diagnostics &diagnostics) {
  return Reader(bases, diagnostics).read(file);
}

std::vector<SpecSource> basesOf(StringRef fileName, StringRef text, const SpecBases &bases) {
  // Most specs extend nothing, which is seen at once; the key may be written with escapes.
  if (!text.contains("extends") && !text.contains("\\u"))
    return {};
  Diagnostics unused;
  SourceFile file(fileName, text);
  readExtendedSpec(file, bases, unused);
  std::vector<SpecSource> sources;
  for (const SourceFile *at = &file; at->extended(); at = at->extended()) {
    const SourceFile &base = *at->extended();
    bool isFile = at->extendsFiles(); // a spec of the library extends none
    sources.push_back({base.name().str(), base.text().str(), isFile});
  }
  return sources;
}

} // namespace attnc
