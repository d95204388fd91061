// The chart: a view on a scene that can be zoomed and panned by mouse, touch and keys, read by hovering
// or by arrow keys, and as a table. The scene is made elsewhere; finer data is asked for by `onView`.

import { MARGIN, band, frame, paint, palette, toX, toY } from "./draw.js";
import { lowerBound } from "./scale.js";
import { el, place, showBytes } from "./words.js";

const HEIGHT = 360;
const STRIP = 44;
/** Rows of the table that stands beside the picture. */
const ROWS = 25;

export class Chart {
  /** @param {string} label @param {(from: number, to: number) => void} onView */
  constructor(label, onView) {
    this.onView = onView;
    /** @type {Scene | null} */
    this.scene = null;
    this.from = 0;
    this.to = 1;
    /** @type {number | null} */
    this.cursor = null;
    /** @type {{kind: "zoom" | "pan" | "strip", at: number, now: number, from: number, to: number} | null} */
    this.drag = null;
    /** How long the last drawing took and how many points it had: benches and tests read them. */
    this.cost = { ms: 0, points: 0 };
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { class: "picture", "aria-hidden": "true" }));
    this.over = /** @type {HTMLCanvasElement} */ (el("canvas", {
      class: "over", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": label,
      "aria-describedby": "chart-keys",
    }));
    this.strip = /** @type {HTMLCanvasElement} */ (el("canvas", { class: "strip", "aria-hidden": "true" }));
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.voice = el("p", { class: "for-readers", role: "status", "aria-live": "polite" });
    this.table = el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Numbers of the chart" });
    const stage = el("div", { class: "stage" }, this.canvas, this.over, this.tip);
    const numbers = el("details", { class: "numbers", toggle: () => this.tabulate() }, el("summary", {}, "Numbers as a table"), this.table);
    this.root = el("div", { class: "chart" }, stage, this.strip, this.voice, numbers);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  /** @param {Scene} scene @param {boolean} keep the view as it is */
  show(scene, keep) {
    const [before, atEnd] = [this.scene, this.scene && this.to >= this.scene.to];
    this.scene = scene;
    const whole = !before || (this.from <= before.from && atEnd);
    if (!keep || whole) [this.from, this.to] = [scene.from, scene.to];
    // Who looks at the newest part goes on looking at it.
    else if (atEnd) [this.from, this.to] = [this.from + scene.to - this.to, scene.to];
    this.draw();
    this.tabulate();
  }

  /** @param {number} from @param {number} to */
  zoom(from, to) {
    const scene = this.scene;
    if (!scene) return;
    const least = (scene.to - scene.from) * 1e-5;
    const length = Math.min(Math.max(to - from, least), scene.to - scene.from);
    const middle = (from + to) / 2;
    this.from = Math.max(scene.from, Math.min(middle - length / 2, scene.to - length));
    this.to = this.from + length;
    this.later();
    this.tabulate();
    this.onView(this.from, this.to);
  }

  reset() {
    if (this.scene) this.zoom(this.scene.from, this.scene.to);
  }

  /** @param {number} factor below 1 is nearer @param {number} [around] */
  scale(factor, around = this.cursor ?? (this.from + this.to) / 2) {
    this.zoom(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  /** @param {number} share of what is in sight */
  pan(share) {
    const by = (this.to - this.from) * share;
    this.zoom(this.from + by, this.to + by);
  }

  later() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  frame() {
    const scene = /** @type {Scene} */ (this.scene);
    return frame(scene, this.from, this.to, this.root.clientWidth, HEIGHT);
  }

  draw() {
    const scene = this.scene;
    const width = this.root.clientWidth;
    if (!scene || !width) return;
    const began = performance.now();
    const g = sized(this.canvas, width, HEIGHT);
    if (scene.to > scene.from) this.cost.points = paint(g, this.frame(), scene);
    this.drawStrip(scene, width);
    this.drawOver();
    this.cost.ms = performance.now() - began;
  }

  /** The whole run below, with a window where the view is. @param {Scene} scene @param {number} width */
  drawStrip(scene, width) {
    const g = sized(this.strip, width, STRIP);
    const colour = palette();
    const f = { ...frame(scene, scene.from, scene.to, width, STRIP), left: MARGIN.left, top: 4, height: STRIP - 8 };
    const line = scene.layers[0]?.line ?? stackLine(scene);
    if (line) band(g, f, { label: "", colour: colour("muted"), line }, scene.gap);
    const [a, b] = [toX(f, this.from), toX(f, this.to)];
    g.fillStyle = colour("veil");
    g.fillRect(f.left, 0, Math.max(0, a - f.left), STRIP);
    g.fillRect(b, 0, Math.max(0, f.left + f.width - b), STRIP);
    g.strokeStyle = colour("axis");
    g.lineWidth = 1;
    g.strokeRect(a + 0.5, 0.5, Math.max(2, b - a - 1), STRIP - 1);
  }

  /** Cursor and selection. */
  drawOver() {
    const scene = this.scene;
    if (!scene) return;
    const g = sized(this.over, this.root.clientWidth, HEIGHT);
    const f = this.frame();
    const colour = palette();
    if (this.drag?.kind === "zoom") {
      g.fillStyle = colour("select");
      g.fillRect(Math.min(this.drag.at, this.drag.now), f.top, Math.abs(this.drag.now - this.drag.at), f.height);
    }
    if (this.cursor === null || this.cursor < f.from || this.cursor > f.to) {
      this.tip.hidden = true;
      return;
    }
    const x = toX(f, this.cursor);
    g.strokeStyle = colour("text");
    g.globalAlpha = 0.5;
    g.beginPath();
    g.moveTo(x, f.top);
    g.lineTo(x, f.top + f.height);
    g.stroke();
    g.globalAlpha = 1;
    const found = this.values(this.cursor);
    for (const { colour: own, high } of found) {
      g.fillStyle = own;
      g.beginPath();
      g.arc(x, toY(f, high), 3.5, 0, 7);
      g.fill();
    }
    this.showTip(scene, x, found);
  }

  /** @param {Scene} scene @param {number} x @param {{label: string, colour: string, text: string}[]} found */
  showTip(scene, x, found) {
    const rows = found.map(({ label, colour, text }) => {
      const dot = el("span", { class: "dot" });
      dot.style.background = colour;
      return el("div", { class: "tip-row" }, dot, el("span", {}, label), el("b", {}, text));
    });
    this.tip.replaceChildren(el("div", { class: "tip-head" }, scene.say(/** @type {number} */ (this.cursor))), ...rows);
    this.tip.hidden = false;
    const room = this.root.clientWidth;
    const left = x + 14 + this.tip.offsetWidth > room ? x - 14 - this.tip.offsetWidth : x + 14;
    this.tip.style.transform = `translate(${Math.round(Math.max(0, left))}px, ${MARGIN.top + 6}px)`;
  }

  /** What all lines show at a place. @param {number} x */
  values(x) {
    const scene = /** @type {Scene} */ (this.scene);
    const found = [];
    for (const { label, colour, line } of scene.layers) {
      const i = nearest(line.x, x);
      if (i < 0) continue;
      const [low, high] = [line.low[i], line.high[i]];
      const text = scene.show(low) === scene.show(high) ? scene.show(high) : `${scene.show(low)} to ${scene.show(high)}`;
      found.push({ label, colour, low, high, text });
    }
    if (scene.stack) {
      const { stack, colours, labels } = scene.stack;
      const i = nearest(stack.x, x);
      let sum = 0;
      if (i >= 0) {
        stack.parts.forEach((part, nth) => {
          sum += part[i];
          found.push({ label: labels[nth], colour: colours[nth], low: part[i], high: sum, text: showBytes(part[i]) });
        });
        found.reverse();
        found.unshift({ label: "whole tree", colour: palette()("text"), low: stack.total[i], high: stack.total[i], text: showBytes(stack.total[i]) });
      }
    }
    return found;
  }

  /** The same numbers for those who cannot see the picture. */
  tabulate() {
    const scene = this.scene;
    if (!scene || !(/** @type {HTMLDetailsElement} */ (this.table.parentElement).open)) return;
    const places = Array.from({ length: ROWS }, (_, n) => this.from + ((this.to - this.from) * n) / (ROWS - 1));
    const columns = this.values(this.from).map(({ label }) => el("th", { scope: "col" }, label));
    const rows = places.map((x) => el("tr", {}, el("th", { scope: "row" }, scene.say(x)),
      ...this.values(x).map(({ text }) => el("td", {}, text))));
    const head = el("tr", {}, el("th", { scope: "col" }, place(scene.axis, this.from).replace(/[\d\s]+.*/, "") || "time"), ...columns);
    this.table.replaceChildren(el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
  }

  /** @param {number} x */
  look(x) {
    const scene = this.scene;
    if (!scene) return;
    this.cursor = Math.min(Math.max(x, this.from), this.to);
    this.drawOver();
    const found = this.values(this.cursor).map(({ label, text }) => `${label} ${text}`);
    this.voice.textContent = `${scene.say(this.cursor)}: ${found.join(", ")}`;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const step = (this.to - this.from) / 100;
    const at = this.cursor ?? this.from;
    const far = event.shiftKey;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => (far ? this.pan(-0.2) : this.look(at - step)),
      ArrowRight: () => (far ? this.pan(0.2) : this.look(at + step)),
      ArrowUp: () => this.scale(0.7), ArrowDown: () => this.scale(1 / 0.7),
      "+": () => this.scale(0.7), "=": () => this.scale(0.7), "-": () => this.scale(1 / 0.7), "0": () => this.reset(),
      Home: () => this.look(this.from), End: () => this.look(this.to),
      Escape: () => { this.cursor = null; this.drawOver(); },
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  listen() {
    const { over, strip } = this;
    const at = (/** @type {MouseEvent} */ event, /** @type {HTMLElement} */ on) => event.clientX - on.getBoundingClientRect().left;
    const inverse = (/** @type {number} */ px, /** @type {{left: number, width: number, from: number, to: number}} */ f) =>
      f.from + ((px - f.left) / f.width) * (f.to - f.from);
    over.addEventListener("keydown", (event) => this.key(event));
    over.addEventListener("dblclick", () => this.reset());
    over.addEventListener("pointerleave", () => { if (!this.drag) { this.cursor = null; this.drawOver(); } });
    over.addEventListener("wheel", (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!event.ctrlKey && !event.metaKey && !sideways) return;
      event.preventDefault();
      if (sideways && !event.ctrlKey) this.pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
      else this.scale(event.deltaY > 0 ? 1.25 : 0.8, inverse(at(event, over), this.frame()));
    }, { passive: false });
    over.addEventListener("pointerdown", (event) => {
      if (!this.scene || event.button !== 0) return;
      const px = at(event, over);
      const kind = event.shiftKey || event.pointerType === "touch" ? "pan" : "zoom";
      this.drag = { kind, at: px, now: px, from: this.from, to: this.to };
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", (event) => {
      if (!this.scene) return;
      const px = at(event, over);
      const f = this.frame();
      if (this.drag?.kind === "pan") {
        const by = ((this.drag.at - px) / f.width) * (this.drag.to - this.drag.from);
        this.zoom(this.drag.from + by, this.drag.to + by);
        return;
      }
      if (this.drag) this.drag.now = px;
      this.cursor = Math.min(Math.max(inverse(px, f), f.from), f.to);
      this.drawOver();
    });
    over.addEventListener("pointerup", (event) => {
      const drag = this.drag;
      this.drag = null;
      if (!drag || !this.scene) return;
      const px = at(event, over);
      const f = this.frame();
      // A click is no selection.
      if (drag.kind === "zoom" && Math.abs(px - drag.at) > 6) {
        this.zoom(inverse(Math.min(px, drag.at), f), inverse(Math.max(px, drag.at), f));
      } else this.drawOver();
    });
    const slide = (/** @type {PointerEvent} */ event) => {
      const scene = this.scene;
      if (!scene || !(event.buttons & 1)) return;
      const room = { left: MARGIN.left, width: this.root.clientWidth - MARGIN.left - MARGIN.right, from: scene.from, to: scene.to };
      const middle = inverse(at(event, strip), room);
      this.zoom(middle - (this.to - this.from) / 2, middle + (this.to - this.from) / 2);
    };
    strip.addEventListener("pointerdown", (event) => { strip.setPointerCapture(event.pointerId); slide(event); });
    strip.addEventListener("pointermove", slide);
  }
}

/** @param {Scene} scene @returns {Line | null} */
function stackLine(scene) {
  const all = scene.stack?.stack;
  return all ? { who: "tree", meter: "held", x: all.x, low: all.total, high: all.total } : null;
}

/** @param {number[]} values @param {number} x */
function nearest(values, x) {
  const i = Math.min(lowerBound(values, x), values.length - 1);
  return i > 0 && x - values[i - 1] < values[i] - x ? i - 1 : i;
}

/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    [canvas.width, canvas.height] = [w, h];
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  }
  const g = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  return g;
}
