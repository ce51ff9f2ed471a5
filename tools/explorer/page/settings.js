// What stands beside a spec: fields of text, and what they mean to the server.

/** "d=64, T=f16" as {d: 64, T: "f16"}. Throws an Error that says what is wrong. */
function pairs(text, field, isInteger) {
  const read = {};
  for (const part of text.split(",").map((one) => one.trim()).filter(Boolean)) {
    const [, name, value] = part.match(/^([^=\s]+)\s*=\s*(\S+)$/) ?? [];
    if (!name)
      throw new Error(`${field}: “${part}” is not NAME=VALUE`);
    if (isInteger && !/^\d+$/.test(value))
      throw new Error(`${field}: the extent of ${name} is a whole number, not “${value}”`);
    read[name] = /^-?\d+$/.test(value) ? Number(value) : value;
  }
  return read;
}

function scheduleOf(text) {
  let read;
  try {
    read = JSON.parse(text);
  } catch (error) {
    throw new Error(`Schedule: ${error.message}`, { cause: error });
  }
  if (read === null || typeof read !== "object" || Array.isArray(read))
    throw new Error('Schedule: an object of keys, such as {"stream_tile": 32}');
  return read;
}

/** The parts of a question that the state of a pane says, without the spec. Throws as above. */
export function questionOf(state) {
  const question = { target: state.target };
  const add = (key, read) => {
    if (state[key].trim())
      question[key] = read(state[key].trim());
  };
  add("set", (text) => pairs(text, "Set", false));
  add("shape", (text) => pairs(text, "Shape", true));
  add("param", (text) => pairs(text, "Params", false));
  add("grad", (text) => text.split(",").map((name) => name.trim()).join(","));
  add("schedule", scheduleOf);
  return question;
}

/** What differs from the defaults, in a few words. */
export function chosenWords(state) {
  return ["set", "shape", "param", "grad", "schedule"].filter((key) => state[key].trim())
    .map((key) => `${key} ${state[key].trim()}`).join(" · ");
}
