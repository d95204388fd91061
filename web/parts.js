// The parts of a run's page beside the chart: what grows, where the bytes are, processes, events, facts.

import { GLOSSARY } from "./glossary.js";
import { nthColour, roleColour } from "./scene.js";
import { badge, card, el, fitsWord, oomOf, pace, percent, showBytes, showCount, showDuration, showTime, underWay } from "./words.js";

/** @typedef {{select: (who: string) => void, goTo: (axis: Axis, from: number, to?: number) => void}} Moves */

/** Words with the steps in them as links into the chart. @param {string} text @param {Moves} moves */
function linked(text, moves) {
  const pieces = text.split(/(\bstep \d+)/);
  return pieces.map((piece) => {
    if (!/^step \d/.test(piece)) return piece;
    const step = Number(piece.slice(5));
    return el("button", { class: "link", type: "button", click: () => moves.goTo("step", step) }, piece);
  });
}

/** A place as the program writes it, so that it becomes a link. @param {Axis} axis @param {number} x */
const spot = (axis, x) => (axis === "time" ? showDuration(x) : `${axis} ${Math.round(x)}`);

/** Horizons that have a name. */
const HORIZONS = /** @type {Record<number, string>} */ ({ 3600: "an hour", 86400: "a day", 604800: "a week" });

/** Where growth ends and what the run comes to, as the terminal has it. @param {Verdict} v */
function outlookLines(v) {
  const lines = [];
  if (v.bound) {
    const lead = v.verdict === "leak" ? "it should have ended" : v.verdict === "too-early" ? "it may end" : underWay(v) ? "it ends" : "it ended";
    const at = [v.bound.bytes === null ? "" : showBytes(v.bound.bytes), v.bound.at === null ? "" : spot(v.axis, v.bound.at)].filter(Boolean).join(", ");
    lines.push({ rule: "where growth ends", says: `${lead}${at ? ` at ${at}` : ""}: ${v.bound.why}` });
  }
  for (const f of v.outlook?.futures ?? []) lines.push({ rule: `if ${f.when}`, says: `${showBytes(f.needs)}${fitsWord(", ", f.fits)}` });
  const later = (v.outlook?.later ?? []).map((h) => `in ${HORIZONS[h.seconds] ?? showDuration(h.seconds)} ${showBytes(h.needs.low)} to ${showBytes(h.needs.high)}${fitsWord(": ", h.fits)}`);
  if (later.length) lines.push({ rule: "later", says: later.join("; ") });
  const others = v.outlook?.others ?? null;
  if (others !== null) lines.push({ rule: "others", says: `they take ${showBytes(others)}/min of the same limit` });
  return lines;
}

/** @param {RunReport} report @param {Moves} moves */
export function evidence(report, moves) {
  const v = report.verdict;
  const change = "what would change this";
  const line = (/** @type {{rule: string, says: string}} */ e) =>
    el("li", {}, el("b", {}, e.rule), el("span", {}, ...linked(e.says, moves)));
  const numbers = [
    { rule: "floor", says: `${showBytes(v.floor.first)} to ${showBytes(v.floor.last)} (${v.meter}); rate ${pace(v.axis, v.rate.value)} (${pace(v.axis, v.rate.low)} to ${pace(v.axis, v.rate.high)})` },
    v.growth && { rule: "growth", says: `${showBytes(v.growth.bytes)} from ${spot(v.axis, v.growth.from)} to ${spot(v.axis, v.growth.to)}${v.growth.driver && v.growth.per_unit ? `, ${showBytes(v.growth.per_unit)} per ${v.growth.driver === "time" ? "second" : v.growth.driver}` : ""}` },
    ...outlookLines(v),
  ].filter((n) => n !== null);
  const found = v.evidence.filter((e) => e.rule !== change);
  const places = /** @type {[string, number | null | undefined, number?][]} */ ([
    ["the growth", v.growth?.from, v.growth?.to], ["where it settled", v.settled_at],
    ["where it can be decided", v.decides_at], ["out of memory", oomOf(v)?.at],
  ]).filter(([, x]) => x !== null && x !== undefined);
  const links = places.map(([label, x, to]) =>
    el("button", { type: "button", class: "chip", click: () => moves.goTo(v.axis, /** @type {number} */ (x), to) }, label));
  return card("Evidence", "Each line is a rule that had its say.",
    el("ul", { class: "facts" }, ...found.map(line), ...numbers.map(line), ...v.evidence.filter((e) => e.rule === change).map(line)),
    links.length > 0 && el("p", { class: "chips" }, "Show in the chart: ", ...links));
}

