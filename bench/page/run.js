// How fast a day of 25 processes opens, and the longest frame while it is panned and zoomed.
//   cargo build --release && cargo run --example day -- target/web/20260101-000000-day-1
//   LOWTIDE_BIN=target/release/lowtide LOWTIDE_DAY=target/web/20260101-000000-day-1 node bench/page/run.js
//
// Reading on two threads, with tables instead of maps, judging once and painting the chart first, against the
// program before that, in turns, on two cores with a load of 5 to 11 from other work: in eleven pairs the first
// opening took 0.35 to 1.06 of the time (median 0.50; 1.3 s at best, never under a second), and `lowtide report`
// of the day 0.43 to 0.56 of the CPU time (three pairs). With nothing else running: 0.9 to 2.9 s the first time
// (median of eight 1.6) and 0.6 to 1.1 s again; longest frame 17 ms in most runs, 483 ms in the worst.

import { cpSync } from "node:fs";
import path from "node:path";
import { DAY, folder, launch, open, serve } from "../../tests/web/browser.js";

const NAME = "20260101-000000-day-1";
const place = folder();
cpSync(DAY, path.join(place.path, "runs", NAME), { recursive: true });
const { at, child } = await serve(place.path);
const browser = await launch();
const url = at(`/runs/${NAME}`);

/** Milliseconds from asking for the page until its chart is painted. */
async function opened() {
  const page = await open(browser);
  await page.goto(url);
  await page.waitForSelector("canvas.picture");
  const ms = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())))));
  const parts = await page.evaluate(() => performance.getEntriesByType("resource").map((one) => [one.name.replace(/.*\//, ""), Math.round(one.startTime), Math.round(one.responseEnd)]));
  return { page, ms: Math.round(ms), parts };
}

const first = await opened();
await first.page.context().close();
const again = await opened();
const { page } = again;
await page.evaluate(() => {
  globalThis.frames_ = [];
  let last = performance.now();
  const tick = (now) => { globalThis.frames_.push(now - last); last = now; requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  globalThis.long_ = [];
  new PerformanceObserver((list) => { for (const e of list.getEntries()) globalThis.long_.push(Math.round(e.duration)); }).observe({ type: "longtask" });
});
await page.focus("canvas.over");
for (let i = 0; i < 6; i++) await page.keyboard.press("+");
for (let i = 0; i < 40; i++) await page.keyboard.press(i % 20 < 10 ? "Shift+ArrowRight" : "Shift+ArrowLeft");
const box = await page.locator("canvas.over").boundingBox();
await page.keyboard.down("Shift");
await page.mouse.move(box.x + 600, box.y + 100);
await page.mouse.down();
for (let i = 0; i < 60; i++) await page.mouse.move(box.x + 600 - i * 6, box.y + 100);
await page.mouse.up();
await page.keyboard.up("Shift");
const frames = (await page.evaluate(() => globalThis.frames_)).sort((a, b) => a - b);
console.log(JSON.stringify({
  open_first_ms: first.ms, open_again_ms: again.ms, first_asked_and_got_ms: first.parts, again_asked_and_got_ms: again.parts, frames: frames.length, median_frame_ms: Math.round(frames[frames.length >> 1]),
  longest_frame_ms: Math.round(frames.at(-1)), tasks_over_50_ms: await page.evaluate(() => globalThis.long_),
}, null, 1));
await browser.close();
child.kill();
place.remove();
