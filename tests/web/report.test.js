// The report in one file, opened from disk without any network.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { DAY, LOWTIDE, folder, launch, open, whole } from "./browser.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser, place, small, day;

before(async () => {
  place = folder();
  const rows = Array.from({ length: 240 }, (_, i) => `${i + 1},${5000 + 145 * Math.min(i, 82)}`).join("\n");
  writeFileSync(path.join(place.path, "run2.csv"), `step,memory_mb\n${rows}\n`);
  small = path.join(place.path, "small.html");
  execFileSync(LOWTIDE, ["report", path.join(place.path, "run2.csv"), "--examples", "663", "--batch", "8", "--limit", "32GB", "-o", small]);
  day = path.join(place.path, "day.html");
  execFileSync(LOWTIDE, ["report", DAY, "-o", day]);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  place?.remove();
});

/** The file, with the network off; any request at all is a failure. */
async function show(file, options) {
  const page = await open(browser, { offline: true, ...options });
  const asked = [];
  page.on("request", (request) => { if (!request.url().startsWith("file:") && !request.url().startsWith("data:")) asked.push(request.url()); });
  await page.goto(`file://${file}`);
  await whole(page);
  return { page, asked };
}

/** What the chart knows of itself, by the table that stands for it. */
async function table(page) {
  const numbers = page.locator("details.numbers");
  if (!(await numbers.evaluate((d) => d.open))) await numbers.locator("summary").click();
  // It is filled when the browser tells that it is open, which is later than the click.
  await page.waitForSelector(".numbers tbody tr");
  return page.locator(".numbers tbody tr").evaluateAll((rows) => rows.map((row) => row.innerText));
}

