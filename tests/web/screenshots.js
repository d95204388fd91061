// Pictures of the list, a run in light and dark, two runs, and the report's file: `scripts/screenshots`.

import { readdirSync } from "node:fs";
import path from "node:path";
import { launch, open, serve } from "./browser.js";

const out = path.resolve(process.argv[2]);
const home = path.join(out, "home");
const runs = readdirSync(path.join(home, "runs"));
const { at, child } = await serve(home);
const browser = await launch();
const pages = [
  ["list", at("/"), "light"],
  ...runs.flatMap((run) => ["light", "dark"].map((scheme) => [`${run.replace(/^[\d-]+|-\d+$/g, "")}-${scheme}`, at(`/runs/${run}`), scheme])),
  ["compare", at(`/compare/${runs[0]}/${runs[1]}`), "light"],
  ["report", `file://${path.join(out, "report.html")}`, "light"],
];
for (const [name, url, colorScheme] of pages) {
  const page = await open(browser, { colorScheme });
  await page.goto(url);
  await page.waitForSelector(name === "list" ? "tbody tr" : "canvas.picture");
  await page.waitForLoadState("domcontentloaded");
  await page.screenshot({ path: path.join(out, `${name}.png`), fullPage: true });
  await page.context().close();
}
await browser.close();
child.kill();
