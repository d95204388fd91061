// Turns a report and a choice of line and axis into what the chart draws.

import { palette } from "./draw.js";
import { across, onSteps } from "./scale.js";
import { oomOf, place, showBytes, showDuration, showIn, underWay } from "./words.js";

/** @typedef {{who: string, meter: string, axis: Axis}} Choice */

/** Colours of the series, in this order, apart from each other for every kind of eye. */
const COLOURS = 8;
const ROLES = ["trainer", "loader-worker", "compile-worker", "launcher", "resource-tracker", "logger", "other", "rank"];

/** @param {string} role */
export function roleColour(role) {
  const known = ROLES.indexOf(role.split(" ")[0]);
  return palette()(`series-${(known < 0 ? ROLES.length - 2 : known) % COLOURS}`);
}

/** @param {number} nth */
export const nthColour = (nth) => palette()(`series-${nth % COLOURS}`);

/** The axes that this report can be shown on. @param {RunReport} report @returns {Axis[]} */
export function axes(report) {
  return report.axis === "time" && report.steps.length > 1 ? ["step", "time"] : [report.axis];
}

/** From one axis to another; beyond the last step by the last pace. @param {RunReport} report @param {number} x @param {Axis} from @param {Axis} to */
export function convert(report, x, from, to) {
  if (from === to || report.steps.length < 2) return x;
  return across(report.steps, x, from === "time" ? 0 : 1);
}

/** @param {RunReport} report @param {string} who */
export function nameOf(report, who) {
  if (who === "tree") return "whole tree";
  if (who === "series") return "memory";
  if (who === "stack") return "roles, stacked";
  if (who.startsWith("role:")) return `all ${who.slice(5)} processes`;
  const process = report.processes.find((p) => p.who === who);
  return process ? `${process.role} ${process.pid}` : who;
}

/** @param {RunReport} report @param {string} meter */
const unitOf = (report, meter) => report.meters.find((m) => m.name === meter)?.unit ?? "bytes";

/** The line of a report that a choice names. @param {RunReport} report @param {LineName} name */
export const findLine = (report, name) => report.lines.find((l) => l.who === name.who && l.meter === name.meter) ?? null;

/**
 * @param {RunReport} report @param {Choice} choice
 * @param {Line[]} lines @param {Stack | null} stack
 * @returns {Scene}
 */
export function makeScene(report, choice, lines, stack) {
  const { axis } = choice;
  const moved = report.axis !== axis;
  const here = (/** @type {number} */ x) => convert(report, x, report.axis, axis);
  const decides = choice.who === report.decides.who && choice.meter === report.decides.meter;
  const colour = palette();
  const layers = lines.map((line) => ({
    label: `${nameOf(report, line.who)}, ${line.meter}`,
    colour: decides ? colour("raw") : choice.who.startsWith("role:") ? roleColour(choice.who.slice(5)) : colour("floor"),
    line: moved ? onSteps(line, report.steps, ["low", "high"]) : line,
  }));
  const from = moved ? report.steps[0][1] : report.from;
  let to = Math.max(here(report.to), from);
  const forecast = decides ? forecastOn(report, axis) : null;
  if (forecast) to = Math.max(to, forecast.to);
  const other = axes(report).length > 1;
  return {
    axis, from, to, layers, forecast,
    show: (value) => showIn(choice.who === "stack" ? "bytes" : unitOf(report, choice.meter), value),
    floor: decides ? report.floor.map(([x, y]) => [convert(report, x, report.verdict.axis, axis), y]) : [],
    stack: stack && choice.who === "stack" ? stackOn(report, stack, moved) : null,
    spans: report.spans.map((s) => ({ phase: s.phase, from: here(s.from), to: here(s.to) })).filter((s) => s.to >= s.from),
    flags: flagsOf(report, axis, decides || choice.who === "stack" || choice.who === "tree"),
    limit: report.room && (decides || choice.who === "stack" || choice.who === "tree") ? limitOf(report) : null,
    gap: axis === "time" && report.header ? report.header.interval * 5 : 0,
    say: (x) => {
      if (!other) return place(axis, x);
      const [step, time] = axis === "step" ? [x, convert(report, x, "step", "time")] : [convert(report, x, "time", "step"), x];
      const words = [Number.isFinite(step) ? place("step", step) : "before the first step", showDuration(time)];
      return (axis === "step" ? words : words.reverse()).join(" · ");
    },
  };
}

/** @param {RunReport} report */
function limitOf(report) {
  const room = /** @type {Room} */ (report.room);
  const alone = Math.abs(room.until - room.limit) < room.limit * 0.02;
  const label = alone
    ? `limit ${showBytes(room.limit)} (${room.from})`
    : `its room ends at ${showBytes(room.until)}: limit ${showBytes(room.limit)} (${room.from}), shared with others`;
  return { bytes: room.until, label };
}

/** @param {RunReport} report @param {Axis} axis */
function forecastOn(report, axis) {
  const f = report.forecast;
  if (!f) return null;
  const [from, to] = [convert(report, f.from, f.axis, axis), convert(report, f.to, f.axis, axis)];
  if (!(to > from)) return null;
  // The same bytes over another length.
  const scale = (f.to - f.from) / (to - from);
  return { from, to, bytes: f.bytes, low: f.low * scale, value: f.value * scale, high: f.high * scale, plateau: f.plateau, end: underWay(report.verdict) ? "it ends at" : "if it ends with the epoch:" };
}

/** @param {RunReport} report @param {Stack} stack @param {boolean} moved */
function stackOn(report, stack, moved) {
  const start = moved ? stack.x.findIndex((x) => x >= report.steps[0][0]) : 0;
  const cut = start < 0 ? stack.x.length : start;
  const all = {
    ...stack, total: stack.total.slice(cut), parts: stack.parts.map((p) => p.slice(cut)),
    x: stack.x.slice(cut).map((x) => (moved ? across(report.steps, x, 0) : x)),
  };
  return { stack: all, colours: stack.roles.map(roleColour), labels: stack.roles };
}

/** @param {RunReport} report @param {Axis} axis @param {boolean} places @returns {Flag[]} */
function flagsOf(report, axis, places) {
  const found = /** @type {Flag[]} */ ([]);
  for (const epoch of report.epochs) {
    const x = axis === "step" ? epoch.step : epoch.at;
    if (x !== null) found.push({ x, label: `epoch ${epoch.number}`, kind: "epoch" });
  }
  for (const attempt of report.attempts) {
    const x = convert(report, attempt.at, "time", axis);
    if (Number.isFinite(x)) found.push({ x, label: `attempt ${attempt.number}`, kind: "place" });
  }
  const v = report.verdict;
  const add = (/** @type {number | null | undefined} */ x, /** @type {string} */ label) => {
    if (x === null || x === undefined) return;
    const here = convert(report, x, v.axis, axis);
    if (Number.isFinite(here)) found.push({ x: here, label, kind: "place" });
  };
  if (places) {
    add(v.settled_at, "settled");
    add(v.decides_at, "decidable");
    add(oomOf(v)?.at, "out of memory");
  }
  return found;
}

/** The meters that a line can be shown by, the usual one first. @param {RunReport} report @param {LineName[]} names @param {string} who */
export function metersOf(report, names, who) {
  const own = names.filter((n) => n.who === who).map((n) => n.meter);
  return report.meters.filter((m) => own.includes(m.name));
}
