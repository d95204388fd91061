// Paints a scene on a canvas: shading, grid, lines or stack, forecast, limit, flags. Knows nothing of
// where the data comes from, and keeps no state.

import { lowerBound, ticks, timeTicks, toPixels } from "./scale.js";
import { showBytes, showCount, showDuration } from "./words.js";

export const MARGIN = { left: 70, right: 14, top: 34, bottom: 40 };
/** A limit further away than this many times the highest point would press the curve flat. */
const LIMIT_IN_SIGHT = 1.6;
const AXIS_WORDS = { step: "optimizer steps", time: "time since the start", sample: "samples, in order" };
/** A curve that stays above this share of its height need not be drawn from zero. */
const FROM_ZERO = 0.5;

/** Colours are read from the style sheet, so that the canvas follows light, dark and print. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  return (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
}

/** @typedef {{left: number, top: number, width: number, height: number, from: number, to: number, bottom: number, high: number}} Frame */

/** @param {Frame} f @param {number} x */
export const toX = (f, x) => f.left + ((x - f.from) / (f.to - f.from)) * f.width;
/** @param {Frame} f @param {number} y */
export const toY = (f, y) => f.top + (1 - (y - f.bottom) / (f.high - f.bottom)) * f.height;

/** The lowest and highest value in sight. @param {Scene} scene @param {number} from @param {number} to */
function extent(scene, from, to) {
  let [low, high] = [Infinity, -Infinity];
  for (const { line } of scene.layers) {
    const end = lowerBound(line.x, to);
    for (let i = Math.max(0, lowerBound(line.x, from) - 1); i < Math.min(line.x.length, end + 1); i++) {
      low = Math.min(low, line.low[i]);
      high = Math.max(high, line.high[i]);
    }
  }
  if (scene.stack) {
    const { x, total, parts } = scene.stack.stack;
    low = 0;
    for (let i = Math.max(0, lowerBound(x, from) - 1); i < Math.min(x.length, lowerBound(x, to) + 1); i++) {
      high = Math.max(high, total[i], parts.reduce((sum, part) => sum + part[i], 0));
    }
  }
  return [low, high];
}

/** @param {Scene} scene @param {number} from @param {number} to @param {number} width @param {number} height */
export function frame(scene, from, to, width, height) {
  let [low, high] = extent(scene, from, to);
  if (!(high > 0)) [low, high] = [0, 1];
  const cone = scene.forecast;
  if (cone && cone.to > from && cone.from < to) {
    const until = Math.min(cone.to, to) - cone.from;
    high = Math.max(high, Math.min(cone.bytes + cone.value * until, high * LIMIT_IN_SIGHT), cone.plateau ?? 0);
  }
  if (scene.limit && scene.limit.bytes <= high * LIMIT_IN_SIGHT) high = Math.max(high, scene.limit.bytes);
  const bottom = low > high * FROM_ZERO ? Math.max(0, low - (high - low) * 0.15 - high * 0.01) : 0;
  const top = high + (high - bottom) * 0.06 + high * 0.005;
  return {
    left: MARGIN.left, top: MARGIN.top, width: Math.max(10, width - MARGIN.left - MARGIN.right),
    height: Math.max(10, height - MARGIN.top - MARGIN.bottom), from, to, bottom, high: top,
  };
}

/** Paints all of it and says how many points that took. @param {CanvasRenderingContext2D} g @param {Frame} f @param {Scene} scene */
export function paint(g, f, scene) {
  const colour = palette();
  g.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  g.textBaseline = "middle";
  shade(g, f, scene, colour);
  grid(g, f, scene, colour);
  g.save();
  g.beginPath();
  g.rect(f.left, f.top, f.width, f.height);
  g.clip();
  let points = 0;
  if (scene.stack) points += stack(g, f, scene.stack);
  for (const layer of scene.layers) points += band(g, f, layer, scene.gap);
  if (scene.floor.length > 1) floor(g, f, scene.floor, colour);
  if (scene.forecast) cone(g, f, scene.forecast, colour);
  if (scene.limit) limit(g, f, scene.limit, colour);
  g.restore();
  flags(g, f, scene, colour);
  return points;
}

/** @typedef {(name: string) => string} Colour */

