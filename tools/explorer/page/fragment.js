// The state of the page as the fragment of its URL: a version, and JSON, deflated, in base64url.

const version = "1";
const mostBytes = 4 << 20; // two specs of the greatest length, escaped
const fields = ["spec", "target", "tab", "set", "shape", "param", "grad", "schedule"];

async function through(stream, data, most = Infinity) {
  const chunks = [];
  let size = 0;
  const reader = new Blob([data]).stream().pipeThrough(stream).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    size += read.value.length;
    if (size > most)
      throw new RangeError("the link holds more than a spec may be long");
    chunks.push(read.value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

function toBase64Url(data) {
  let binary = "";
  for (let i = 0; i < data.length; i += 4096)
    binary += String.fromCharCode(...data.subarray(i, i + 4096));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64Url(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

/** Only the fields that are known, as text: a link is written by anyone. */
function paneOf(given) {
  const text = (value) => typeof value === "string" ? value : "";
  return Object.fromEntries(fields.map((field) => [field, text(given?.[field])]));
}

/** The fragment of one or two panes. */
export async function encodePanes(panes) {
  const json = JSON.stringify({ panes: panes.map(paneOf) });
  const data = new TextEncoder().encode(json);
  return `${version}.${toBase64Url(await through(new CompressionStream("deflate-raw"), data))}`;
}

/** The panes of a fragment. Throws an Error that says why it cannot be read. */
export async function decodePanes(fragment) {
  const dot = fragment.indexOf(".");
  if (fragment.slice(0, dot) !== version)
    throw new Error("the link was made by another version of the explorer");
  try {
    const data = fromBase64Url(fragment.slice(dot + 1));
    const json = await through(new DecompressionStream("deflate-raw"), data, mostBytes);
    const { panes } = JSON.parse(new TextDecoder().decode(json));
    return panes.slice(0, 2).map(paneOf);
  } catch (error) {
    if (error instanceof RangeError)
      throw error;
    throw new Error("the link is damaged or incomplete", { cause: error });
  }
}