/** What an experiment changes: the line to paste, or what to set where no command is known. @param {Experiment} e */
function experiment(e) {
  const set = e.changes.flatMap((c) => (c.kind === "env" ? [`${c.name}=${c.value}`] : []));
  const line = e.command ?? set.join(" ");
  return line ? [el("pre", { tabindex: "0" }, line)] : [];
}

/** @param {Explanation} found @param {Moves} moves */
export function explanation(found, moves) {
  const cards = [];
  if (found.drivers.length) {
    const rows = found.drivers.map((d) => el("tr", {}, el("th", { scope: "row" }, d.name, d.tied ? " (tied)" : ""),
      el("td", {}, showBytes(d.per_unit)), el("td", {}, `${showBytes(d.low)} to ${showBytes(d.high)}`),
      el("td", {}, showCount(d.units)), el("td", {}, percent(d.explains)), el("td", { class: "words" }, d.says)));
    cards.push(card("What it grows with", "The growth is measured against everything that was counted; best first.",
      table(["driver", "per unit", "95 % interval", "units", "explains", ""], rows),
      found.objects && el("p", {}, found.objects.says)));
  }
  if (found.held) {
    const held = found.held;
    const lines = held.lines.map((l) => el("li", {}, l.says, l.facts.length > 0 && el("ul", {}, ...l.facts.map((f) => el("li", {}, f)))));
    cards.push(card("Who holds it", "An early census of Python's objects against a late one. Facts, not a verdict; code is told as candidates.",
      held.explained !== null && el("p", {}, `${percent(held.explained)} of ${showBytes(held.grew)} more in Python's objects`),
      el("ul", {}, ...lines), ...held.notes.map((n) => el("p", { class: "quiet" }, n))));
  }
  if (found.holders.length > 0) {
    cards.push(card("What got longer", "Holders that a census named, read again on every tick.",
      el("ul", {}, ...found.holders.map((h) => el("li", {}, h.says, h.facts.length > 0 && el("ul", {}, ...h.facts.map((f) => el("li", {}, f))))))));
  }
  const likely = found.candidates.map((c) => el("article", { class: "candidate" },
    el("h3", {}, c.title, el("span", { class: "id" }, c.id)), meter(c.score, `fits to ${percent(c.score)}`),
    el("ul", {}, ...c.because.map((b) => el("li", {}, ...linked(b, moves)))),
    el("dl", {}, el("dt", {}, "cause"), el("dd", {}, c.cause), el("dt", {}, "to confirm"),
      el("dd", {}, c.experiment.says, ...experiment(c.experiment),
        c.experiment.expect && el("span", { class: "quiet" }, ` (expect: ${c.experiment.expect})`)),
      el("dt", {}, "fix"), el("dd", {}, c.fix))));
  if (likely.length) cards.push(card("Suspects", "Entries of the playbook whose signature was measured.", ...likely));
  const statements = (/** @type {Statement[]} */ all) =>
    el("ul", { class: "facts" }, ...all.map((s) => el("li", {}, el("b", {}, s.about), el("span", {}, ...linked(s.says, moves)))));
  const folded = (/** @type {string} */ title, /** @type {string} */ lead, /** @type {Statement[]} */ all) => all.length > 0 &&
    card(title, lead, el("details", {}, el("summary", {}, `${all.length} known causes`), statements(all)));
  const rest = [
    folded("Ruled out", "What was measured speaks against these.", found.ruled_out),
    folded("Not tested", "Neither shown nor contradicted, with what would tell.", found.untested),
  ];
  return { cards, rest: /** @type {HTMLElement[]} */ (rest.filter(Boolean)) };
}

/** What the words on this page mean, for those who unfold it. */
export function glossary() {
  const words = Object.entries(GLOSSARY).flatMap(([word, says]) => [el("dt", {}, word), el("dd", {}, says)]);
  return card("Words", "What the words on this page mean; `lowtide help words` prints the same.",
    el("details", {}, el("summary", {}, `${Object.keys(GLOSSARY).length} words`), el("dl", { class: "glossary" }, ...words)));
}

/** Heads of columns that hold words begin with a space. @param {string[]} head @param {Node[]} rows @param {string} [label] */
function table(head, rows, label = "") {
  const cells = head.map((h) => (h ? el("th", { scope: "col", class: h.startsWith(" ") ? "words" : "" }, h.trim()) : el("td", {})));
  return el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": label || head[0] },
    el("table", {}, el("thead", {}, el("tr", {}, ...cells)), el("tbody", {}, ...rows)));
}

