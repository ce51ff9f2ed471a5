#include "tests/programs/spec_writer.h"

namespace attnc::programs {

using Json = nlohmann::ordered_json;

SpecWriter::SpecWriter(Choices &choices)
    : dims(Json::object()), let(Json::object()), require(Json::array()), params(Json::object()),
      inputs(Json::object()), body(Json::array()), outputs(Json::object()) {
  uint32_t form = choices.below(20);
  keys = form < 13    ? Keys::Plain
         : form < 15  ? Keys::Grouped
         : form == 15 ? Keys::Lengths
         : form == 16 ? Keys::Packed
         : form == 17 ? Keys::Gathered
         : form == 18 ? Keys::Sliding
                      : Keys::Plain;
  heads = choices.chance(50) || keys == Keys::Grouped;
  batch = choices.chance(30) || keys == Keys::Lengths || keys == Keys::Packed;
  type = choices.among<const char *>({"f32", "f32", "f32", "f32", "f32", "f32", "bf16", "f16"});
  chooseExtents(choices);
}

void SpecWriter::chooseExtents(Choices &choices) {
  dims["d"] = choices.among<int64_t>({4, 8, 3, 1, 16});
  dims["e"] = choices.among<int64_t>({4, 8, 5, 2, 16});
  int64_t rows = choices.among<int64_t>({3, 1, 7, 13, 23, 40, 70});
  int64_t stream = choices.among<int64_t>({3, 1, 7, 17, 23, 40, 70, 130});
  int64_t cells = choices.among<int64_t>({1, 2, 3});
  if (batch && keys != Keys::Packed)
    shape["b"] = choices.among<int64_t>({1, 2});
  if (heads)
    shape["h"] = keys == Keys::Grouped ? 2 * cells : cells;
  switch (keys) {
  case Keys::Grouped:
    shape["hk"] = cells;
    let["g"] = "size(h) // size(hk)";
    require.push_back("size(h) % size(hk) == 0");
    break;
  case Keys::Lengths:
    dims["j"] = {{"extent", "len[b]"}};
    declare("len", "i32", {"b"});
    break;
  case Keys::Packed:
    dims["b"] = "size(n) - 1";
    dims["i"] = {{"ragged", "cu"}, {"over", "b"}};
    dims["j"] = {{"ragged", "cu"}, {"over", "b"}};
    declare("cu", "i32", {"n"});
    shape["n"] = 3;
    shape["i_rows"] = shape["j_rows"] = std::min<int64_t>(rows, 23);
    return;
  case Keys::Gathered:
    shape["p"] = std::max<int64_t>(4, rows / 2);
    break;
  case Keys::Sliding:
    shape["i"] = rows;
    dims["j"] = 5;
    return;
  case Keys::Plain:
    break;
  }
  shape["i"] = rows;
  if (keys == Keys::Plain && choices.chance(15))
    dims["j"] = stream;
  else
    shape["j"] = stream;
}

std::vector<std::string> SpecWriter::existing(const std::string &wanted) const {
  // What carries a packed dim depends on its batch without carrying it.
  bool packed = keys == Keys::Packed && wanted.find_first_of("ij") != std::string::npos;
  std::vector<std::string> result;
  for (char dim : wanted)
    if (!(dim == 'b' && (!batch || packed)) && !(dim == 'h' && !heads))
      result.emplace_back(1, dim);
  return result;
}

static std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

void SpecWriter::declare(const std::string &name, const std::string &storage,
                         const std::vector<std::string> &over) {
  inputs[name] = storage + "[" + joined(over) + "]";
}

std::string SpecWriter::input(const std::string &name, const std::string &storage,
                              const std::string &over) {
  if (!inputs.contains(name))
    declare(name, storage, existing(over));
  return inputs[name].get<std::string>().ends_with("[]") ? name + "[]" : name;
}

std::string SpecWriter::param(const std::string &name, const std::string &declaration) {
  params[name] = declaration;
  return name;
}

std::string SpecWriter::query(const std::string &name) { return input(name, type, "bhid"); }

std::string SpecWriter::key(const std::string &name) { return streamed(name, "d"); }

std::string SpecWriter::value(const std::string &name) { return streamed(name, "e"); }

std::string SpecWriter::streamed(const std::string &name, const std::string &inner) {
  if (keys == Keys::Plain || keys == Keys::Lengths || keys == Keys::Packed)
    return input(name, type, "bhj" + inner);
  std::vector<std::string> over = existing("bh"), read = over;
  switch (keys) {
  case Keys::Grouped:
    over.back() = "hk";
    read.back() = "h // g";
    over.push_back("j");
    read.push_back("j");
    break;
  case Keys::Gathered:
    over.push_back("p");
    read.push_back(input("table", "i32", "bj"));
    break;
  default: // Sliding
    over.push_back("i");
    read.push_back("i + j - 2");
  }
  over.push_back(inner);
  read.push_back(inner);
  if (!inputs.contains(name))
    declare(name, type, over);
  std::string text = name + "[" + joined(read) + "]";
  return keys == Keys::Sliding ? "(" + text + " else 0)" : text;
}

std::string SpecWriter::fresh(const std::string &stem) { return stem + std::to_string(++names); }

std::string SpecWriter::define(const std::string &stem, const std::string &expression) {
  std::string name = fresh(stem);
  body.push_back(name + " = " + expression);
  return name;
}

std::string SpecWriter::defineAt(const std::string &stem, const std::string &over,
                                 const std::string &expression) {
  std::string name = fresh(stem);
  std::vector<std::string> label;
  for (char dim : over)
    if (!(dim == 'b' && !batch) && !(dim == 'h' && !heads))
      label.emplace_back(1, dim);
  body.push_back(name + "[" + joined(label) + "] = " + expression);
  return name;
}

void SpecWriter::output(const std::string &name, const std::string &storage) {
  outputs[name] = storage;
}

// True if `word` stands in `text` as a whole word.
static bool mentions(const std::string &text, const std::string &word) {
  auto isLetter = [&](size_t i) { return i < text.size() && (isalnum(text[i]) || text[i] == '_'); };
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!(at && isLetter(at - 1)) && !isLetter(at + word.size()))
      return true;
  return false;
}

Json SpecWriter::neededStatements() const {
  std::string needed;
  for (const auto &[name, storage] : outputs.items())
    needed += name + " ";
  std::vector<std::string> kept;
  for (size_t i = body.size(); i-- > 0;) {
    std::string statement = body[i];
    if (!mentions(needed, statement.substr(0, statement.find_first_of(" [="))))
      continue;
    needed += statement + " ";
    kept.push_back(statement);
  }
  return Json(std::vector<std::string>(kept.rbegin(), kept.rend()));
}

std::string SpecWriter::text() const {
  Json spec{{"attnc", 1}, {"name", "program"}, {"dims", dims}};
  if (!let.empty())
    spec["let"] = let;
  if (!require.empty())
    spec["require"] = require;
  Json statements = neededStatements();
  Json usedParams = Json::object();
  for (const auto &[name, declaration] : params.items())
    if (mentions(statements.dump(), name))
      usedParams[name] = declaration;
  if (!usedParams.empty())
    spec["params"] = usedParams;
  spec["inputs"] = inputs;
  spec["body"] = statements;
  spec["outputs"] = outputs;
  spec["reference"] = {{"shape", shape}};
  return spec.dump(1);
}

} // namespace attnc::programs
