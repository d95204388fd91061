// The page of one run: verdict, chart, and everything that explains them.

import { Chart } from "./chart.js";
import { attempts, breakdown, death, events, evidence, explanation, facts, glossary, processes, roles } from "./parts.js";
import { axes, convert, findLine, makeScene, metersOf, nameOf } from "./scene.js";
import { badge, card, confidence, el, fitsWord, oomOf, pace, place, showBytes, showCount, showDuration, underWay, wordOf } from "./words.js";

const KEYS = "Arrow keys move the cursor, with Shift they pan; + and − zoom, 0 shows everything, Home and End go to the edges. With the mouse: drag to zoom, Shift and drag to pan, double-click for everything.";
/** Finer data is asked for when the view has stood still this long. */
const STILL = 120;

export class RunView {
  /** @param {Source} source */
  constructor(source) {
    this.source = source;
    /** @type {RunReport | null} */
    this.report = null;
    /** @type {LineName[]} */
    this.names = [];
    /** @type {import("./scene.js").Choice} */
    this.choice = { who: "", meter: "", axis: "time" };
    this.top = el("div", { class: "verdict-box" });
    /** Speaks when the verdict changes, and only then. */
    this.voice = el("p", { class: "for-readers", role: "status" });
    /** What the tools were made for: they are not taken out of somebody's hands every second. */
    this.toolsFor = "";
    this.tools = el("div", { class: "tools" });
    this.below = el("div", { class: "cards" });
    this.legend = el("p", { class: "legend" });
    this.chart = new Chart("Memory of the run", (from, to) => this.refine(from, to));
    const picture = card("Memory", null, this.tools, this.chart.root, this.legend, el("p", { class: "quiet keys", id: "chart-keys" }, KEYS));
    picture.classList.add("wide");
    this.root = el("div", { class: "run", "aria-busy": "true" }, this.voice, this.top, picture, this.below);
    this.moves = { select: (/** @type {string} */ who) => this.select(who), goTo: this.goTo.bind(this) };
  }

  /** Asks for everything again; the view and the choice stay. */
  async refresh() {
    const first = !this.report;
    await this.load();
    await this.fill(first);
  }

  /** Asks for what is shown. */
  async load() {
    [this.report, this.names] = await Promise.all([this.source.report(), this.source.names()]);
  }

  /** Shows it: the first time verdict and chart at once, and the rest when they are painted. @param {boolean} first */
  async fill(first) {
    const report = /** @type {RunReport} */ (this.report);
    if (first) this.choice = { ...report.decides, axis: axes(report).includes(report.verdict.axis) ? report.verdict.axis : report.axis };
    if (!axes(report).includes(this.choice.axis)) this.choice.axis = report.axis;
    this.fillTop(report);
    this.fillTools(report);
    await this.redraw(!first);
    if (first) await painted();
    this.fillBelow(report);
    this.root.removeAttribute("aria-busy");
  }

  /** @param {RunReport} report */
  fillTop(report) {
    const v = report.verdict;
    const process = v.process && el("p", { class: "whose" }, `${v.process.role} ${v.process.pid}: `, el("code", {}, v.process.command), el("span", { class: "quiet" }, ` (${v.process.why})`));
    const figures = figuresOf(report).map(([label, value, note]) =>
      el("div", { class: "figure" }, el("dt", {}, label), el("dd", {}, value, note && el("span", { class: "note" }, note))));
    const word = wordOf(v);
    // What the run needs has a line of its own, below the headline that ends with it.
    const outlook = v.outlook && el("p", { class: `outlook ${v.outlook.fits ?? ""}` }, `This run ${v.outlook.says}`);
    const answer = v.outlook ? report.headline.replace(`; this run ${v.outlook.says}`, "") : report.headline;
    this.top.className = `verdict-box ${word}`;
    this.top.replaceChildren(el("p", { class: "over-title" }, badge(word), confidence(v), ...v.also.map((also) => el("span", { class: "quiet" }, `also ${also}`)), el("span", { class: "run-name" }, report.name)),
      el("h1", {}, answer), outlook ?? "", process ?? "", el("dl", { class: "figures" }, ...figures));
    const title = `${word}: ${report.name} – lowtide`;
    if (document.title !== title) this.voice.textContent = `Verdict: ${report.headline}`;
    document.title = title;
  }