/** A bar for a share. @param {number} share @param {string} says */
function meter(share, says) {
  const bar = el("span", { class: "bar-fill" });
  bar.style.width = `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`;
  return el("div", { class: "score" }, el("span", { class: "bar", "aria-hidden": "true" }, bar), el("span", {}, says));
}

const SVG = "http://www.w3.org/2000/svg";

/** @param {string} tag @param {Record<string, string | number>} attributes */
function svg(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/** Parts that hold less than this share of the largest look are not shown. */
const MATERIAL = 0.01;
/** Parts of one breakdown that are shown: what is named by hand has no end. */
const PARTS = 10;

/** Where the bytes of the process are, look by look, by one thing. @param {RunReport} report @param {BreakdownTable} table_ */
export function breakdown(report, table_) {
  const { looks, parts, by, examiner } = table_;
  const memory = report.explanation?.memory ?? null;
  const growth = memory?.breakdowns.find((b) => b.by === by && b.examiner === examiner) ?? null;
  const bytes = (/** @type {number} */ look, /** @type {number} */ nth) => looks[look].bytes[nth] ?? 0;
  const most = Math.max(1, ...looks.map((l, i) => Math.max(l.held ?? 0, ...l.bytes.map((_, nth) => bytes(i, nth)))));
  // Where only numbers are known all parts are shown, else those that matter: by size, or by growth.
  const matters = (/** @type {number} */ nth) => looks.every((l) => l.bytes[nth] === null) || looks.some((_, i) => bytes(i, nth) > most * MATERIAL)
    || growth?.parts.some((p) => p.name === parts[nth].name);
  const shown = parts.map((part, nth) => ({ ...part, nth })).filter(({ nth }) => matters(nth)).slice(0, Math.max(PARTS, by === "mapping" ? parts.length : 0));
  const end = looks.length - 1;
  const size = (/** @type {number} */ look, /** @type {number} */ nth) => {
    const [held, count] = [looks[look].bytes[nth], looks[look].counts[nth]];
    return [held === null ? null : showBytes(held), count ? `${showCount(count)}×` : null].filter(Boolean).join(", ") || "?";
  };
  const rows = shown.map(({ name, held, nth }, at) => {
    const dot = el("span", { class: "dot" });
    dot.style.background = nthColour(at);
    const known = looks[0].bytes[nth] !== null && looks[end].bytes[nth] !== null;
    const grew = bytes(end, nth) - bytes(0, nth);
    const members = growth?.parts.find((p) => p.name === name)?.members ?? [];
    return el("tr", {}, el("th", { scope: "row" }, dot, name, !held && el("span", { class: "quiet" }, " (never part of a leak)")),
      el("td", {}, size(0, nth)), el("td", {}, size(end, nth)),
      el("td", { class: known && grew > most * MATERIAL ? "grew" : "" }, known ? `${grew > 0 ? "+" : ""}${showBytes(grew)}` : ""),
      el("td", { class: "words" }, members.join("; ")));
  });
  const unseen = looks[end].missing;
  const missing = unseen.length > 0 && el("p", { class: "quiet" }, `Not seen: ${unseen.map((m) => m.says).join("; ")}`);
  const lead = growth?.conclusive
    ? `${percent(growth.accounted)} of ${showBytes(growth.grew)} of growth is accounted for, by ${growth.looks} looks.`
    : `${looks.length} looks into ${report.processes.find((p) => p.who === table_.who)?.command ?? "the process"}.`;
  const heads = ["part", `at ${showDuration(looks[0].at)}`, `at ${showDuration(looks[end].at)}`, "grew", ""];
  // What was counted stands where the bytes are shown first.
  const counted = memory && growth === memory.breakdowns[0] ? memory.counted : [];
  const said = counted.length > 0 && el("ul", { class: "facts counted" }, ...counted.map((c) => el("li", {}, el("span", {}, c.says))));
  return card(`Where the bytes are, ${table_.title}`, lead, said, looks.length > 1 && areas(looks, shown.map(({ nth }) => nth), most), table(heads, rows), missing);
}

/** @param {BreakdownTable["looks"]} looks @param {number[]} parts @param {number} most */
function areas(looks, parts, most) {
  const [width, height] = [600, 120];
  const [from, to] = [looks[0].at, looks[looks.length - 1].at];
  const top = Math.max(most, ...looks.map((l) => parts.reduce((sum, k) => sum + (l.bytes[k] ?? 0), 0)));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "areas", preserveAspectRatio: "none", role: "img", "aria-label": "Parts over time; the table below has the numbers" });
  const x = (/** @type {number} */ at) => ((at - from) / Math.max(1e-9, to - from)) * width;
  const under = looks.map(() => 0);
  parts.forEach((part, nth) => {
    const upper = looks.map((look, i) => `${x(look.at)},${height * (1 - (under[i] + (look.bytes[part] ?? 0)) / top)}`);
    const lower = looks.map((look, i) => `${x(look.at)},${height * (1 - under[i] / top)}`).reverse();
    const area = svg("polygon", { points: [...upper, ...lower].join(" ") });
    area.style.fill = nthColour(nth);
    picture.append(area);
    looks.forEach((look, i) => { under[i] += look.bytes[part] ?? 0; });
  });
  return /** @type {any} */ (picture);
}

