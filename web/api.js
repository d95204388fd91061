// Talks to the server: JSON by fetch, ticks by a stream. The token is kept for this tab alone and goes
// into a header, so no other site can make the browser send it. The link that the server prints carries it
// behind `#`, which no browser sends; it is taken out of the address at once, so that no history keeps it.

const BASE = "/api/v1";
const KEY = "lowtide-token";
/** A stream that broke is opened again after this long, then twice as long, up to the second number. */
const AGAIN = [1000, 30000];

export class ApiError extends Error {
  /** @param {number} status @param {string} message @param {string | null} hint */
  constructor(status, message, hint) {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** @param {string} token */
export const setToken = (token) => sessionStorage.setItem(KEY, token);

/** Takes the token out of the address that this page was opened by; false where there is none. */
export function takeToken() {
  const given = /^#token=([^&]+)$/.exec(location.hash);
  if (!given) return false;
  setToken(decodeURIComponent(given[1]));
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}

/** @param {AbortSignal} [signal] @returns {RequestInit} */
function options(signal) {
  const token = sessionStorage.getItem(KEY);
  return { headers: token ? { authorization: `Bearer ${token}` } : {}, cache: "no-store", signal: signal ?? null };
}

/** @param {Response} answer */
async function refuse(answer) {
  const body = await answer.json().catch(() => null);
  throw new ApiError(answer.status, body?.error ?? `the server answered ${answer.status}`, body?.hint ?? null);
}

/** @param {string} path @param {RequestInit} [more] */
export async function ask(path, more = {}) {
  const answer = await fetch(BASE + path, { ...options(), ...more, headers: { ...options().headers, ...more.headers } });
  return answer.ok ? answer.json() : refuse(answer);
}

/** @param {Record<string, string | number>} of */
const query = (of) => new URLSearchParams(Object.entries(of).map(([name, value]) => [name, String(value)])).toString();

/** @param {string} name @returns {Source} */
export function live(name) {
  const run = `/runs/${encodeURIComponent(name)}`;
  return {
    live: true,
    report: () => ask(`${run}/report`),
    lines: (names, from, to, columns) => Promise.all(names.map(({ who, meter }) => ask(`${run}/series?${query({ who, meter, from, to, columns })}`))),
    stack: async (from, to, columns) => (await ask(`${run}/stack?${query({ from, to, columns })}`)).stack,
    names: async () => (await ask(`${run}/lines`)).lines,
  };
}

/**
 * Follows a run until it is over or `stop` is called.
 * @param {string} name @param {(tick: Tick) => void} onTick @param {(well: boolean) => void} onState
 */
export function follow(name, onTick, onState) {
  const abort = new AbortController();
  const listen = async () => {
    let pause = AGAIN[0];
    while (!abort.signal.aborted) {
      try {
        const answer = await fetch(`${BASE}/runs/${encodeURIComponent(name)}/stream`, options(abort.signal));
        if (!answer.ok || !answer.body) return void (await refuse(answer).catch(() => onState(false)));
        onState(true);
        pause = AGAIN[0];
        for await (const tick of ticksOf(answer.body)) {
          onTick(tick);
          if (tick.state !== "running") return;
        }
      } catch {
        // The server is gone or the machine slept: both end by trying again.
      }
      onState(false);
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(pause * 2, AGAIN[1]);
    }
  };
  void listen();
  return () => abort.abort();
}

/** @param {ReadableStream<Uint8Array>} body @returns {AsyncGenerator<Tick>} */
async function* ticksOf(body) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
      if (data) yield JSON.parse(data);
    }
  }
}
