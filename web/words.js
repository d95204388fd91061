// How numbers, places and names are written, as the program writes them, and the one way to make
// elements. Strings of a job are hostile: they only ever become text nodes.

import { GLOSSARY } from "./glossary.js";

/** Three significant digits and a decimal unit. @param {number} bytes */
export function showBytes(bytes) {
  const size = Math.abs(bytes);
  const units = /** @type {[number, string][]} */ ([[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]);
  const [divisor, unit] = units.find(([d]) => size >= d * 0.9995) ?? [1, "B"];
  const value = bytes / divisor;
  const digits = divisor === 1 ? 0 : Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2;
  return `${value.toFixed(digits)} ${unit}`.replace("-", "−");
}

/** The two largest units that matter. @param {number} seconds */
export function showDuration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 10 && seconds % 1 !== 0) return `${Math.max(0, seconds).toFixed(1)}s`;
  const total = Math.round(Math.max(0, seconds));
  const [d, h, m, s] = [Math.floor(total / 86400), Math.floor(total / 3600) % 24, Math.floor(total / 60) % 60, total % 60];
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return d ? `${d}d ${h}h` : h ? `${h}h ${two(m)}m` : m ? `${m}m ${two(s)}s` : `${s}s`;
}

/** @param {number} value */
export function showCount(value) {
  return Math.round(value).toLocaleString("en-GB").replaceAll(",", " ");
}

/** `step 83`, `3m 20s`, `sample 12`. @param {Axis} axis @param {number} x */
export function place(axis, x) {
  return axis === "time" ? showDuration(x) : `${axis} ${showCount(x)}`;
}

/** `21 MB/step`, `3.2 MB/min`. @param {Axis} axis @param {number} slope */
export function pace(axis, slope) {
  return axis === "time" ? `${showBytes(slope * 60)}/min` : `${showBytes(slope)}/${axis}`;
}

/** @param {number} share */
export function percent(share) {
  const value = share * 100;
  return `${value !== 0 && Math.abs(value) < 10 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/** @param {number} seconds since 1970 */
export function showTime(seconds) {
  return new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** The words of a verdict, and the sign that stands for it where colour cannot. */
export const VERDICTS = /** @type {Record<string, {word: string, sign: string}>} */ ({
  leak: { word: "leak", sign: "↗" },
  growing: { word: "growing", sign: "⇡" },
  "too-early": { word: "too early", sign: "…" },
  "warm-up": { word: "warm-up", sign: "⌐" },
  spikes: { word: "spikes", sign: "∧" },
  stable: { word: "stable", sign: "—" },
});

/** Growth that is not decided has a word of its own. @param {{verdict: string, growing: boolean}} v */
export const wordOf = (v) => (v.verdict === "too-early" && v.growing ? "growing" : v.verdict);

/** Growth whose end is known and has not come. @param {Verdict} v */
export const underWay = (v) => v.verdict === "warm-up" && v.settled_at === null;

/** When memory runs out, if that comes before the run's own end. @param {Verdict} v */
export const oomOf = (v) => (v.oom && v.oom.at <= (v.outlook?.ends_at ?? Infinity) ? v.oom : null);

const FITS = /** @type {Record<string, string>} */ ({ yes: "fits", tight: "may not fit", no: "does not fit" });

/** `fits`, after what stands before it. @param {string} lead @param {string | null} fits */
export const fitsWord = (lead, fits) => (fits === null ? "" : `${lead}${FITS[fits] ?? fits}`);

/** A value of a meter, in its unit. @param {string} unit @param {number} value */
export function showIn(unit, value) {
  if (unit === "bytes") return showBytes(value);
  // Lines hold whole numbers: microseconds.
  return unit === "seconds" ? showDuration(value / 1e6) : showCount(value);
}

/** Names that others chose, with what cannot be seen written out: a line must not turn around. @param {string} text */
const seen = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${/** @type {number} */ (c.codePointAt(0)).toString(16)}}`);

/**
 * Makes an element. Children that are strings become text, whatever they hold.
 * @param {string} tag
 * @param {Record<string, string | boolean | null | undefined | ((event: any) => void)>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (typeof value === "string") made.setAttribute(name, seen(value));
  }
  for (const child of children) if (child || child === "") made.append(typeof child === "string" ? seen(child) : child);
  return made;
}

/** How often such a call is right, never all of them; none where that is not known. @param {Verdict} v */
export function confidence(v) {
  if (v.confidence === null) return null;
  const share = Math.min(99, Math.round(100 * v.confidence));
  return el("span", { class: "quiet confidence", title: GLOSSARY["confidence"] }, `${share} % of calls like this are right`);
}

/** @param {string} verdict */
export function badge(verdict) {
  const { word, sign } = VERDICTS[verdict] ?? { word: verdict, sign: "?" };
  const known = verdict in VERDICTS ? verdict : "unknown";
  return el("span", { class: `badge ${known}`, title: GLOSSARY[word] }, el("span", { "aria-hidden": "true", class: "sign" }, sign), word);
}

/**
 * A part of the page with its heading.
 * @param {string} title
 * @param {string | null} lead
 * @param {...(Node | string | null | undefined | false)} children
 */
export function card(title, lead, ...children) {
  const id = `card-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const head = el("h2", { id }, title);
  return el("section", { class: "card", id: `${id}-box`, "aria-labelledby": id }, head, lead && el("p", { class: "lead" }, lead), ...children);
}

/** What stands where there is nothing yet. @param {string} title @param {...(Node | string)} says */
export function empty(title, ...says) {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, title), el("p", {}, ...says));
}