const SPARK = { width: 110, height: 22, points: 55 };

/** @param {Line | null} line @param {RunReport} report @param {string} colour */
function spark(line, report, colour) {
  const picture = svg("svg", { viewBox: `0 0 ${SPARK.width} ${SPARK.height}`, class: "spark", "aria-hidden": "true" });
  if (!line || line.x.length < 2) return picture;
  const bins = Array.from({ length: SPARK.points }, () => -1);
  line.x.forEach((at, i) => {
    const bin = Math.min(SPARK.points - 1, Math.floor(((at - report.from) / Math.max(1e-9, report.to - report.from)) * SPARK.points));
    bins[bin] = Math.max(bins[bin], line.high[i]);
  });
  const [low, high] = [Math.min(...line.low), Math.max(...line.high)];
  // A line that moves by less than a twentieth of its height is flat.
  const span = Math.max(high - low, high * 0.05, 1);
  const points = bins.map((value, i) => (value < 0 ? "" : `${(i / (SPARK.points - 1)) * SPARK.width},${SPARK.height - 2 - ((value - low) / span) * (SPARK.height - 4)}`));
  const path = svg("polyline", { points: points.filter(Boolean).join(" "), fill: "none", "stroke-width": 1.5 });
  path.style.stroke = colour;
  picture.append(path);
  return picture;
}

/** Parents before their children. @param {Process[]} all @returns {{process: Process, depth: number}[]} */
function ordered(all) {
  const known = new Set(all.map((p) => p.who));
  const found = /** @type {{process: Process, depth: number}[]} */ ([]);
  const walk = (/** @type {string | null} */ parent, /** @type {number} */ depth) => {
    const children = all.filter((p) => (p.parent && known.has(p.parent) && p.parent !== p.who ? p.parent : null) === parent);
    children.sort((a, b) => b.held[1] - a.held[1]);
    for (const process of children) {
      if (found.length > all.length) return;
      found.push({ process, depth });
      walk(process.who, depth + 1);
    }
  };
  walk(null, 0);
  return found;
}

/** @param {RunReport} report @param {Moves} moves */
export function processes(report, moves) {
  const rows = ordered(report.processes).map(({ process: p, depth }) => {
    const dot = el("span", { class: "dot" });
    dot.style.background = roleColour(p.role);
    const line = report.lines.find((l) => l.who === p.who && l.meter === "held") ?? null;
    const name = el("button", { class: "link command", type: "button", title: p.command, click: () => moves.select(p.who) }, p.command);
    const cell = el("th", { scope: "row" }, dot, name, p.watched && el("span", { class: "chip still" }, "watched"));
    cell.style.paddingLeft = `${10 + Math.min(depth, 8) * 18}px`;
    return el("tr", { class: p.gone === null ? "" : "gone" }, cell, el("td", { class: "words" }, p.role), el("td", {}, String(p.pid)),
      el("td", { class: "words" }, spark(line, report, roleColour(p.role))), el("td", {}, showBytes(p.held[2])),
      el("td", {}, showBytes(p.held[1])), el("td", {}, showBytes(p.own)),
      el("td", {}, p.gone === null ? showDuration(report.to - p.since) : `${showDuration(p.gone - p.since)}, ended`));
  });
  if (!rows.length) return null;
  return card("Processes", "What each holds by itself (anon + shmem + swap), and what it adds to the tree when shared pages count once.",
    table(["process", " role", "pid", " over time", "holds", "most", "adds", "lived"], rows));
}

