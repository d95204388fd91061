"""Fits the prior of how long harmless growth takes, from stores.jsonl and epochs.jsonl, and writes prior.json.

Every entry's [low, typical, high] is read as the 10, 50 and 90 % points of a two-piece log-normal. Entries of a family share
that family's weight and all families weigh the same, so that many replay buffers do not outvote one shuffle buffer. A single
log-normal is fitted to that mixture by the mean and variance of its logarithm; the mixture's own points stand beside it,
because the mixture need not look like a log-normal. Standard library only.
"""
import json
import math
import pathlib
import statistics

HERE = pathlib.Path(__file__).resolve().parent
Z90 = statistics.NormalDist().inv_cdf(0.9)
PHI = statistics.NormalDist()
LEAST_SIGMA = 0.1  # a default printed as one number is still changed by some people
POINTS = (0.1, 0.5, 0.9, 0.95, 0.99)


def read(name):
    return [json.loads(line) for line in (HERE / name).read_text().splitlines() if line.strip()]


def piece(points):
    """(ln median, sigma below, sigma above) of one entry."""
    low, typical, high = (math.log(max(x, 1e-6)) for x in points)
    return typical, max((typical - low) / Z90, LEAST_SIGMA), max((high - typical) / Z90, LEAST_SIGMA)


def product(a, b):
    """The piece of a product of two independent quantities: spreads add in squares."""
    (m, below, above), (n, below2, above2) = piece(a), piece(b)
    return m + n, math.hypot(below, below2), math.hypot(above, above2)


def cdf(p, x):
    m, below, above = p
    return PHI.cdf((x - m) / (below if x < m else above))


class Pool:
    """A mixture of pieces; `items` is a list of (family, piece)."""

    def __init__(self, items):
        self.items = items
        counts = {}
        for family, _ in items:
            counts[family] = counts.get(family, 0) + 1
        self.families = sorted(counts)
        self.weighted = [(1 / (len(counts) * counts[f]), p) for f, p in items]
        half = math.sqrt(2 / math.pi) / 2  # mean of one half of a normal, as its share of the whole
        mean = lambda p: p[0] + half * (p[2] - p[1])
        self.mu = sum(w * mean(p) for w, p in self.weighted)
        second = sum(w * ((p[0] - self.mu) ** 2 + 2 * (p[0] - self.mu) * (mean(p) - p[0]) + (p[1] ** 2 + p[2] ** 2) / 2)
                     for w, p in self.weighted)
        self.sigma = math.sqrt(max(second, 1e-12))

    def fitted(self, q):
        return math.exp(self.mu + self.sigma * PHI.inv_cdf(q))

    def below(self, value):
        return sum(w * cdf(p, math.log(value)) for w, p in self.weighted)

    def mixture(self, q):
        low, high = -20.0, 40.0
        for _ in range(80):
            middle = (low + high) / 2
            if sum(w * cdf(p, middle) for w, p in self.weighted) < q:
                low = middle
            else:
                high = middle
        return math.exp(low)

    def without(self, family):
        return Pool([item for item in self.items if item[0] != family])

    def as_json(self):
        return {"mu": round(self.mu, 4), "sigma": round(self.sigma, 4), "entries": len(self.items), "families": len(self.families),
                "fitted": {str(q): float(f"{self.fitted(q):.3g}") for q in POINTS},
                "mixture": {str(q): float(f"{self.mixture(q):.3g}") for q in POINTS}}


def seconds_of(store):
    if store["fills_in_seconds"]:
        return piece(store["fills_in_seconds"])
    if store["fills_in_steps"] and store["seconds_per_step"]:
        return product(store["fills_in_steps"], store["seconds_per_step"])
    if store["fills_in_rounds"] and store.get("seconds_per_round"):
        return product(store["fills_in_rounds"], store["seconds_per_round"])
    return None


def pools():
    stores, epochs = read("stores.jsonl"), read("epochs.jsonl")
    # What a judge of straight growth has to reckon with: stores large enough to be seen, which do not fade or jump.
    matters = lambda s: s["material"] and s["shape"] in ("straight", "stairs")
    by_steps = [s for s in stores if s["tied_to"] == "steps" and s["fills_in_steps"]]
    timed = [(s, seconds_of(s)) for s in stores if s["tied_to"] != "data" and seconds_of(s)]
    by_data = [s for s in stores if s["tied_to"] == "data" and s["fills_in_epochs"]]
    by_rounds = [s for s in stores if s["tied_to"] == "rounds" and s["fills_in_rounds"]]
    shares = [(s["family"], piece(s["share_of_run"]) if s["share_of_run"] else product(s["fills_in_steps"], [1 / x for x in reversed(s["run_steps"])]))
              for s in by_steps if s["share_of_run"] or s["run_steps"]]
    # One log-normal hides that there are two kinds: buffers of some batches, and replay buffers and schedules of a whole run.
    long = lambda s: s["fills_in_steps"][1] >= 1000
    logs = read("logs.jsonl")  # one weight each: they are drawn from the world, not chosen by us
    logged = lambda key: Pool([(i, piece([log[key]] * 3)) for i, log in enumerate(logs) if log[key]])
    return {
        "steps": Pool([(s["family"], piece(s["fills_in_steps"])) for s in by_steps]),
        "steps_straight": Pool([(s["family"], piece(s["fills_in_steps"])) for s in by_steps if matters(s)]),
        "seconds": Pool([(s["family"], p) for s, p in timed]),
        "seconds_straight": Pool([(s["family"], p) for s, p in timed if matters(s)]),
        "steps_straight_short": Pool([(s["family"], piece(s["fills_in_steps"])) for s in by_steps if matters(s) and not long(s)]),
        "steps_straight_long": Pool([(s["family"], piece(s["fills_in_steps"])) for s in by_steps if matters(s) and long(s)]),
        "share_of_run": Pool(shares),
        "epochs": Pool([(s["family"], piece(s["fills_in_epochs"])) for s in by_data]),
        "epochs_straight": Pool([(s["family"], piece(s["fills_in_epochs"])) for s in by_data if matters(s)]),
        "rounds": Pool([(s["family"], piece(s["fills_in_rounds"])) for s in by_rounds]),
        "epoch_steps": Pool([(e["family"], piece(e["steps_per_epoch"])) for e in epochs]),
        "epoch_seconds": Pool([(e["family"], product(e["steps_per_epoch"], e["seconds_per_step"])) for e in epochs]),
        "epochs_per_run": Pool([(e["family"], piece(e["epochs_per_run"])) for e in epochs]),
        "step_seconds": Pool([(e["family"], piece(e["seconds_per_step"])) for e in epochs]),
        "log_epoch_steps": logged("steps_per_epoch"),
        "log_epochs_per_run": logged("epochs"),
        "log_step_seconds": logged("seconds_per_step"),
    }


