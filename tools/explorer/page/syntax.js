// Light colouring: what the parts of a line are. A part is [start, end, kind]; what lies between
// parts is plain.

function partsBy(pattern, kindOf) {
  return (line, from = 0) => {
    const parts = [];
    for (const match of line.matchAll(pattern)) {
      const kind = kindOf(match, line);
      if (kind)
        parts.push([from + match.index, from + match.index + match[0].length, kind]);
    }
    return parts;
  };
}

const isCalled = (match, line) => line[match.index + match[0].length] === "(";

const formulaWords = new Set(["and", "or", "not", "else", "inf", "pi"]);

const formulaParts = partsBy(/[\p{L}_][\p{L}\p{N}_]*|(?:\d|\.\d)[\w.]*|[-+*/%<>=!]+/gu,
  (match, line) => {
    const [text] = match;
    if (/^[.\d]/.test(text))
      return "number";
    if (!/^[\p{L}_]/u.test(text))
      return "operator";
    if (formulaWords.has(text))
      return "keyword";
    return isCalled(match, line) ? "function" : "name";
  });

const prose = new Set(["doc", "name"]);
const json = /\/\*|\/\/.*|"(?:[^"\\]|\\.)*"?|[-+]?\d[\w.+-]*|\b(?:true|false|null)\b/g;

/** Where a comment over several lines ends in this one. */
function commentEnd(line, from, state) {
  const end = line.indexOf("*/", from);
  state.inComment = end < 0;
  return end < 0 ? line.length : end + 2;
}

function jsonParts(line, state) {
  const parts = [];
  let done = 0;
  if (state.inComment) {
    done = commentEnd(line, 0, state);
    parts.push([0, done, "comment"]);
  }
  for (const match of line.matchAll(json)) {
    const start = match.index, text = match[0], end = start + text.length;
    if (start < done)
      continue;
    if (text === "/*") {
      done = commentEnd(line, end, state);
      parts.push([start, done, "comment"]);
      continue;
    }
    if (text.startsWith("/")) {
      parts.push([start, end, "comment"]);
    } else if (!text.startsWith('"')) {
      parts.push([start, end, /\d/.test(text) ? "number" : "keyword"]);
    } else if (/^\s*:/.test(line.slice(end))) {
      state.key = text.slice(1, -1);
      parts.push([start, end, "key"]);
    } else if (prose.has(state.key)) {
      parts.push([start, end, "string"]);
    } else {
      parts.push([start, start + 1, "quote"], ...formulaParts(text.slice(1), start + 1));
      if (text.length > 1 && text.endsWith('"'))
        parts.push([end - 1, end, "quote"]);
    }
  }
  return parts;
}

/** The parts of each line of a spec: JSON with comments, and formulas in its strings. */
export function specParts(lines) {
  const state = { key: "", inComment: false };
  return lines.map((line) => jsonParts(line, state));
}

/** One pattern of several, in order of precedence. */
const anyOf = (...patterns) => new RegExp(patterns.map((one) => one.source).join("|"), "g");
const string = /"(?:[^"\\]|\\.)*"/, toTheEnd = /\/\/.*/;

const mlirKinds = { "/": "comment", '"': "string", "%": "name", "@": "function", "^": "function",
  "!": "type", "#": "type" };
const mlir = partsBy(
  anyOf(toTheEnd, string, /[%@^]\w+/, /[!#][a-z]\w*(?:\.\w+)*/, /\b[a-z]\w*\.[\w.]+/,
    /\b(?:0x[0-9A-F]+|\d[\d.]*(?:e[+-]?\d+)?)\b/),
  ([text]) => mlirKinds[text[0]] ?? (/\d/.test(text[0]) ? "number" : "keyword"));

const cudaWords = new Set(("alignas auto bool break case const constexpr continue do else extern "
  + "false for if inline int namespace return static struct template true typename unsigned using "
  + "void while").split(" "));
const cudaTypes = /^(?:[iuf](?:8|16|32|64)|bf16|[A-Z]\w*[a-z]\w*|__\w+__)$/;

const cuda = partsBy(anyOf(toTheEnd, /^\s*#.*/, string, /[A-Za-z_]\w*/, /\b\d[\w.]*/),
  (match, line) => {
    const [text] = match;
    if (text.startsWith("//"))
      return "comment";
    if (text.trimStart().startsWith("#"))
      return "keyword";
    if (text.startsWith('"'))
      return "string";
    if (/^\d/.test(text))
      return "number";
    if (cudaWords.has(text))
      return "keyword";
    if (cudaTypes.test(text))
      return "type";
    return isCalled(match, line) ? "function" : "";
  });

const assemblyKinds = { "/": "comment", ";": "comment", '"': "string", "%": "name",
  "@": "function", ".": "type" };
const assembly = partsBy(
  anyOf(toTheEnd, /^\s*;.*/, string, /%[\w.$-]+/, /@!?%?\w+/, /^\s*\.[a-z]\w*/,
    /^\s*[a-z][\w.:]*(?=\s)/, /(?<== )[a-z]\w*/, /\b(?:0[xfd][0-9A-Fa-f]+|\d+)\b/),
  ([text]) => {
    const first = text.trimStart()[0];
    return assemblyKinds[first] ?? (/\d/.test(first) ? "number" : "keyword");
  });

/** By what is emitted: the parts of one line. */
export const partsOfText = {
  attn: mlir, red: mlir, tile: mlir, cuda, ptx: assembly, llvm: assembly,
};

/**
 * The nodes of a line: its parts, and `marks` [start, end, kind] that may lie across them.
 */
export function colouredLine(line, parts, marks = []) {
  const edges = new Set([0, line.length]);
  for (const [start, end] of [...parts, ...marks])
    edges.add(start).add(end);
  const at = [...edges].filter((edge) => edge <= line.length).sort((a, b) => a - b);
  const covering = (list, from) => list.filter(([start, end]) => start <= from && from < end);
  const nodes = document.createDocumentFragment();
  for (let i = 0; i + 1 < at.length; ++i) {
    const kinds = [...covering(parts, at[i]), ...covering(marks, at[i])].map(([, , kind]) => kind);
    const text = line.slice(at[i], at[i + 1]);
    if (!kinds.length) {
      nodes.append(text);
      continue;
    }
    const span = document.createElement("span");
    span.className = kinds.join(" ");
    span.textContent = text;
    nodes.append(span);
  }
  return nodes;
}
