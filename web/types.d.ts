// The shapes that the API sends, as `Report` in lowtide-core writes them. Only for the type checker.

type Axis = "step" | "time" | "sample";
type LineName = { who: string; meter: string };
/** What a line can measure: `label: meaning` for people, its values in `unit`. */
type Meter = { name: string; label: string; unit: string; meaning: string };
type Line = LineName & { x: number[]; low: number[]; high: number[] };
type Stack = { roles: string[]; x: number[]; total: number[]; parts: number[][] };
type Span = { phase: string; from: number; to: number };
type Epoch = { number: number; at: number | null; step: number | null };
type Forecast = {
  axis: Axis; from: number; to: number; bytes: number;
  low: number; value: number; high: number; plateau: number | null;
};
type Room = { until: number; limit: number; from: string };
type Process = {
  who: string; pid: number; parent: string | null; role: string; command: string; why: string;
  watched: boolean; since: number; gone: number | null; held: number[]; own: number; peak: number;
  threads: number | null;
};
/** What a look could not see: `kind` for programs, `says` for people. */
type Missing = { kind: string; says: string };
/** Looks broken down by one thing; bytes and counts are in the order of `parts`, null where nobody knows. */
type BreakdownTable = {
  who: string; by: string; title: string; examiner: string;
  parts: { name: string; class: string | null; held: boolean }[];
  looks: {
    at: number; step: number | null; why: string; held: number | null;
    bytes: (number | null)[]; counts: (number | null)[]; missing: Missing[];
  }[];
};
type Oom = {
  at: number; low: number; high: number | null;
  seconds: { at: number; low: number; high: number | null } | null;
};
type Needs = { value: number; low: number; high: number };
type Bound = { kind: string; at: number | null; bytes: number | null; certainty: string; why: string };
/** `fits` is `yes`, `tight` (the limit lies within the range), `no`, or null. */
type Outlook = {
  ends_at: number | null; seconds: number | null; needs: Needs; fits: string | null;
  futures: { when: string; needs: number; fits: string | null }[];
  later: { seconds: number; needs: Needs; fits: string | null }[];
  others: number | null; others_hold: number | null; says: string;
};
type Verdict = {
  source: string; verdict: string; leaking: boolean | null; confidence: number | null; growing: boolean;
  process: { pid: number; role: string; command: string; why: string } | null;
  meter: string; axis: Axis; floor: { first: number; last: number };
  rate: { value: number; low: number; high: number; unit: string; per_minute: number | null };
  growth: { from: number; to: number; bytes: number; driver: string | null; per_unit: number | null } | null;
  settled_at: number | null; plateau: number | null; predicted_plateau: number | null; creep: boolean;
  also: string[]; limit: number | null; headroom: number | null; oom: Oom | null;
  decides_at: number | null; safe_until_then: boolean | null; bound: Bound | null; outlook: Outlook | null;
  evidence: { rule: string; says: string }[];
};
type Statement = { about: string; says: string };
type Change =
  | { kind: "env"; name: string; value: string }
  | { kind: "flag"; name: string; from: string; to: string }
  | { kind: "setting"; name: string; to: string }
  | { kind: "cgroup"; file: string; to: string }
  | { kind: "hook"; callback: string }
  | { kind: "code" }
  | { kind: "probe"; command: string[] };
type Experiment = { says: string; changes: Change[]; command: string | null; expect: string };
type Explanation = {
  drivers: {
    name: string; per_unit: number; low: number; high: number; units: number; explains: number;
    margin: number | null; tied: boolean; parts_at: number | null; says: string;
  }[];
  memory: {
    pid: number; role: string; looks: number; cost: number;
    breakdowns: {
      by: string; title: string; examiner: string; looks: number;
      from: { seconds: number; step: number | null }; to: { seconds: number; step: number | null };
      grew: number; conclusive: boolean; accounted: number; missing: Missing[];
      parts: {
        name: string; class: string | null; held: boolean; first: number | null; last: number | null; grew: number;
        more: number | null; share: number; members: string[];
      }[];
    }[];
  } | null;
  candidates: {
    id: string; title: string; score: number; because: string[]; cause: string;
    experiment: Experiment; fix: string; sources: string[];
  }[];
  ruled_out: Statement[];
  untested: Statement[];
};
type Summary = {
  seconds: number; samples: number; lost_ticks: number; late_ticks: number;
  first_step: number | null; last_step: number | null; total_steps: number | null; steps_from: string | null;
  tree: { min: number; mean: number; max: number; floor_first: number; floor_last: number };
  roles: { role: string; count: number; seen: number; rss: number; own: number; verdict: string }[];
  limit: { bytes: number; from: unknown; used: number } | null; headroom: number | null;
  exit: { code?: number; signal?: number } | null;
};
type Header = {
  name: string; started: number; host: string; kernel: string; how: string; command: string[]; cwd: string;
  interval: number; lowtide: string; cores: number;
};
type PostMortem = {
  at: number; seen_at: number; held: number; step: number | null; total_steps: number | null; attempt: number; grew: string | null;
  who: { pid: number; role: string; command: string } | null;
  holders: { pid: number; role: string; command: string; held: number; grown: number }[];
};
type RunReport = {
  schema: number; name: string; headline: string; verdict: Verdict; decides: LineName; read: string | null;
  header: Header | null; summary: Summary | null; axis: Axis; from: number; to: number; steps: number[][];
  lines: Line[]; meters: Meter[]; stack: Stack | null; spans: Span[]; epochs: Epoch[]; floor: number[][]; forecast: Forecast | null; room: Room | null;
  processes: Process[]; breakdowns: BreakdownTable[]; explanation: Explanation | null;
  events: { at: number; kind: string; text: string }[];
  attempts: { at: number; number: number; checkpoint: string | null; step: number | null; repeated: number; why: string }[];
  died: string | null; post_mortem: PostMortem | null;
};

/** A run in the list. */
type RunRow = {
  name: string; state: string; started: string | null; seconds: number; command: string[]; host: string;
  peak: number; samples: number; size: number; exit: number | null;
};
/** What the stream sends on every tick. */
type Tick = {
  state: string; seconds: number; step: number | null; total_steps: number | null;
  verdict: string; growing: boolean; headline: string; held: number;
};
/** One picture of the run: what the chart draws. */
type Layer = { label: string; colour: string; line: Line };
type Flag = { x: number; label: string; kind: string };
type Scene = {
  axis: Axis; from: number; to: number; layers: Layer[]; floor: number[][];
  stack: { stack: Stack; colours: string[]; labels: string[] } | null;
  spans: { from: number; to: number; phase: string }[]; flags: Flag[];
  forecast: { from: number; to: number; bytes: number; low: number; value: number; high: number; plateau: number | null; end: string } | null;
  limit: { bytes: number; label: string } | null; gap: number; say: (x: number) => string; show: (value: number) => string;
};
/** Where the data of a page comes from: the file itself, or the server. */
type Source = {
  live: boolean;
  report: () => Promise<RunReport>;
  lines: (names: LineName[], from: number, to: number, columns: number) => Promise<Line[]>;
  stack: (from: number, to: number, columns: number) => Promise<Stack | null>;
  names: () => Promise<LineName[]>;
};