async function seriousFindings(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${v.id}: ${v.nodes[0].html}`);
}

test("it says the verdict and draws without any network", async () => {
  const { page, asked } = await show(small);
  assert.match(await page.textContent("h1"), /WARM-UP, not a leak/);
  assert.equal(await page.textContent(".badge"), "⌐warm-up");
  const painted = await page.$eval("canvas.picture", (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value !== 0);
  });
  assert.ok(painted);
  assert.deepEqual(asked, []);
  assert.deepEqual(page.problems, []);
});

/** The report with another verdict: how one is judged is tested in core, here what the page makes of it. */
function retold(name, tell) {
  const file = path.join(place.path, name);
  const page = readFileSync(small, "utf8").replace(/(id="report">)(.*?)(<\/script>)/s, (_, lead, data, end) => {
    const report = JSON.parse(data);
    tell(report.verdict, report);
    return lead + JSON.stringify(report).replaceAll("<", "\\u003c") + end;
  });
  writeFileSync(file, page);
  return file;
}

const OUTLOOK = { ends_at: 480, seconds: null, needs: { value: 30e9, low: 17.9e9, high: 41e9 }, fits: "tight", later: [], others: 2e9,
  futures: [{ when: "growth ends with the epoch", needs: 17.9e9, fits: "yes" }, { when: "growth goes on", needs: 41e9, fits: "no" }],
  says: "needs 17.9 to 41.0 GB of 32.0 GB until step 480: may not fit" };

test("growth that is not decided has its word, its outlook and both futures", async () => {
  const { page } = await show(retold("growing.html", (verdict, report) => {
    Object.assign(verdict, { verdict: "too-early", growing: true, settled_at: null, oom: { at: 49056, low: 48000, high: null, seconds: null }, outlook: OUTLOOK });
    report.headline = `GROWING by 165 MB/step (160 to 170 MB/step), not decided; this run ${OUTLOOK.says}`;
  }));
  assert.equal(await page.textContent(".badge"), "⇡growing");
  assert.equal(await page.textContent("h1"), "GROWING by 165 MB/step (160 to 170 MB/step), not decided");
  assert.equal(await page.textContent(".outlook.tight"), `This run ${OUTLOOK.says}`);
  assert.match(await page.title(), /^growing: /);
  const said = await page.textContent("#card-evidence-box");
  assert.match(said, /if growth ends with the epoch17\.9 GB, fits/);
  assert.match(said, /if growth goes on41\.0 GB, does not fit/);
  assert.match(said, /they take 2\.00 GB\/min of the same limit/);
  // Nobody gets to step 49 056 in a run of 480.
  assert.doesNotMatch(await page.textContent(".figures"), /out of memory/);
  assert.deepEqual(await seriousFindings(page), []);
  assert.deepEqual(page.problems, []);
});

test("a warm-up under way says where it ends, and why", async () => {
  const { page } = await show(retold("under-way.html", (verdict) => {
    const bound = { kind: "reserved", at: null, bytes: 17.9e9, certainty: "exact", why: "1 block of 12.9 GB reserved" };
    Object.assign(verdict, { settled_at: null, plateau: null, predicted_plateau: 17.9e9, growing: true, bound, outlook: { ...OUTLOOK, fits: "no" } });
  }));
  assert.equal(await page.textContent(".badge"), "⌐warm-up");
  assert.match(await page.textContent(".figures"), /ends at17\.9 GB/);
  assert.match(await page.textContent("#card-evidence-box"), /it ends at 17\.9 GB: 1 block of 12\.9 GB reserved/);
  assert.equal(await page.locator(".outlook.no").count(), 1);
  assert.deepEqual(await seriousFindings(page), []);
  assert.deepEqual(page.problems, []);
});

test("keys alone move, zoom and show everything again", async () => {
  const { page } = await show(small);
  const all = await table(page);
  await page.focus("canvas.over");
  await page.keyboard.press("Home");
  assert.match(await page.textContent(".chart [role=status]"), /^step 1: memory, memory 5\.00 GB/);
  for (let i = 0; i < 5; i++) await page.keyboard.press("+");
  await page.keyboard.press("Shift+ArrowRight");
  const near = await table(page);
  assert.notDeepEqual(near, all);
  await page.keyboard.press("0");
  assert.deepEqual(await table(page), all);
  assert.deepEqual(page.problems, []);
});

test("dragging zooms, a click on evidence goes there, double-click shows everything", async () => {
  const { page } = await show(small);
  const all = await table(page);
  const box = await page.locator("canvas.over").boundingBox();
  await page.mouse.move(box.x + 300, box.y + 150);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 160, { steps: 4 });
  await page.mouse.up();
  assert.notDeepEqual(await table(page), all);
  await page.mouse.dblclick(box.x + 300, box.y + 150);
  assert.deepEqual(await table(page), all);
  await page.locator(".facts .link").first().click();
  assert.notDeepEqual(await table(page), all);
});

test("a day of 25 processes is one small file, and a spike of one second is in it", async () => {
  assert.ok(statSync(day).size < 2e6, `${statSync(day).size} bytes`);
  const { page, asked } = await show(day);
  const data = JSON.parse(await page.textContent("#report"));
  const line = data.lines.find((l) => l.who === data.decides.who && l.meter === data.decides.meter);
  assert.ok(Math.max(...line.high) > 15e9, "the spike is gone");
  assert.ok(line.x.length <= 1600);
  assert.equal(await page.locator("table tbody tr .command").count(), 25);
  assert.deepEqual(asked, []);
  assert.deepEqual(page.problems, []);
});

test("what a process calls itself stays text", async () => {
  const { page } = await show(day);
  const names = await page.locator(".command").allTextContents();
  assert.ok(names.some((name) => name.startsWith("<script>alert(1)</script>")));
  assert.equal(await page.locator("main script, main img").count(), 0);
  assert.match(await page.locator(".events").innerText(), /limit near: <script>alert\(1\)<\/script>/);
  assert.deepEqual(page.problems, []);
});

test("what cannot be seen is written out: a name turns no line around", async () => {
  const file = retold("turned.html", (v) => { v.evidence[0].says = "a\u202eb\nc\u009b"; });
  const { page } = await show(file);
  const text = await page.locator("body").innerText();
  assert.match(text, /a\\u\{202e\}b\\u\{a\}c\\u\{9b\}/);
  assert.doesNotMatch(text, /\u202e/);
});

test("light and dark have no serious findings of axe", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page } = await show(day, { colorScheme });
    assert.deepEqual(await seriousFindings(page), [], colorScheme);
  }
});

test("dark follows the system, and the button turns it around", async () => {
  const { page } = await show(small, { colorScheme: "dark" });
  const background = () => page.$eval("body", (body) => getComputedStyle(body).backgroundColor);
  const dark = await background();
  await page.click("#theme");
  const light = await background();
  assert.notEqual(dark, light);
  await page.emulateMedia({ colorScheme: "light" });
  await page.click("#theme");
  assert.equal(await background(), dark);
});

test("lines, meters, axes and the stack of roles can be chosen", async () => {
  const { page } = await show(day);
  await page.selectOption("#pick-line", "stack");
  assert.match((await table(page))[12], /compile-worker|\t/);
  const heads = await page.locator(".numbers thead th").allTextContents();
  assert.ok(heads.includes("trainer") && heads.includes("loader-worker") && heads.includes("whole tree"), heads.join());
  await page.click("#axis-time");
  assert.match((await table(page))[0], /^0s/);
  await page.selectOption("#pick-line", { label: "trainer 4000" });
  const { meters } = JSON.parse(await page.textContent("#report"));
  const known = meters.map((m) => `${m.label}: ${m.meaning}`);
  const offered = await page.locator("#pick-meter option").allTextContents();
  assert.ok(offered.length > 4, offered.join());
  assert.deepEqual(offered, known.filter((words) => offered.includes(words)), "as the report has them, in its order");
  await page.selectOption("#pick-meter", "rss");
  await page.setViewportSize({ width: 400, height: 800 });
  await page.waitForFunction(() => document.querySelector("canvas.picture").clientWidth < 400);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 400), "it is wider than the screen");
  assert.deepEqual(page.problems, []);
});