/** Why the job died, and who held what then. @param {RunReport} report */
export function death(report) {
  const found = report.post_mortem;
  if (!found) return null;
  const rows = found.holders.map((h) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, h.command)), el("td", { class: "words" }, h.role),
    el("td", {}, String(h.pid)), el("td", {}, showBytes(h.held)), el("td", {}, `+${showBytes(h.grown)}`)));
  const seen = `Last seen alive at ${showDuration(found.seen_at)}${found.step === null ? "" : `, step ${found.step}`}, the tree holding ${showBytes(found.held)}.`;
  return card("Why it died", report.died, el("p", {}, seen, found.grew && ` ${found.grew}`),
    rows.length > 0 && table(["process", " role", "pid", "held", "grew"], rows));
}

/** @param {RunReport} report @param {Moves} moves */
export function attempts(report, moves) {
  if (!report.attempts.length) return null;
  const items = report.attempts.map((a) => el("li", {},
    el("button", { class: "link when", type: "button", click: () => moves.goTo("time", a.at) }, showDuration(a.at)),
    el("span", { class: "chip still" }, `attempt ${a.number}`),
    el("span", {}, `${a.why}${a.checkpoint ? `; resumed from ${a.checkpoint}` : ""}${a.repeated ? `; ${a.repeated} steps done again` : ""}`)));
  return card("Attempts", "Each is a new process tree; the guard started the job again.", el("ol", { class: "events" }, ...items));
}

/** @param {RunReport} report @param {Moves} moves */
export function events(report, moves) {
  if (!report.events.length) return null;
  const items = report.events.map((e) => el("li", {},
    el("button", { class: "link when", type: "button", click: () => moves.goTo("time", e.at) }, showDuration(e.at)),
    el("span", { class: `chip still ${e.kind}` }, e.kind), el("span", {}, e.text)));
  return card("Events", null, el("ol", { class: "events" }, ...items));
}

/** @param {RunReport} report */
export function facts(report) {
  const { header: h, summary: s } = report;
  /** @type {[string, string | null][]} */
  const pairs = h && s ? [
    ["command", h.command.join(" ")], ["folder", h.cwd], ["host", `${h.host}, ${h.cores} cores, Linux ${h.kernel}`],
    ["started", showTime(h.started)], ["watched for", `${showDuration(s.seconds)}, ${showCount(s.samples)} samples, one every ${showDuration(h.interval)}`],
    ["steps", s.last_step === null ? null : `${showCount(s.first_step ?? 0)} to ${showCount(s.last_step)}${s.total_steps ? ` of ${showCount(s.total_steps)}` : ""} (${stepsFrom(s)})`],
    ["tree", `least ${showBytes(s.tree.min)}, average ${showBytes(s.tree.mean)}, most ${showBytes(s.tree.max)}`],
    ["end", s.exit ? ("code" in s.exit ? `code ${s.exit.code}` : `signal ${s.exit.signal}`) : null],
    ["lost", s.lost_ticks ? `${s.lost_ticks} samples are missing in the recording` : null],
    ["looks", s.looks.looks ? `${showCount(s.looks.looks)} into its memory, ${showDuration(s.looks.cpu)} of CPU` : null],
    ["recorded by", `lowtide ${h.lowtide} ${h.how}`],
  ] : [["source", report.name], ["read", report.read]];
  const list = pairs.filter(([, text]) => text).flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)]);
  return card("This run", null, el("dl", { class: "pairs" }, ...list));
}

/** As `steps_from` of the program's summary says it. @param {Summary} summary */
const stepsFrom = ({ steps_from: from, counter }) =>
  from === "memory" ? `from ${counter?.object ? `${OBJECTS[counter.object]} in ` : ""}${counter?.pid ? `${counter.pid}'s memory` : "the job's memory"}`
    : (FROM[from ?? ""] ?? "read from the job's output");

const FROM = /** @type {Record<string, string>} */ ({ callback: "told by the training loop", "trainer-state": "from trainer_state.json" });

const OBJECTS = { "trainer-state": "TrainerState", "lightning-loop": "Lightning's loop", accelerator: "accelerate", bar: "a tqdm bar", "data-loader": "a DataLoader" };

/** @param {RunReport} report */
export function roles(report) {
  const all = report.summary?.roles ?? [];
  if (all.length < 2) return null;
  const rows = all.map((r) => {
    const dot = el("span", { class: "dot" });
    dot.style.background = roleColour(r.role);
    return el("tr", {}, el("th", { scope: "row" }, dot, r.role), el("td", {}, String(r.count)), el("td", {}, showBytes(r.own)),
      el("td", {}, showBytes(r.rss)), el("td", { class: "words" }, badge(r.verdict)));
  });
  return card("Roles", "A sum of RSS counts shared pages many times; what they add counts every page once.",
    table(["role", "at most", "add", "sum of RSS", " verdict"], rows));
}