def show(name, pool, what="fitted"):
    points = " ".join(f"{getattr(pool, what)(q):9.3g}" for q in POINTS)
    print(f"{name:34.34} {points}  {pool.sigma:5.2f} {len(pool.items):4d} {len(pool.families):3d}")


# What the judge believes, by its own names.
BELIEVED = {"store_steps": "steps_straight", "store_seconds": "seconds_straight", "passes": "epochs", "rounds": "rounds",
            "epoch_steps": "epoch_steps", "epoch_seconds": "epoch_seconds"}


def write_folds(found):
    """folds.json: the points that the judge believes, and the same without what each family of the zoo is made of."""
    points = lambda pool: [float(f"{pool.mixture(q):.3g}") for q in POINTS]
    folds = {"all": {name: points(found[pool]) for name, pool in BELIEVED.items()}}
    for family, ours in json.loads((HERE / "families.json").read_text()).items():
        fold = {}
        for name, pool in BELIEVED.items():
            rest = [item for item in found[pool].items if item[0] not in ours]
            fold[name] = points(Pool(rest)) if len(rest) < len(found[pool].items) else folds["all"][name]
        folds[family] = fold
    (HERE / "folds.json").write_text(json.dumps(folds, indent=1) + "\n")


def main():
    head = f"{'':34} {'10 %':>9} {'median':>9} {'90 %':>9} {'95 %':>9} {'99 %':>9}  sigma    n fam"
    found, out = pools(), {}
    print(head)
    for name, pool in found.items():
        show(name, pool)
        show("  mixture itself", pool, "mixture")
    for name, pool in found.items():
        if len(pool.families) < 2 or name.startswith("log_"):
            continue
        print(f"\n{name}, each family left out\n{head}")
        left = {}
        for family in pool.families:
            rest = pool.without(family)
            show("  without " + family, rest)
            left[family] = {"mu": round(rest.mu, 4), "sigma": round(rest.sigma, 4)}
        out[name] = dict(pool.as_json(), without=left)
    for name, pool in found.items():
        out.setdefault(name, dict(pool.as_json(), without={}))
    # A store tied to the data, told in steps or seconds: so many epochs of so many steps or seconds, taken as independent.
    print(f"\nderived\n{head}")
    for name, (a, b) in {"data_steps": ("epochs_straight", "epoch_steps"), "data_seconds": ("epochs_straight", "epoch_seconds"),
                         "log_data_steps": ("epochs_straight", "log_epoch_steps")}.items():
        mu, sigma = found[a].mu + found[b].mu, math.hypot(found[a].sigma, found[b].sigma)
        at = {str(q): float(f"{math.exp(mu + sigma * PHI.inv_cdf(q)):.3g}") for q in POINTS}
        out[name] = {"mu": round(mu, 4), "sigma": round(sigma, 4), "fitted": at, "from": [a, b]}
        print(f"{name:34} " + " ".join(f"{at[str(q)]:9.3g}" for q in POINTS) + f"  {sigma:5.2f}")
    print("\nGrowth already seen for t: share of all stores not yet full, and how long until 50 and 90 % of those are full (mixture)")
    for name in ("steps_straight", "steps_straight_long", "seconds_straight"):
        pool, rows = found[name], []
        for t in (30, 100, 300, 1000, 3000, 10000, 30000, 100000):
            alive = 1 - pool.below(t)
            half, most = pool.mixture(1 - alive / 2), pool.mixture(1 - alive / 10)
            print(f"  {name:24} t {t:7d}: {alive:5.2f} still filling; half by {half:9.3g}, 90 % by {most:9.3g}")
            rows.append({"t": t, "still_filling": round(alive, 4), "half_full_by": float(f"{half:.3g}"), "most_full_by": float(f"{most:.3g}")})
        out[name]["given"] = rows
    (HERE / "prior.json").write_text(json.dumps(out, indent=1) + "\n")
    write_folds(found)


if __name__ == "__main__":
    main()
