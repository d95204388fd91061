// Two runs on one axis, from their own beginnings, and their numbers side by side.

import { Chart } from "./chart.js";
import { nthColour, axes, findLine } from "./scene.js";
import { onSteps } from "./scale.js";
import { badge, card, el, fitsWord, pace, place, showBytes, showDuration, wordOf } from "./words.js";

const FEW_KEYS = "Arrow keys move the cursor, + and − zoom, 0 shows everything.";

export class Compare {
  /** @param {RunReport[]} reports two of them */
  constructor(reports) {
    this.reports = reports;
    const shared = axes(reports[0]).filter((axis) => axes(reports[1]).includes(axis));
    this.axis = shared[0] ?? "time";
    this.chart = new Chart("Memory of two runs", () => undefined);
    this.tools = el("div", { class: "tools" }, el("span", { class: "push" }), shared.length > 1 && el("div", { class: "switch", role: "group", "aria-label": "Axis" },
      ...shared.map((axis) => el("button", { type: "button", "aria-pressed": String(axis === this.axis), click: (event) => {
        this.axis = axis;
        for (const one of event.target.parentElement.children) one.setAttribute("aria-pressed", String(one === event.target));
        this.draw();
      } }, axis === "step" ? "steps" : axis))));
    this.legend = el("p", { class: "legend" });
    const picture = card("Memory of the whole tree", null, this.tools, this.chart.root, this.legend, el("p", { class: "quiet keys", id: "chart-keys" }, FEW_KEYS));
    this.root = el("div", { class: "run" }, el("h1", {}, "Two runs"), picture, this.numbers());
    document.title = "Two runs – lowtide";
  }

  draw() {
    const layers = this.reports.map((report, nth) => {
      const line = findLine(report, { who: "tree", meter: "held" }) ?? report.lines[0];
      const moved = report.axis !== this.axis;
      const own = moved ? onSteps(line, report.steps, ["low", "high"]) : { ...line, x: line.x.map((x) => x - (this.axis === "time" ? report.from : 0)) };
      return { label: report.name, colour: nthColour(nth), line: own };
    }).filter(({ line }) => line.x.length);
    const from = Math.min(...layers.map(({ line }) => line.x[0]));
    const to = Math.max(...layers.map(({ line }) => line.x[line.x.length - 1]));
    this.chart.show({ axis: this.axis, from, to, layers, floor: [], stack: null, spans: [], flags: [], forecast: null, limit: null, gap: 0, say: (x) => place(this.axis, x), show: showBytes }, false);
    this.legend.replaceChildren(...layers.map(({ label, colour }) => {
      const dot = el("span", { class: "dot" });
      dot.style.background = colour;
      return el("span", { class: "key" }, dot, label);
    }));
  }

  numbers() {
    const [a, b] = this.reports;
    const size = (/** @type {(r: RunReport) => number | null | undefined} */ of) => {
      const [x, y] = [of(a), of(b)];
      const both = typeof x === "number" && typeof y === "number";
      return [typeof x === "number" ? showBytes(x) : "–", typeof y === "number" ? showBytes(y) : "–", both ? `${y >= x ? "+" : ""}${showBytes(y - x)}` : ""];
    };
    const words = (/** @type {(r: RunReport) => string} */ of) => [of(a), of(b), ""];
    /** @type {[string, string[]][]} */
    const rows = [
      ["floor at the end", size((r) => r.verdict.floor.last)], ["floor at the start", size((r) => r.verdict.floor.first)],
      ["most of the tree", size((r) => r.summary?.tree.max)], ["rate", words((r) => pace(r.verdict.axis, r.verdict.rate.value))],
      ["settled", words((r) => (r.verdict.settled_at === null ? "–" : place(r.verdict.axis, r.verdict.settled_at)))],
      ["needs until its end", size((r) => r.verdict.outlook?.needs.value)], ["fits", words((r) => fitsWord("", r.verdict.outlook?.fits ?? null) || "–")],
      ["headroom", size((r) => r.verdict.headroom)], ["length", words((r) => showDuration(r.summary?.seconds ?? r.to))],
      ["last step", words((r) => String(r.summary?.last_step ?? "–"))], ["command", words((r) => r.header?.command.join(" ") ?? r.name)],
    ];
    const link = (/** @type {RunReport} */ r) => el("a", { href: `/runs/${encodeURIComponent(r.name)}` }, r.name);
    const head = el("tr", {}, el("td", {}), el("th", { scope: "col" }, link(a)), el("th", { scope: "col" }, link(b)), el("th", { scope: "col" }, "difference"));
    const verdicts = el("tr", {}, el("th", { scope: "row" }, "verdict"), el("td", {}, badge(wordOf(a.verdict))), el("td", {}, badge(wordOf(b.verdict))), el("td", {}));
    const body = rows.map(([name, cells]) => el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((c) => el("td", {}, c))));
    return card("Numbers", null, el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Numbers of both runs" },
      el("table", { class: "both" }, el("thead", {}, head), el("tbody", {}, verdicts, ...body))));
  }
}