/** @param {CanvasRenderingContext2D} g @param {Frame} f @param {Scene} scene @param {Colour} colour */
function shade(g, f, scene, colour) {
  for (const span of scene.spans) {
    if (span.phase === "train" || span.to < f.from || span.from > f.to) continue;
    const left = Math.max(f.left, toX(f, span.from));
    const right = Math.min(f.left + f.width, toX(f, span.to));
    g.fillStyle = colour(`phase-${span.phase}`) || colour("phase-end");
    g.fillRect(left, f.top, Math.max(1, right - left), f.height);
    if (right - left > 34) {
      g.fillStyle = colour("muted");
      g.textAlign = "left";
      g.fillText(span.phase, left + 4, f.top + f.height - 9);
    }
  }
}

/** @param {CanvasRenderingContext2D} g @param {Frame} f @param {Scene} scene @param {Colour} colour */
function grid(g, f, scene, colour) {
  g.strokeStyle = colour("grid");
  g.fillStyle = colour("muted");
  g.lineWidth = 1;
  g.textAlign = "right";
  for (const y of ticks(f.bottom, f.high, f.height / 56)) {
    const at = Math.round(toY(f, y)) + 0.5;
    rule(g, f.left, at, f.left + f.width, at);
    g.fillText(scene.show(y), f.left - 8, at);
  }
  g.textAlign = "center";
  const time = scene.axis === "time";
  const places = (time ? timeTicks : ticks)(f.from, f.to, f.width / 110);
  const under = f.top + f.height + 14;
  for (const x of places) {
    const at = Math.round(toX(f, x)) + 0.5;
    rule(g, at, f.top + f.height, at, f.top + f.height + 4);
    const edge = at > f.left + f.width - 24;
    g.textAlign = edge ? "right" : "center";
    g.fillText(time ? showDuration(x) : showCount(x), edge ? f.left + f.width : at, under);
  }
  g.textAlign = "left";
  g.fillText(AXIS_WORDS[scene.axis], f.left, f.top + f.height + 32);
  g.strokeStyle = colour("axis");
  rule(g, f.left, f.top + f.height + 0.5, f.left + f.width, f.top + f.height + 0.5);
}

/** @param {CanvasRenderingContext2D} g @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function rule(g, x0, y0, x1, y1) {
  g.beginPath();
  g.moveTo(x0, y0);
  g.lineTo(x1, y1);
  g.stroke();
}

/**
 * A line with its band: from the floor to the crest of each column. Holes longer than `gap` stay open.
 * @param {CanvasRenderingContext2D} g @param {Frame} f @param {Layer} layer @param {number} gap
 */
export function band(g, f, layer, gap) {
  const { line, colour } = layer;
  const seen = toPixels(line, f.from, f.to, f.width);
  const count = line.x.length;
  const usual = count > 1 ? (line.x[count - 1] - line.x[0]) / (count - 1) : 0;
  const hole = (Math.max(gap, usual * 6) / (f.to - f.from)) * f.width;
  for (let start = 0; start < seen.at.length; ) {
    let end = start + 1;
    while (end < seen.at.length && (!(gap > 0) || seen.at[end] - seen.at[end - 1] <= Math.max(hole, 2))) end++;
    g.beginPath();
    for (let i = start; i < end; i++) g.lineTo(f.left + seen.at[i], toY(f, seen.high[i]));
    for (let i = end - 1; i >= start; i--) g.lineTo(f.left + seen.at[i], toY(f, seen.low[i]));
    g.closePath();
    g.globalAlpha = 0.28;
    g.fillStyle = g.strokeStyle = colour;
    g.fill();
    g.globalAlpha = 0.6;
    g.lineWidth = 0.75;
    g.stroke();
    g.globalAlpha = 1;
    g.lineWidth = 1.5;
    g.lineJoin = "round";
    g.beginPath();
    for (let i = start; i < end; i++) g.lineTo(f.left + seen.at[i], toY(f, seen.low[i]));
    if (end - start === 1) g.lineTo(f.left + seen.at[start] + 2, toY(f, seen.low[start]));
    g.stroke();
    start = end;
  }
  return seen.at.length * 2;
}

/** @param {CanvasRenderingContext2D} g @param {Frame} f @param {number[][]} points @param {Colour} colour */
function floor(g, f, points, colour) {
  g.strokeStyle = colour("floor");
  g.lineWidth = 2.5;
  g.lineJoin = "round";
  g.beginPath();
  for (const [x, y] of points) g.lineTo(toX(f, x), toY(f, y));
  g.stroke();
}