  /** @param {RunReport} report */
  fillTools(report) {
    const whos = [...new Set([report.decides.who, ...(report.stack ? ["stack"] : []), ...this.names.map((n) => n.who)])];
    const made = JSON.stringify([whos, this.names, this.choice, axes(report)]);
    if (made === this.toolsFor) return;
    this.toolsFor = made;
    const before = document.activeElement instanceof HTMLElement ? document.activeElement.id : "";
    const option = (/** @type {string} */ value, /** @type {string} */ text, /** @type {string} */ now) =>
      el("option", { value, selected: value === now }, text);
    const line = el("select", { id: "pick-line", change: (/** @type {any} */ e) => this.select(e.target.value) },
      ...whos.map((who) => option(who, nameOf(report, who), this.choice.who)));
    const meters = metersOf(report, this.names, this.choice.who);
    const meter = meters.length > 1 && el("select", { id: "pick-meter", change: (/** @type {any} */ e) => { this.choice = { ...this.choice, meter: e.target.value }; void this.redraw(true); } },
      ...meters.map((m) => option(m.name, `${m.label}: ${m.meaning}`, this.choice.meter)));
    const axis = axes(report).length > 1 && el("div", { class: "switch", role: "group", "aria-label": "Axis" },
      ...axes(report).map((a) => el("button", { type: "button", id: `axis-${a}`, "aria-pressed": String(a === this.choice.axis), click: () => this.setAxis(a) }, a === "step" ? "steps" : a)));
    const button = (/** @type {string} */ id, /** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ click) =>
      el("button", { type: "button", id, "aria-label": label, title: label, click }, text);
    this.tools.replaceChildren(
      el("label", { for: "pick-line" }, "Show"), line, ...(meter ? [el("label", { for: "pick-meter" }, "by"), meter] : []), el("span", { class: "push" }), axis || "",
      el("div", { class: "switch", role: "group", "aria-label": "Zoom" }, button("zoom-in", "+", "Zoom in", () => this.chart.scale(0.6)),
        button("zoom-out", "−", "Zoom out", () => this.chart.scale(1 / 0.6)), button("zoom-all", "all", "Show all", () => this.chart.reset())));
    if (before) document.getElementById(before)?.focus();
  }

  /** @param {RunReport} report */
  fillBelow(report) {
    const { moves } = this;
    // Who reads or works in it is not interrupted; what was unfolded stays so.
    if (this.below.contains(document.activeElement)) return;
    const unfolded = [...this.below.querySelectorAll("details[open]")].map((one) => one.closest("section")?.id);
    const column = (/** @type {(HTMLElement | null)[]} */ ...cards) => el("div", { class: "column" }, ...cards);
    const found = report.explanation ? explanation(report.explanation, moves) : { cards: [], rest: [] };
    const bytes = report.breakdowns.map((one) => breakdown(report, one));
    const tree = processes(report, moves);
    const wide = [...found.cards, ...bytes, tree].filter((one) => one !== null);
    for (const one of wide) one.classList.add("wide");
    this.below.replaceChildren(column(death(report), evidence(report, moves)), column(facts(report), attempts(report, moves), roles(report), events(report, moves)), ...found.cards, ...bytes, ...found.rest, tree ?? "", glossary());
    for (const id of unfolded) this.below.querySelector(`#${id} details`)?.setAttribute("open", "");
  }

  /** @param {string} who */
  select(who) {
    const meters = this.report ? metersOf(this.report, this.names, who).map((m) => m.name) : [];
    this.choice.who = who;
    this.choice.meter = meters.includes(this.choice.meter) ? this.choice.meter : (meters[0] ?? "held");
    if (this.report) this.fillTools(this.report);
    void this.redraw(true);
    this.chart.root.scrollIntoView({ block: "nearest" });
  }

  /** @param {Axis} axis */
  setAxis(axis) {
    const report = /** @type {RunReport} */ (this.report);
    const view = [this.chart.from, this.chart.to].map((x) => convert(report, x, this.choice.axis, axis));
    const whole = this.chart.scene && this.chart.from <= this.chart.scene.from && this.chart.to >= this.chart.scene.to;
    this.choice.axis = axis;
    this.fillTools(report);
    void this.redraw(false).then(() => {
      if (!whole && view.every(Number.isFinite)) this.chart.zoom(view[0], view[1]);
    });
  }

  /** Shows a place, or a stretch, and puts the cursor there. @param {Axis} axis @param {number} from @param {number} [to] */
  goTo(axis, from, to) {
    const report = /** @type {RunReport} */ (this.report);
    const scene = this.chart.scene;
    if (!scene) return;
    const [a, b] = [from, to ?? from].map((x) => convert(report, x, axis, this.choice.axis));
    if (!Number.isFinite(a)) return;
    const room = to === undefined ? (scene.to - scene.from) * 0.1 : (b - a) * 0.15;
    this.chart.zoom(a - room, b + room);
    this.chart.over.focus({ preventScroll: true });
    this.chart.root.scrollIntoView({ block: "center" });
    this.chart.look(a);
  }

  /** Draws the choice from what is at hand. @param {boolean} keep */
  async redraw(keep) {
    const report = /** @type {RunReport} */ (this.report);
    const stacked = this.choice.who === "stack";
    const have = stacked ? null : findLine(report, this.choice);
    const lines = stacked ? [] : have ? [have] : await this.source.lines([this.choice], report.from, report.to, 1600);
    this.chart.show(makeScene(report, this.choice, lines, report.stack), keep);
    this.chart.over.setAttribute("aria-label", `Memory of ${nameOf(report, this.choice.who)}: ${report.headline}`);
    this.legend.replaceChildren(...legend(report, stacked, this.choice));
    if (keep) this.refine(this.chart.from, this.chart.to);
  }

  /** Finer data for what is in sight, if there is any. @param {number} from @param {number} to */
  refine(from, to) {
    const report = this.report;
    if (!this.source.live || !report) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      const choice = this.choice;
      const scene = this.chart.scene;
      if (!scene || (from <= scene.from && to >= scene.to)) return;
      const [a, b] = [from, to].map((x) => convert(report, x, choice.axis, report.axis));
      const columns = Math.min(4000, Math.round(this.chart.root.clientWidth * 2));
      const stacked = choice.who === "stack";
      const [lines, stack] = await Promise.all([
        stacked ? [] : this.source.lines([choice], a, b, columns), stacked ? this.source.stack(a, b, columns) : null,
      ]);
      // The view may have moved on, or another report may have come.
      if (this.chart.from !== from || this.chart.to !== to || this.report !== report) return;
      const fine = makeScene(report, choice, lines, stack);
      this.chart.scene = { ...fine, from: scene.from, to: scene.to };
      this.chart.draw();
    }, STILL);
  }
}

