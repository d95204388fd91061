// What all tests of the page share: a real browser, a real server, real jobs.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

export const ROOT = path.resolve(import.meta.dirname, "../..");
export const LOWTIDE = process.env.LOWTIDE_BIN ?? path.join(ROOT, "target/debug/lowtide");
/** The day of 25 processes that `cargo run --example day` wrote. */
export const DAY = process.env.LOWTIDE_DAY ?? "";
/** Reached only by a test that fails. */
export const PATIENCE = 60000;

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

/** A page that fails the test when its script does, or when a policy is violated. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("dialog", (dialog) => { page.problems.push(`a dialog: ${dialog.message()}`); void dialog.dismiss(); });
  page.on("console", (message) => { if (message.type() === "error") page.problems.push(message.text()); });
  return page;
}

/** Waits until all of a run is on the page: verdict and chart come first. */
export const whole = (page) => page.waitForSelector(".run:not([aria-busy])");

/** Starts a program and waits for a line of its stderr. */
export function start(args, home, word) {
  const child = spawn(LOWTIDE, args, { env: { ...process.env, LOWTIDE_HOME: home }, stdio: ["ignore", "pipe", "pipe"] });
  // Steps are read from what the job prints, so somebody must take it.
  child.stdout.resume();
  const found = new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (data) => {
      said += data;
      const line = said.split("\n").slice(0, -1).find((l) => l.includes(word));
      if (line) resolve(line);
    });
    child.on("exit", (code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
  return { child, found };
}

export async function serve(home) {
  const { child, found } = start(["serve", "--listen", "127.0.0.1:0"], home, "http://");
  const [, base, token] = /(http:\/\/[^/]+)\/#token=(\w+)/.exec(await found);
  // As the printed link has it: behind `#`, where the page takes it from.
  return { base, child, token, at: (where) => `${base}${where}#token=${token}` };
}

export function folder() {
  const made = mkdtempSync(path.join(tmpdir(), "lowtide-web-"));
  return { path: made, remove: () => rmSync(made, { recursive: true, force: true }) };
}

/** Waits until it is so. */
export async function until(what, look) {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
