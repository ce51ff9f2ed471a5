#include "tools/attnc/output/spec_lines.h"
#include "compiler/codegen/cuda/comment.h"
#include "compiler/driver/pipeline.h"
#include "dialects/Attn/SpecLocation.h"

using llvm::StringRef;

namespace attnc::cli {

namespace {

/// Calls `use(line)` for every line of a text, without its end.
template <typename Use> void forEachLine(StringRef text, Use use) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    use(line);
    text = rest;
  }
}

/// The numbers behind ".loc", which are a file, a line and a column.
std::optional<unsigned> lineOfLoc(StringRef line) {
  unsigned file = 0, number = 0;
  line = line.ltrim();
  if (!line.consume_front(".loc") || line.ltrim().consumeInteger(10, file))
    return std::nullopt;
  line = line.ltrim().drop_while(llvm::isDigit).ltrim();
  return line.consumeInteger(10, number) || file != 1 ? 0 : number;
}

/// `inlined_at` of a .loc: where in the source a function of a header was called.
unsigned callerLine(StringRef line) {
  StringRef at = line.split("inlined_at").second.ltrim();
  unsigned file = 0, number = 0;
  if (at.consumeInteger(10, file) || file != 1)
    return 0;
  at = at.ltrim();
  return at.consumeInteger(10, number) ? 0 : number;
}

} // namespace

LinedText linesOfIr(StringRef marked) {
  LinedText result;
  forEachLine(marked, [&](StringRef line) {
    unsigned number = 0;
    size_t mark = line.rfind(driver::lineMark);
    if (mark != StringRef::npos &&
        !line.substr(mark + StringRef(driver::lineMark).size()).getAsInteger(10, number))
      line = line.take_front(mark);
    result.text += line.str() + '\n';
    result.lines.push_back(number);
  });
  return result;
}

StatementLines statementLines(const Spec &spec) {
  StatementLines lines;
  // A statement of another file, which the spec extends, has no line in it.
  auto own = spec.module.get()->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
  spec.module.get()->walk([&](mlir::Operation *op) {
    StringRef statement = attn::specStatement(op->getLoc());
    auto place = op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
    if (!statement.empty() && place && own && place.getFilename() == own.getFilename())
      lines.try_emplace(cuda::comment(statement), place.getLine());
  });
  return lines;
}

std::vector<unsigned> linesOfCuda(StringRef source, const StatementLines &statements) {
  std::vector<unsigned> lines;
  unsigned current = 0;
  size_t depth = 0; // of the comment that holds
  forEachLine(source, [&](StringRef line) {
    size_t indent = line.size() - line.ltrim(' ').size();
    if (auto found = statements.find(line.trim()); found != statements.end()) {
      current = found->second;
      depth = indent;
    } else if (indent < depth && !line.trim().empty()) {
      current = 0;
      depth = 0;
    }
    lines.push_back(current);
  });
  return lines;
}

std::vector<unsigned> linesOfPtx(StringRef ptx, const std::vector<unsigned> &sourceLines) {
  std::vector<unsigned> lines;
  unsigned current = 0;
  forEachLine(ptx, [&](StringRef line) {
    if (std::optional<unsigned> number = lineOfLoc(line)) {
      // A function of a header that another one calls follows the place of that call.
      if (unsigned source = *number ? *number : callerLine(line))
        current = source <= sourceLines.size() ? sourceLines[source - 1] : 0;
    } else if (line.starts_with("}")) {
      current = 0;
    }
    lines.push_back(current);
  });
  return lines;
}

} // namespace attnc::cli
