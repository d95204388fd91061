// Where things lie on an axis: ticks at round places, and the way between seconds and steps.

/** Round places between two ends, about so many. @param {number} from @param {number} to @param {number} many */
export function ticks(from, to, many) {
  const raw = (to - from) / Math.max(1, many);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= raw) ?? raw;
  return between(from, to, step);
}

const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** The same for seconds. @param {number} from @param {number} to @param {number} many */
export function timeTicks(from, to, many) {
  const raw = (to - from) / Math.max(1, many);
  if (raw < 1) return ticks(from, to, many);
  const step = TIMES.find((s) => s >= raw) ?? Math.ceil(raw / 86400) * 86400;
  return between(from, to, step);
}

/** @param {number} from @param {number} to @param {number} step */
function between(from, to, step) {
  const found = [];
  for (let n = Math.ceil(from / step); n * step <= to && found.length < 100; n++) found.push(n * step);
  return found;
}

/** First index whose value is not smaller. @param {number[]} values @param {number} x */
export function lowerBound(values, x) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Goes from one column of the pairs to the other. Before the first pair there is nothing; after the
 * last one the pace of the last tenth goes on.
 * @param {number[][]} pairs @param {number} x @param {0 | 1} of the column that x is in
 */
export function across(pairs, x, of) {
  const other = of === 0 ? 1 : 0;
  const last = pairs.length - 1;
  if (last < 1 || x < pairs[0][of]) return NaN;
  let [low, high] = [0, last];
  if (x >= pairs[last][of]) {
    low = Math.min(last - 1, Math.floor(last * 0.9));
  } else {
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (pairs[middle][of] <= x) low = middle;
      else high = middle;
    }
  }
  const [a, b] = [pairs[low], pairs[high]];
  const span = b[of] - a[of];
  return span > 0 ? b[other] + ((x - b[of]) / span) * (b[other] - a[other]) : b[other];
}

/**
 * A line on another axis: what lies before the first step is left out.
 * @template {{x: number[]}} T
 * @param {T} line
 * @param {number[][]} steps
 * @param {(keyof T)[]} columns
 * @returns {T}
 */
export function onSteps(line, steps, columns) {
  const start = steps.length ? lowerBound(line.x, steps[0][0]) : line.x.length;
  const moved = { ...line, x: line.x.slice(start).map((x) => across(steps, x, 0)) };
  for (const name of columns) moved[name] = /** @type {any} */ (line[name]).slice(start);
  return moved;
}

/**
 * At most two values a pixel: the lowest and the highest of all that fall on it.
 * @param {{x: number[], low: number[], high: number[]}} line
 * @param {number} from @param {number} to @param {number} width in pixels
 */
export function toPixels(line, from, to, width) {
  const start = Math.max(0, lowerBound(line.x, from) - 1);
  const end = Math.min(line.x.length, lowerBound(line.x, to) + 1);
  const scale = width / (to - from);
  const out = { at: /** @type {number[]} */ ([]), low: /** @type {number[]} */ ([]), high: /** @type {number[]} */ ([]) };
  let last = -1;
  for (let i = start; i < end; i++) {
    const exact = (line.x[i] - from) * scale;
    const pixel = Math.round(exact);
    if (last >= 0 && Math.round(out.at[last]) === pixel) {
      out.low[last] = Math.min(out.low[last], line.low[i]);
      out.high[last] = Math.max(out.high[last], line.high[i]);
    } else {
      out.at.push(exact);
      out.low.push(line.low[i]);
      out.high.push(line.high[i]);
      last++;
    }
  }
  return out;
}
