// Made from web/openapi.json, for the type checker alone. To make it again:
// LOWTIDE_BLESS=1 cargo test -p lowtide --test serve types

/** A job that is started again is a new process tree; its steps count on from a checkpoint. */
type Attempt = {
  /** Seconds */
  at: number;
  /** What it resumes from; none when it begins anew. */
  checkpoint: string | null;
  /** From 2: the first attempt is the run's beginning. */
  number: number;
  /** Steps that are done a second time. */
  repeated: number;
  step: number | null;
  why: string;
};
type Axis = "step" | "time" | "sample";
type Basis = {
  pss: {
    /** Seconds */
    oldest: number;
    unread: number;
  };
} | "cgroup" | "counters" | "other";
/** Where growth ends, known from elsewhere than the curve. */
type Bound = {
  /** Where on the axis, when that is known. */
  at: number | null;
  /** The level it ends at. */
  bytes: number | null;
  certainty: Certainty;
  kind: BoundKind;
  why: string;
};
type BoundKind = "epoch" | "reserved";
/** An early look against a late one. */
type BreakdownGrowth = {
  /** Share of the growth that the parts account for, 0 to 1. */
  accounted: number;
  by: By;
  /** Shares of the growth can be told: something grew, both looks are whole, and it was between them. Else all of them are 0. */
  conclusive: boolean;
  examiner: Examiner;
  /** Seconds of the run at which the two looks were taken, and the steps if known. */
  from: Moment;
  /** Growth of anon + shmem + swap between the two. */
  grew: number;
  /** Looks that had it. */
  looks: number;
  /** What the two looks could not see. */
  missing: Said[];
  /** Largest growth first. */
  parts: PartGrowth[];
  /** The same for people. */
  title: string;
  to: Moment;
};
/** Look by look, what the parts of one breakdown held. */
type BreakdownTable = {
  by: By;
  examiner: Examiner;
  looks: LookRow[];
  parts: PartName[];
  /** The same for people. */
  title: string;
  /** As in `Line::who`. */
  who: string;
};
/** What a look is broken down by: `mapping`, `tensor-group`, `python-type`, `holder` and so on */
type By = string;
/** A playbook entry that fits what was measured. */
type Candidate = {
  /** The measured signature, each in words with its numbers. */
  because: string[];
  cause: string;
  experiment: Experiment;
  fix: string;
  /** `P01`, … */
  id: string;
  /** 0 to 1: how much of its signature was measured. */
  score: number;
  sources: string[];
  title: string;
};
type Cause = {
  group: string;
  kills: number;
  kind: "group-oom";
} | {
  kind: "node-oom";
  line: string;
} | {
  kind: "guard";
  text: string;
} | {
  kind: "signal";
  signal: number;
} | {
  code: number;
  kind: "rank-lost";
} | {
  kind: "unseen";
  likely_oom: boolean;
} | {
  kind: "other";
};
type Certainty = "exact" | "inferred";
type Change = {
  kind: "env";
  name: string;
  value: string;
} | {
  from: string;
  kind: "flag";
  name: string;
  to: string;
} | {
  kind: "setting";
  name: string;
  to: string;
} | {
  file: string;
  kind: "cgroup";
  to: string;
} | {
  callback: string;
  kind: "hook";
} | {
  kind: "code";
} | {
  command: string[];
  kind: "probe";
};
type Class = "leak" | "too-early" | "warm-up" | "spikes" | "stable";
type CountGrowth = {
  /** What it is counted by: the name of a driver. */
  driver: string;
  /** Bytes of one, as its allocator or the callback counts them. */
  each: number;
  high: number | null;
  low: number | null;
  more: number;
  /** `blocks of 131,072 B`, `Python objects of 81 to 96 B`, `tensors float32[64x512]`. */
  name: string;
  /** How many more per unit, with an interval; none where the looks leave too much open. */
  per_unit: number | null;
  says: string;
  /** The shape of tensors that have this size, where somebody counted such. */
  shape: string | null;
  /** Units between the looks. */
  units: number;
};
/** What counts the steps that were read from memory, and in which process. */
type Counter = {
  /** None: an object that a later lowtide knows. */
  object: LoopObject | null;
  pid: number | null;
};
type Driver = {
  /** Share of the growth's variation that it explains. */
  explains: number;
  high: number;
  low: number;
  /** How much better than the next one (ratio of unexplained variation); none for the last. */
  margin: number | null;
  /** `step`, `new-example`, `evaluation`, `save`, `excursion`, `log`, `recompile`, `shape`, `worker-start`, `file-bytes`, `time`. */
  name: string;
  /** Where on the axis the tie will be broken. */
  parts_at: number | null;
  /** Bytes per unit with a 95 % interval. */
  per_unit: number;
  says: string;
  /** Cannot be told from the first one by this data. */
  tied: boolean;
  /** Units seen while it grew. */
  units: number;
};
/** A moment at which an epoch ended. */
type EpochEnd = {
  /** Seconds; none when only the step is known. */
  at: number | null;
  number: number;
  step: number | null;
};
type RunError = {
  error: string;
  hint?: string | null;
};
type RunEvent = {
  /** Seconds */
  at: number;
  kind: EventKind;
  text: string;
};
type EventKind = "info" | "limit-near" | "verdict" | "leak" | "recording" | "job-stopped" | "job-continued" | "guard" | "other";
/** A rule that had its say. */
type Evidence = {
  /** The name of the rule. */
  rule: string;
  says: string;
};
/** Who looked: `mappings` and `census` from outside, the Python package from inside */
type Examiner = string;
type Exit = {
  code: number;
} | {
  signal: number;
};
type Experiment = {
  /** What is changed about the job, for a program that carries it out. */
  changes: Change[];
  /** The same to paste into a shell today; none where a shell cannot change it. */
  command: string | null;
  /** What to expect if this is the cause. */
  expect: string;
  says: string;
};
type Explanation = {
  /** Entries of the playbook whose signature was measured, best first. Empty: unknown, or benign. */
  candidates: Candidate[];
  /** What the growth may be proportional to, best first. Empty: nothing grew. */
  drivers: Driver[];
  /** Who holds what came. None: no two censuses of the process, or nothing grew. */
  held: Held | null;
  /** Holders that became longer while they were read on every tick; the most bytes first. */
  holders: HolderGrowth[];
  /** Where the bytes are. None: no two looks into the process. */
  memory: Memory | null;
  /** The objects that Python's collector tracks, where they rise steadily while it grows. */
  objects: ObjectGrowth | null;
  ruled_out: Statement[];
  /** Not contradicted and not shown, with what would show it. */
  untested: Statement[];
};
type Fits = "yes" | "tight" | "no";
type Floor = {
  first: number;
  last: number;
};
/** Where the deciding line goes from here if nothing changes: a range of slopes from its last floor, to what the run needs at its last step where that is known. */
type Forecast = {
  axis: Axis;
  /** The floor at `from`. */
  bytes: number;
  from: number;
  high: number;
  /** Bytes per unit of the axis: the rate or the way to what is needed, with the ends of its range. */
  low: number;
  /** Where growth would end, if it ends with the epoch or as is known from elsewhere. */
  plateau: number | null;
  to: number;
  value: number;
};
type Future = {
  fits: Fits | null;
  needs: number;
  /** `growth ends with the epoch`, `growth goes on`. */
  when: string;
};
/** What grows, how fast and in whom. */
type Grows = {
  /** When that is one process. */
  pid: number | null;
  rate: Rate;
  /** The kind of memory that most of it is, when two looks have told. */
  what: string | null;
  /** `trainer 4647`, `all loader-worker processes`, `the whole tree`. */
  who: string;
};
type Growth = {
  bytes: number;
  /** What the growth is proportional to: `new-example`, `step`, `time`, … */
  driver: string | null;
  from: number;
  per_unit: number | null;
  to: number;
};
type Header = {
  /** Share of wall time that careful readings may take. */
  budget: number;
  clock_ticks: number;
  /** The job's command, secrets masked. */
  command: string[];
  cores: number;
  cwd: string;
  host: string;
  /** `run` or `attach`. */
  how: string;
  /** Seconds */
  interval: number;
  kernel: string;
  lowtide: string;
  /** The run's name, also that of its folder. */
  name: string;
  /** Seconds: wall clock when the run began, since the Unix epoch. */
  started: number;
};
/** An early census of Python's objects against a late one. */
type Held = {
  /** All that were taken of the process. */
  censuses: number;
  /** What Python's objects, with what lies behind them, explain of that, 0 to 1; null where the two do not tell. */
  explained: number | null;
  from: Moment;
  /** Growth of anon + shmem + swap between the two. */
  grew: number;
  /** The one to look at first comes first. */
  lines: HeldLine[];
  /** What to know before they are believed. */
  notes: string[];
  to: Moment;
};
/** Objects that became more, and who holds them. */
type HeldLine = {
  /** How much came, with what came along. */
  bytes: number;
  /** What may end it, and which code may touch it, as candidates. */
  facts: string[];
  /** How much of what came they hold, 0 to 1. */
  held: number;
  /** Who holds it, the most of it first. Empty: nobody was found. */
  holders: string[];
  /** From a root to the first of them. */
  path: string[];
  says: string;
  /** Of the growth of anon + shmem + swap, 0 to 1. */
  share: number;
};
type Holder = {
  command: string;
  /** Since it was first seen. */
  grown: number;
  held: number;
  pid: number;
  role: string;
};
/** How a holder became longer, read on every tick since a census named it. */
type HolderGrowth = {
  /** Times that it was not there, or could not be told. */
  absences: number;
  /** What came, if each item is worth what the census found on average. */
  bytes: number | null;
  /** What may end it, and which code may touch it, as candidates. */
  facts: string[];
  /** Times that it had fewer items than before. */
  falls: number;
  /** Slots that were filled at the first reading and at the last, where it had empty ones and has fewer now. */
  filled: number[] | null;
  /** Its length at the first reading. */
  first: number;
  high: number | null;
  /** Its type. */
  kind: string;
  /** Its length at the last one. */
  last: number;
  low: number | null;
  name: string;
  /** Items per unit with a 95 % interval; null where it fell, or began anew. */
  per_unit: number | null;
  readings: number;
  /** Times that nothing was left of what it had before. */
  renewals: number;
  says: string;
  /** Between the first reading and the last. */
  seconds: number;
  /** Between the first reading and the last. */
  steps: number | null;
  /** `step`, or `minute` where steps are not known. */
  unit: string;
};
type Horizon = {
  fits: Fits | null;
  needs: Needs;
  seconds: number;
};
type Job = {
  /** The program and its arguments */
  command: [string];
  /** An absolute path */
  cwd?: string | null;
  /** Added to the server's environment */
  env?: Record<string, string>;
  limit?: string | null;
};
/** The smallest limit that applies. */
type Limit = {
  bytes: number;
  from: LimitFrom;
  /** How much of it is in use by everything that counts against it. */
  used: number;
};
type LimitFrom = {
  cgroup: string;
} | "node" | "slurm" | "rlimit" | "user" | "other";
/** One quantity along the axis: in each column its lowest and highest value, in the meter's unit. */
type Line = {
  high: number[];
  low: number[];
  meter: Meter;
  /** `tree`, `role:NAME`, `pid:PID:START` or, for a bare series, `series`. */
  who: string;
  x: number[];
};
/** Names a line. */
type LineName = {
  meter: Meter;
  who: string;
};
type LookRow = {
  /** Seconds. */
  at: number;
  /** Bytes and numbers in the order of `BreakdownTable::parts`; null where nobody knows. */
  bytes: (number | null)[];
  counts: (number | null)[];
  /** anon + shmem + swap of the process. */
  held: number | null;
  missing: Said[];
  step: number | null;
  why: LookWhy;
};
type LookWhy = "start" | "due" | "verdict" | "guard" | "asked" | "other";
/** What all looks into the run's processes have cost, whoever took them. */
type LooksCost = {
  /** Seconds */
  cpu: number;
  looks: number;
};
/** What counts steps in a process's memory. */
type LoopObject = "trainer-state" | "lightning-loop" | "accelerator" | "bar" | "data-loader";
type Lost = {
  /** Bytes of the recording are broken. Otherwise the ticks were never recorded (a disk was full, or hung), or there are more than can be read. */
  damaged: boolean;
  says: string;
  /** As far as they could be counted. */
  ticks: number;
};
type MarkSource = "callback" | "output" | "trainer-state" | "memory" | "other";
/** Where the bytes of the process that grew are, by the looks into it. */
type Memory = {
  /** All that two looks of one examiner were broken down by; the one by mapping leads. */
  breakdowns: BreakdownGrowth[];
  cost: number;
  /** Blocks and tensors of one size that became more, largest growth first. */
  counted: CountGrowth[];
  /** All looks into it, and what they cost in seconds of CPU. */
  looks: number;
  pid: number;
  role: string;
};
type MemoryClass = "python-live" | "python-slack" | "glibc-live" | "glibc-free" | "glibc-holes" | "glibc-mapped" | "stack" | "program" | "other-anon" | "shared" | "file-dirty" | "file-clean" | "device" | "swapped";
/** The name of a meter: `held`, `anon`, `rss`, `pss` and so on; a report lists those it has */
type Meter = string;
/** A meter: what it is called, what it counts, and what it means */
type MeterInfo = {
  label: string;
  meaning: string;
  name: string;
  unit: string;
};
type Moment = {
  seconds: number;
  step: number | null;
};
/** The highest level until then, as a range. */
type Needs = {
  high: number;
  low: number;
  value: number;
};
/** How the objects that Python's collector tracks became more. */
type ObjectGrowth = {
  /** By the first and the last full collection while it grew. */
  first: number;
  high: number;
  last: number;
  low: number;
  /** More per unit with a 95 % interval. */
  per_unit: number;
  says: string;
  /** `step`, or `minute` where steps are not known. */
  unit: string;
};
/** When memory runs out, on the axis, and in seconds from now when the pace is known. */
type Oom = {
  at: number;
  /** None: it may never come. */
  high: number | null;
  low: number;
  seconds: OomSeconds | null;
};
type OomSeconds = {
  at: number;
  high: number | null;
  low: number;
};
/** What the run needs until its end. Sizes are those of the line that is judged; for a run, of the whole tree. */
type Outlook = {
  /** The last place on the axis it speaks of: the last step, or where the run ended. None where no number of steps is known and `seconds` says how far it looks. */
  ends_at: number | null;
  /** None: no limit is known, or growth was seen for too short a time to be carried that far. */
  fits: Fits | null;
  /** What it comes to, where growth may go on or end: each with what it takes. */
  futures: Future[];
  /** Further ahead, where no number of steps is known. */
  later: Horizon[];
  needs: Needs;
  /** What others that count against the same limit take, in bytes a minute; none when they do not. */
  others: number | null;
  /** What they hold of it now, where that is a good part; the run has the rest. `fits` allows for it. */
  others_hold: number | null;
  /** The same in words, for every view: `needs 17.1 to 17.7 GB of 32.0 GB until step 240: fits`. */
  says: string;
  /** Seconds from now until then; 0 when the run is over, none when the pace is not known. */
  seconds: number | null;
};
type PartGrowth = {
  /** Of a breakdown by mapping. */
  class: MemoryClass | null;
  /** Bytes; none where only a number is known. */
  first: number | null;
  grew: number;
  /** Counts in anon + shmem + swap. */
  held: boolean;
  last: number | null;
  /** The members that grew most, in words: `80 B blocks: +299,964, 24 MB`. */
  members: string[];
  /** How many more there are; none where nobody counted. */
  more: number | null;
  name: string;
  /** Of the growth of anon + shmem + swap. */
  share: number;
};
type PartName = {
  /** Of a breakdown by mapping. */
  class: MemoryClass | null;
  /** Counts in anon + shmem + swap. */
  held: boolean;
  name: string;
};
type Phase = "start" | "train" | "eval" | "save" | "end";
type PostMortem = {
  /** Seconds */
  at: number;
  attempt: number;
  cause: Cause;
  exit: Exit | null;
  /** How fast memory rose, when it did. */
  grew: string | null;
  held: number;
  /** Those who held most, the largest first. */
  holders: Holder[];
  limit: Limit | null;
  /** Seconds: when the tree was last seen alive; what follows is of that moment. */
  seen_at: number;
  /** The furthest step that was done. */
  step: number | null;
  /** The last steps: seconds since the run began, and the step. */
  steps: [number, number][];
  total_steps: number | null;
  /** The training process that ended first, where that is known. */
  who: Victim | null;
};
type Process = {
  command: string;
  gone: number | null;
  /** anon + shmem + swap: least, most and last. */
  held: [number, number, number];
  /** What it adds to an honest sum, last. */
  own: number;
  parent: string | null;
  /** The kernel's high-water mark of RSS. */
  peak: number;
  pid: number;
  role: string;
  /** Seconds. */
  since: number;
  threads: number | null;
  watched: boolean;
  /** As in `Line::who`. */
  who: string;
  why: string;
};
type ProcessLine = {
  command: string;
  held: Spread;
  /** The kernel's own high-water mark of RSS. */
  peak: number;
  pid: number;
  role: string;
  why: string;
};
type ProcessRef = {
  command: string;
  pid: number;
  role: string;
  why: string;
};
/** The floor's slope after warm-up, with its 95 % interval. */
type Rate = {
  high: number;
  low: number;
  per_minute: number | null;
  unit: string;
  value: number;
};
type RunReport = {
  /** Restarts by the guard; empty for a run of one attempt. */
  attempts: Attempt[];
  /** What the x of every line counts: seconds for a recording. */
  axis: Axis;
  /** Where the bytes of one process are, look by look, one table a breakdown. */
  breakdowns: BreakdownTable[];
  /** The line that decides the verdict. */
  decides: LineName;
  /** Why the job died, in words, and what is known of it. */
  died: string | null;
  epochs: EpochEnd[];
  events: RunEvent[];
  explanation: Explanation | null;
  /** The low-water line of what decides, as places on the verdict's axis and bytes. */
  floor: [number, number][];
  forecast: Forecast | null;
  /** First and last x. */
  from: number;
  header: Header | null;
  /** The answer in one line. */
  headline: string;
  lines: Line[];
  /** What lines can measure, in the order in which views list it. */
  meters: MeterInfo[];
  /** A run's name, or the file that was read. */
  name: string;
  post_mortem: PostMortem | null;
  processes: Process[];
  /** How a bare file was read; none for a recording. */
  read: string | null;
  room: Room | null;
  schema: number;
  spans: Span[];
  stack: Stack | null;
  /** The way from seconds to steps, both rising; empty when no steps are known. */
  steps: [number, number][];
  summary: Summary | null;
  to: number;
  verdict: Verdict;
};
/** All processes of one role. */
type RoleLine = {
  /** Most that lived at a time. */
  count: number;
  /** What they added to the machine then: every page once. */
  own: number;
  role: string;
  /** What each showed by itself then, added up; pages shared between them count many times. */
  rss: number;
  /** Ever seen (of those still remembered). */
  seen: number;
  /** How that behaved: constant overhead is told apart from growth. */
  verdict: Class;
};
/** How high the deciding line may rise: the limit holds for all that counts against it. */
type Room = {
  /** Where the limit comes from, in words. */
  from: string;
  limit: number;
  /** The line's own level at which the limit is hit. */
  until: number;
};
type RunRow = {
  command?: string[];
  /** Bytes of the recording are broken; none for a run that goes on, and for a file too long to be looked through. */
  damaged?: boolean | null;
  exit?: number | null;
  /** The floor rises now; none likewise. */
  growing?: boolean | null;
  /** None where nothing grows, or likewise. */
  grows?: Grows | null;
  host?: string;
  /** Where the line that decides rests, or its low-water mark now; none likewise. */
  level?: number | null;
  /** Ticks that were not recorded; none likewise. */
  lost_ticks?: number | null;
  name: string;
  peak?: number;
  samples?: number;
  /** The verdict and what grows in one line; none likewise: `leak +524 kB/step in trainer 4647 · Python objects`, `stable 1.48 GB`. */
  says?: string | null;
  seconds?: number;
  size?: number;
  started?: string | null;
  state: "running" | "ended" | "cut-off" | "unreadable";
  /** As its watcher kept it, or judged from the recording; none where it is not judged yet. */
  verdict?: Class | null;
};
type Runs = {
  runs: RunRow[];
  schema: 1;
};
/** The same for those who read JSON. */
type Said = {
  /** `time-ran-out`, `changed`, `denied`, … */
  kind: string;
  says: string;
};
/** A stretch of the run in which the loop did one thing. */
type Span = {
  /** Seconds. */
  from: number;
  phase: Phase;
  to: number;
};
type Spread = {
  floor_first: number;
  floor_last: number;
  max: number;
  mean: number;
  min: number;
};
/** What each role held at the highest moment of each column; `total` is the tree's own honest sum. */
type Stack = {
  /** One list a role, as long as `x`. */
  parts: number[][];
  roles: string[];
  total: number[];
  x: number[];
};
type Started = {
  name: string;
  pid: number;
};
type Statement = {
  /** The playbook entry or cause it speaks of. */
  about: string;
  says: string;
};
type Stopped = {
  name: string;
  stopping: boolean;
};
type Summary = {
  basis: Basis;
  /** The object that counts them, where they are read from memory. */
  counter: Counter | null;
  exit: Exit | null;
  first_step: number | null;
  headroom: number | null;
  last_step: number | null;
  late_ticks: number;
  limit: Limit | null;
  looks: LooksCost;
  lost_ticks: number;
  name: string;
  /** How often the guard started the job again; the levels below are those of the last attempt. */
  restarts: number;
  roles: RoleLine[];
  samples: number;
  seconds: number;
  steps_from: MarkSource | null;
  total_steps: number | null;
  /** What the tree held, every page once. */
  tree: Spread;
  watched: ProcessLine | null;
};
/** Who holds what grew. */
type Suspect = {
  says: string;
  share: number;
  who: string;
};
type Tick = {
  growing: boolean;
  headline: string;
  held: number;
  seconds: number;
  state: string;
  step?: number | null;
  total_steps?: number | null;
  verdict: string;
};
type Verdict = {
  also: Class[];
  axis: Axis;
  /** Where growth must end, or ended; none when nobody knows. */
  bound: Bound | null;
  /** How often calls like this are right, 0 to 1, if leaks and harmless growth are equally common: by a curve that was fitted to generated runs and tested on behaviours left out of the fit (docs/accuracy.md). None when too early, and for growth whose end is known beforehand. */
  confidence: number | null;
  /** Growth that is real but too slow to matter within ten times the run. */
  creep: boolean;
  decides_at: number | null;
  evidence: Evidence[];
  floor: Floor;
  /** The floor rises now. Whether that ends is another question, which `verdict` answers: `too-early` and growing is growth whose end nobody knows yet. */
  growing: boolean;
  growth: Growth | null;
  headroom: number | null;
  /** True for `leak`, none for `too-early`, false otherwise. */
  leaking: boolean | null;
  limit: number | null;
  /** What the recording lacks: the verdict knows nothing of it. None when it is whole. */
  lost: Lost | null;
  meter: Meter;
  oom: Oom | null;
  /** What the run needs until its end, and whether that fits; none before there is anything to go by. */
  outlook: Outlook | null;
  plateau: number | null;
  predicted_plateau: number | null;
  /** The process that decides it; none for a bare series or for the tree as a whole. */
  process: ProcessRef | null;
  rate: Rate;
  safe_until_then: boolean | null;
  schema: number;
  settled_at: number | null;
  /** What was judged: a file or a run's name. */
  source: string;
  /** Growth that lasted, kept its pace and came in many rises: what a leak is like, and a fill too. */
  steady: boolean;
  suspects: Suspect[];
  verdict: Class;
};
type Victim = {
  command: string;
  pid: number;
  role: string;
};
