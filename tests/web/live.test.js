// The server's pages while real jobs run.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { DAY, folder, launch, open, serve, start, until, whole } from "./browser.js";

let browser, place, server;

before(async () => {
  place = folder();
  cpSync(DAY, path.join(place.path, "runs", "20260101-000000-day-1"), { recursive: true });
  server = await serve(place.path);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.child.kill();
  place?.remove();
});

test("a running job is shown live, and its verdict changes on the page", async () => {
  // Three steps are too few to say anything; the rest come when the page has shown that.
  const go = path.join(place.path, "go");
  const job = `import os, time
for step in range(1, 100000):
    print(f"step {step}/100000", flush=True)
    while step == 3 and not os.path.exists(${JSON.stringify(go)}): time.sleep(0.02)
    time.sleep(0.02)`;
  const { child, found } = start(["run", "-i", "100ms", "--web=127.0.0.1:0", "--", "python3", "-c", job], place.path, "page: http://");
  const address = /http:\/\/\S+/.exec(await found)[0];
  const page = await open(browser);
  const [plain, token] = address.split("#token=");
  const headers = { authorization: `Bearer ${token}` };
  await until("the first report", async () => (await page.request.get(`${plain.replace("/runs/", "/api/v1/runs/")}/report`, { headers })).ok());
  await page.goto(address);
  await page.waitForSelector(".badge.too-early");
  const first = await page.textContent(".pulse");
  await page.waitForFunction((before) => document.querySelector(".pulse").textContent !== before, first);
  writeFileSync(go, "");
  await page.waitForSelector(".verdict-box:not(.too-early, .growing) .badge");
  assert.match(await page.textContent("h1"), /not a leak/);
  assert.match(await page.title(), /^(stable|warm-up|spikes): /);
  child.kill();
  assert.deepEqual(page.problems.filter((p) => !/ERR_|Failed to load/.test(p)), []);
});

test("the printed link opens the page, and its token stays in this tab alone", async () => {
  const page = await open(browser);
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(server.at("/"));
  await page.waitForSelector("tbody tr");
  assert.equal(page.url(), `${server.base}/`);
  assert.ok(asked.every((url) => !url.includes(server.token)), "a request carries it in its address");
  await page.reload();
  await page.waitForSelector("tbody tr");
  assert.deepEqual(page.problems, []);
  // Another tab was not given it, until the link is put into its address.
  const other = await open(browser);
  await other.goto(`${server.base}/`);
  await other.waitForSelector("form.token");
  await other.evaluate((token) => { location.hash = `token=${token}`; }, server.token);
  await other.waitForSelector("tbody tr");
  assert.equal(other.url(), `${server.base}/`);
});

test("the list leads to a run and to two runs side by side", async () => {
  const page = await open(browser);
  await page.goto(server.at(`/`));
  await page.waitForSelector("tbody tr:nth-child(2)");
  const compare = page.getByRole("button", { name: "Compare two runs" });
  assert.ok(await compare.isDisabled());
  for (const box of await page.locator("tbody input").all()) await box.check();
  await compare.click();
  await page.waitForSelector("canvas.picture");
  assert.match(page.url(), /\/compare\//);
  await until("the keys of both", async () => (await page.locator(".legend .key").count()) === 2);
  await page.goto(server.at(`/`));
  await page.getByRole("link", { name: "20260101-000000-day-1" }).click();
  await page.waitForSelector("h1");
  assert.deepEqual(page.problems, []);
});

test("the list shows the verdict and what grows", async () => {
  // Half a megabyte a step: seen soon, and nobody knows whether it ends.
  const job = `import time
kept = []
for step in range(1, 100000):
    kept.append(bytearray(b"x") * 500000)
    print(f"step {step}/100000", flush=True)
    time.sleep(0.05)`;
  const { child, found } = start(["run", "-i", "100ms", "--", "python3", "-u", "-c", job], place.path, "watching");
  found.catch(() => undefined);
  try {
    const page = await open(browser);
    await until("the newest run grows in the list", async () => {
      await page.goto(server.at(`/`));
      await page.waitForSelector("tr.running");
      const newest = await page.locator("tr.running .says").first().innerText();
      return /not decided \+\d+\skB\/step in trainer \d+/.test(newest);
    });
    assert.ok((await page.locator("tr.running .badge.growing").count()) > 0);
    assert.deepEqual(page.problems, []);
  } finally {
    child.kill();
  }
});

test("zooming into a day brings finer columns, never more than two values a pixel", async () => {
  const page = await open(browser);
  const asked = [];
  page.on("response", (response) => { if (response.url().includes("/series?")) asked.push(response); });
  await page.goto(server.at(`/runs/20260101-000000-day-1`));
  await whole(page);
  for (let i = 0; i < 6; i++) await page.click("#zoom-in");
  // Of the views on the way some may have been asked for as well.
  const line = await until("finer data", async () => {
    const latest = await asked.at(-1)?.json();
    return latest && (latest.x.at(-1) - latest.x[0]) / latest.x.length < 20 && latest;
  });
  assert.ok(line.x.length <= 2 * 1280);
  assert.deepEqual(page.problems, []);
});

test("what is not there is said plainly", async () => {
  const page = await open(browser);
  await page.goto(server.at(`/runs/nobody`));
  assert.match(await page.innerText("[role=alert]"), /there is no run `nobody`/);
});

test("a recording that cannot be read says why and what to do, on its page and in the list", async () => {
  const name = "20260102-000000-broken-1";
  mkdirSync(path.join(place.path, "runs", name));
  // A head of version 99.
  writeFileSync(path.join(place.path, "runs", name, "recording.lowtide"), Buffer.from("lowtide\n\x63\0\0\0", "latin1"));
  const page = await open(browser);
  await page.goto(server.at(`/runs/${name}`));
  const said = await page.innerText("[role=alert]");
  assert.match(said, /cannot be read: its format has version 99, which this lowtide does not read/);
  assert.match(said, /update lowtide/);
  assert.ok(!said.includes(place.path), "where it lies is nobody's business");
  await page.getByRole("link", { name: "All runs" }).click();
  assert.match(await page.innerText(`tr:has-text("${name}")`), /unreadable/);
});