/** Soon after the next frame; a page that nobody sees has no frames. @returns {Promise<void>} */
const painted = () => new Promise((done) => {
  requestAnimationFrame(() => setTimeout(done));
  if (document.hidden) done();
});

/** The forecast of growth goes to what is needed at the last step, where that is known. @param {Verdict} v */
const toItsEnd = (v) => (v.growing || v.verdict === "leak" || underWay(v)) && (v.outlook?.ends_at ?? null) !== null;

/** @param {RunReport} report @param {boolean} stacked @param {import("./scene.js").Choice} choice */
function legend(report, stacked, choice) {
  const key = (/** @type {string} */ kind, /** @type {string} */ text) => el("span", { class: "key" }, el("span", { class: `swatch ${kind}` }), text);
  const decides = choice.who === report.decides.who && choice.meter === report.decides.meter;
  const phases = [...new Set(report.spans.map((s) => s.phase))].filter((p) => p === "eval" || p === "save");
  return [
    ...(stacked ? [el("span", { class: "key" }, "Each column shows its highest moment: the parts were held together, and their sum was real.")] :
      [key(decides ? "raw" : "floor", "measured: the lowest of each column"), key("crest", "and up to the highest")]),
    ...(decides ? [key("floor", "floor: the low-water line that is judged")] : []),
    ...(decides && report.forecast ? [key("forecast", toItsEnd(report.verdict) ? "forecast, to what the run needs at its end" : "forecast, if nothing changes (95 %)")] : []),
    ...phases.map((p) => key(`phase-${p}`, p === "eval" ? "evaluation" : "saving")),
  ];
}

/** @param {RunReport} report @returns {[string, string, string?][]} */
function figuresOf(report) {
  const v = report.verdict;
  const s = report.summary;
  /** @type {[string, string, string?][]} */
  const figures = [["floor now", showBytes(v.floor.last), `from ${showBytes(v.floor.first)}`]];
  figures.push(["rate", pace(v.axis, v.rate.value), `${pace(v.axis, v.rate.low)} to ${pace(v.axis, v.rate.high)}`]);
  if (v.headroom !== null) figures.push(["headroom", showBytes(v.headroom), v.limit === null ? undefined : `limit ${showBytes(v.limit)}`]);
  const o = v.outlook;
  if (o) figures.push([o.seconds === 0 ? "needed" : "needs", o.seconds === 0 ? showBytes(o.needs.value) : `${showBytes(o.needs.low)} to ${showBytes(o.needs.high)}`, fitsWord("", o.fits) || undefined]);
  if (underWay(v) && v.predicted_plateau !== null) figures.push(["ends at", showBytes(v.predicted_plateau)]);
  const oom = oomOf(v);
  if (oom) {
    const inSeconds = oom.seconds ? `in ${showDuration(oom.seconds.at)}` : "";
    figures.push(["out of memory", place(v.axis, oom.at), inSeconds || `${place(v.axis, oom.low)} at the earliest`]);
  }
  if (v.settled_at !== null) figures.push(["settled", place(v.axis, v.settled_at), v.plateau === null ? undefined : `at ${showBytes(v.plateau)}`]);
  if (v.decides_at !== null) figures.push(["decidable", place(v.axis, v.decides_at), v.safe_until_then ? "memory suffices until then" : v.safe_until_then === false ? "memory may run out before" : undefined]);
  if (s?.last_step !== null && s?.last_step !== undefined) figures.push(["step", showCount(s.last_step), s.total_steps ? `of ${showCount(s.total_steps)}` : undefined]);
  if (s) figures.push(["watched", showDuration(s.seconds), `${showCount(s.samples)} samples`]);
  return figures;
}

