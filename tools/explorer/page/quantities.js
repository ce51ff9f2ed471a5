// Numbers as people read them.

/** Four digits and a prefix: 12.9 M. */
export function count(value) {
  const units = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e4, " k", 1e3]];
  for (const [from, unit, scale = from] of units) {
    if (value >= from)
      return (value / scale).toPrecision(3) + unit;
  }
  return String(Math.round(value * 100) / 100);
}

export function bytes(value) {
  let unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return unit ? `${value.toFixed(1)} ${["", "KiB", "MiB", "GiB", "TiB"][unit]}` : `${value} bytes`;
}

export function share(value) {
  return `${Math.round(value * 100)} %`;
}

/** JSON has no infinities and no NaN: they come as null. */
export function real(value) {
  return value === null || value === undefined ? "not finite" : value.toPrecision(3);
}

export function milliseconds(value) {
  return value < 1000 ? `${value.toPrecision(3)} ms` : `${(value / 1000).toPrecision(3)} s`;
}

export function plural(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
