// The pages that need the server: the list of runs, one run while it goes on, two runs side by side.

import { ApiError, ask, follow, live, setToken } from "./api.js";
import { Compare } from "./compare.js";
import { RunView } from "./run.js";
import { badge, el, empty, showBytes, showDuration, wordOf } from "./words.js";

/** The list is asked for again this often while it is looked at. */
const LIST_EVERY = 5000;
/** A running run is drawn anew when this share of the picture is new, but not more often than each second or less than every half minute. */
const NEW_SHARE = 1 / 300;

/** Shows what the address names. @param {HTMLElement} main */
export async function route(main) {
  const parts = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  try {
    if (parts[0] === "runs" && parts[1]) await runPage(main, parts[1]);
    else if (parts[0] === "compare" && parts[1] && parts[2]) await comparePage(main, parts[1], parts[2]);
    else if (!parts.length) await listPage(main);
    else main.replaceChildren(empty("There is no such page", el("a", { href: "/" }, "All runs")));
  } catch (error) {
    failed(main, error);
  }
}

/** @param {HTMLElement} main @param {unknown} error */
function failed(main, error) {
  if (error instanceof ApiError && error.status === 401) return askToken(main);
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof ApiError && error.hint ? error.hint : "Is `lowtide serve` still running?";
  main.replaceChildren(el("div", { role: "alert" }, empty(message, hint, " ", el("a", { href: "/" }, "All runs"))));
}

/** @param {HTMLElement} main */
function askToken(main) {
  const field = /** @type {HTMLInputElement} */ (el("input", { id: "token", type: "password", autocomplete: "off", required: true }));
  const form = el("form", { class: "card token", submit: (event) => {
    event.preventDefault();
    setToken(field.value.trim());
    void route(main);
  } }, el("h1", {}, "This server wants its token"), el("p", {}, "The link that `lowtide serve` printed when it started has it, behind `#token=`."),
  el("label", { for: "token" }, "Token"), field, el("button", { type: "submit" }, "Go on"));
  main.replaceChildren(form);
  field.focus();
}

/** @param {HTMLElement} main */
async function listPage(main) {
  document.title = "Runs – lowtide";
  const body = el("tbody", {});
  const chosen = /** @type {Set<string>} */ (new Set());
  const compare = /** @type {HTMLButtonElement} */ (el("button", { type: "button", disabled: true, click: () => {
    const [a, b] = [...chosen];
    location.assign(`/compare/${encodeURIComponent(a)}/${encodeURIComponent(b)}`);
  } }, "Compare two runs"));
  const head = ["", "run", "state", "started", "length", "peak", "command"].map((h) => (h ? el("th", { scope: "col" }, h) : el("td", {})));
  const table = el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Runs" }, el("table", { class: "runs" }, el("thead", {}, el("tr", {}, ...head)), body));
  const show = async () => {
    const { runs } = /** @type {{runs: RunRow[]}} */ (await ask("/runs"));
    if (!runs.length) {
      main.replaceChildren(el("h1", {}, "Runs"), empty("No runs are kept yet", "Start one: ", el("code", {}, "lowtide run -- python train.py")));
      return;
    }
    body.replaceChildren(...runs.map((run) => row(run, chosen, () => { compare.disabled = chosen.size !== 2; })));
    if (!table.isConnected) main.replaceChildren(el("div", { class: "head" }, el("h1", {}, "Runs"), compare), el("section", { class: "card" }, table));
  };
  await show();
  const again = async () => {
    if (!document.hidden && !chosen.size && !body.contains(document.activeElement)) await show().catch(() => undefined);
    setTimeout(again, LIST_EVERY);
  };
  setTimeout(again, LIST_EVERY);
}

/** @param {RunRow} run @param {Set<string>} chosen @param {() => void} changed */
function row(run, chosen, changed) {
  const box = el("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, change: (event) => {
    if (event.target.checked) chosen.add(run.name);
    else chosen.delete(run.name);
    changed();
  } });
  const lost = run.damaged ? ", damaged" : run.lost_ticks ? ", ticks lost" : "";
  const state = (run.exit === null || run.exit === undefined ? run.state : `${run.state}, ${run.exit}`) + lost;
  const started = run.started ? new Date(run.started).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "–";
  return el("tr", { class: run.state }, el("td", {}, box), el("th", { scope: "row" }, el("a", { href: `/runs/${encodeURIComponent(run.name)}` }, run.name), el("div", { class: "says" }, ...verdictOf(run))),
    el("td", { class: "words" }, el("span", { class: `chip still state-${run.state}` }, state)), el("td", { class: "words" }, started), el("td", {}, showDuration(Math.round(run.seconds ?? 0))),
    el("td", {}, showBytes(run.peak ?? 0)), el("td", { class: "words cut" }, (run.command ?? []).join(" ")));
}

/** The words of a verdict that its badge has already. */
const IN_BADGE = /^(leak|growing,|too early to say,?|warm-up|spikes|stable) ?/;

/** A size keeps its unit. @param {string} text */
const together = (text) => text.replace(/(\d) (?=[kMGTP]?B)/g, "$1\u00a0");

/** The verdict and what grows. @param {RunRow} run @returns {(Node | string)[]} */
function verdictOf(run) {
  if (!run.verdict) return [run.state === "unreadable" ? "–" : "not judged yet"];
  const word = wordOf({ verdict: run.verdict, growing: run.growing === true });
  return [badge(word), el("span", { class: "grows" }, together((run.says ?? "").replace(IN_BADGE, "")))];
}

/** @param {HTMLElement} main @param {string} name */
async function runPage(main, name) {
  document.title = `${name} – lowtide`;
  main.replaceChildren(el("div", { class: "waiting", role: "status" }, empty("Reading the recording", name)));
  const view = new RunView(live(name));
  const pulse = el("p", { class: "pulse", role: "status" });
  await view.load();
  main.replaceChildren(pulse, view.root);
  await view.fill(true);
  window.addEventListener("theme", () => void view.redraw(true));
  let [drawn, shown, busy] = [performance.now(), view.report ? wordOf(view.report.verdict) : "", false];
  follow(name, (tick) => {
    const going = tick.state === "running";
    const step = tick.step === null ? "" : `, step ${tick.step}${tick.total_steps ? ` of ${tick.total_steps}` : ""}`;
    pulse.replaceChildren(el("span", { class: going ? "beat" : "beat over" }), `${going ? "live" : tick.state}: ${showDuration(Math.round(tick.seconds))}${step}${going ? `, ${showBytes(tick.held)}` : ""}`);
    const pause = Math.min(30000, Math.max(1000, tick.seconds * 1000 * NEW_SHARE));
    // The end brings a last report, unless it was there when the page was opened.
    const news = wordOf(tick) !== shown || (!going && tick.seconds !== view.report?.to);
    if (!going && !news) return;
    if (busy || document.hidden || (!news && performance.now() - drawn < pause)) return;
    [busy, shown, drawn] = [true, wordOf(tick), performance.now()];
    view.refresh().catch(() => undefined).finally(() => { busy = false; });
  }, (well) => { pulse.classList.toggle("lost", !well); });
}

/** @param {HTMLElement} main @param {string} a @param {string} b */
async function comparePage(main, a, b) {
  const both = await Promise.all([ask(`/runs/${encodeURIComponent(a)}/report`), ask(`/runs/${encodeURIComponent(b)}/report`)]);
  const view = new Compare(both);
  main.replaceChildren(view.root);
  view.draw();
  window.addEventListener("theme", () => view.draw());
}

