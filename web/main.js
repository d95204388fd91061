// Where a page begins: a report that carries its data, or a view of the server.

import { takeToken } from "./api.js";
import { RunView } from "./run.js";
import { route } from "./live.js";
import { el } from "./words.js";

/** Data that the file itself carries; it can be looked at without any network. @param {RunReport} report @returns {Source} */
function embedded(report) {
  return {
    live: false,
    report: async () => report,
    lines: async (names) => report.lines.filter((l) => names.some((n) => n.who === l.who && n.meter === l.meter)),
    stack: async () => report.stack,
    names: async () => report.lines.map(({ who, meter }) => ({ who, meter })),
  };
}

/** Light, dark, or as the system says. */
function theme() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = el("button", { type: "button", id: "theme", class: "plain" });
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`); };
  const redraw = () => window.dispatchEvent(new Event("theme"));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { name(); redraw(); });
  // Paper is white.
  window.addEventListener("beforeprint", () => { root.dataset.print = ""; redraw(); });
  window.addEventListener("afterprint", () => { delete root.dataset.print; redraw(); });
  name();
  return button;
}

async function start() {
  const main = /** @type {HTMLElement} */ (document.getElementById("main"));
  document.getElementById("bar")?.append(theme());
  const data = document.getElementById("report");
  if (!data) {
    takeToken();
    // The link was put into a page that is open already.
    window.addEventListener("hashchange", () => { if (takeToken()) void route(main); });
    return route(main);
  }
  const view = new RunView(embedded(JSON.parse(data.textContent ?? "")));
  window.addEventListener("theme", () => void view.refresh());
  main.replaceChildren(view.root);
  await view.refresh();
}

void start();