/** Of the columns on one pixel the highest is drawn. @param {Stack} all @param {Frame} f */
function highest(all, f) {
  const picked = [];
  let last = NaN;
  const end = Math.min(all.x.length, lowerBound(all.x, f.to) + 1);
  for (let i = Math.max(0, lowerBound(all.x, f.from) - 1); i < end; i++) {
    const pixel = Math.round(toX(f, all.x[i]));
    if (pixel !== last) picked.push(i);
    else if (all.total[i] > all.total[picked[picked.length - 1]]) picked[picked.length - 1] = i;
    last = pixel;
  }
  return picked;
}

/** @param {CanvasRenderingContext2D} g @param {Frame} f @param {NonNullable<Scene["stack"]>} scene */
function stack(g, f, { stack: all, colours }) {
  const picked = highest(all, f);
  const under = picked.map(() => 0);
  all.parts.forEach((part, nth) => {
    g.beginPath();
    picked.forEach((i, at) => g.lineTo(toX(f, all.x[i]), toY(f, under[at] + part[i])));
    for (let at = picked.length - 1; at >= 0; at--) g.lineTo(toX(f, all.x[picked[at]]), toY(f, under[at]));
    g.closePath();
    g.fillStyle = colours[nth];
    g.globalAlpha = 0.8;
    g.fill();
    g.globalAlpha = 1;
    picked.forEach((i, at) => { under[at] += part[i]; });
  });
  return picked.length * (all.parts.length + 1);
}

/** @param {CanvasRenderingContext2D} g @param {Frame} f @param {NonNullable<Scene["forecast"]>} c @param {Colour} colour */
function cone(g, f, c, colour) {
  const [x0, x1, y0] = [toX(f, c.from), toX(f, c.to), toY(f, c.bytes)];
  const at = (/** @type {number} */ slope) => toY(f, Math.max(0, c.bytes + slope * (c.to - c.from)));
  g.fillStyle = g.strokeStyle = colour("forecast");
  g.globalAlpha = 0.18;
  g.beginPath();
  g.moveTo(x0, y0);
  g.lineTo(x1, at(c.high));
  g.lineTo(x1, at(c.low));
  g.fill();
  g.globalAlpha = 1;
  g.setLineDash([6, 4]);
  g.lineWidth = 1.5;
  rule(g, x0, y0, x1, at(c.value));
  if (c.plateau !== null) {
    g.setLineDash([2, 3]);
    rule(g, x0, toY(f, c.plateau), x1, toY(f, c.plateau));
    g.textAlign = "right";
    g.fillText(`${c.end} ${showBytes(c.plateau)}`, Math.min(x1, f.left + f.width) - 4, toY(f, c.plateau) - 9);
  }
  g.setLineDash([]);
}

/** @param {CanvasRenderingContext2D} g @param {Frame} f @param {NonNullable<Scene["limit"]>} l @param {Colour} colour */
function limit(g, f, l, colour) {
  const y = toY(f, l.bytes);
  if (y < f.top) return;
  g.strokeStyle = g.fillStyle = colour("limit");
  g.lineWidth = 1.5;
  g.setLineDash([10, 5]);
  rule(g, f.left, y, f.left + f.width, y);
  g.setLineDash([]);
  g.textAlign = "left";
  g.fillText(l.label, f.left + 8, y + (y < f.top + 16 ? 11 : -9));
}

/** @param {CanvasRenderingContext2D} g @param {Frame} f @param {Scene} scene @param {Colour} colour */
function flags(g, f, scene, colour) {
  let free = { epoch: -Infinity, place: -Infinity };
  for (const flag of scene.flags) {
    if (flag.x < f.from || flag.x > f.to) continue;
    const x = Math.round(toX(f, flag.x)) + 0.5;
    const epoch = flag.kind === "epoch";
    g.strokeStyle = g.fillStyle = colour(epoch ? "muted" : "text");
    g.globalAlpha = epoch ? 0.7 : 1;
    g.lineWidth = 1;
    g.setLineDash(epoch ? [1, 4] : [3, 3]);
    rule(g, x, f.top, x, f.top + f.height);
    g.setLineDash([]);
    g.globalAlpha = 1;
    if (!epoch) {
      g.beginPath();
      g.moveTo(x, f.top + f.height);
      g.lineTo(x - 5, f.top + f.height + 8);
      g.lineTo(x + 5, f.top + f.height + 8);
      g.fill();
    }
    const room = g.measureText(flag.label).width + 8;
    const lane = epoch ? "epoch" : "place";
    const left = Math.min(Math.max(x - room / 2, f.left), f.left + f.width - room);
    if (left < free[lane]) continue;
    free[lane] = left + room;
    g.textAlign = "left";
    g.fillText(flag.label, left + 4, epoch ? f.top - 24 : f.top - 9);
  }
}
