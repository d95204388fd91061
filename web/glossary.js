// What the words mean, once for all: `lowtide help words` reads the same lines, as JSON between the braces.

export const GLOSSARY = /** @type {Record<string, string>} */ (
{
  "confidence": "How often calls like this are right, by a curve that was fitted to generated runs and tested on behaviours left out of the fit: docs/accuracy.md. None where it is too early.",
  "creeps": "It still rises, but so slowly that it would not matter within ten times this run: 2 MB in a run that holds 17 GB. That is no leak.",
  "driver": "What the growth goes with: steps, new examples, evaluations, saves, log calls or time. If every evaluation leaves 65 MB behind, evaluations drive it.",
  "epoch": "One pass over the training data. What keeps each example once grows during the first epoch and stops at its end.",
  "evidence": "The lines below a verdict. Each is one rule with the numbers that it saw.",
  "excursion": "A rise that goes away again, such as an evaluation that takes 2 GB and gives it back. A short one is a spike.",
  "fits": "Whether what the run needs until its end is below the limit: fits, may not fit, does not fit.",
  "floor": "The lowest that memory falls to between spikes: the low-water line. A leak is a floor that rises, however high the spikes above it are.",
  "growing": "The floor rises, and nobody knows yet whether that ends: a cache that fills and a leak look the same until then.",
  "guard": "The part of lowtide that has a job save and stop before memory runs out, and starts it again from its checkpoint.",
  "headroom": "What is left between what is in use and the limit.",
  "held": "Memory that the kernel cannot take back from a process: anon + shmem + swap. Pages of files are not held, they can be read again.",
  "held by others": "What other processes take of the same limit. Your job may run out of memory because of them.",
  "leak": "The floor rises steadily, and for longer than harmless stores take to fill: a few epochs where they are known, thirteen evaluations or saves, or about six hours.",
  "limit": "Where memory ends: the smallest of the container's (cgroup), the batch system's and the machine's.",
  "look": "A short, read-only visit into a running process that tells where its bytes are: Python objects, malloc blocks by size, shared memory, files.",
  "mark": "A moment that the training loop told lowtide, such as lowtide.mark(step=10) or what a callback sends. Without marks, steps are read from what the job prints.",
  "outlook": "What this run needs until its last step, as a range, and whether that fits: 17.1 GB to 17.7 GB of 32 GB, fits.",
  "plateau": "The level at which growth ended. A warm-up ends in one.",
  "settled": "Growth ended there, and the floor has been level since: settled at step 83.",
  "spikes": "Memory rises for a while and falls back, over a floor that does not rise. An evaluation does that.",
  "stable": "The floor does not rise, and there were enough readings to show it.",
  "start-up": "Everything before the first step: imports, the model, the data. Growth there is no leak.",
  "swing": "The distance between the floor and the highest spikes above it.",
  "too early": "It cannot be known yet. Where possible, the verdict says at which step it can.",
  "trainer": "The process that runs the training loop. The others are loader workers, ranks, launchers or helpers.",
  "tree": "The job's first process and all that it started. Memory that they share counts once.",
  "verdict": "The answer: leak, warm-up, spikes, stable or too early.",
  "warm-up": "It grew and has stopped, or its end is known: a first epoch that fills a cache. That is no leak."
});
