"""What the first access of an example leaves behind: growth ends with the first pass."""

from driver import kind
from memory import block, records


def per_example(job, share=1.0, make=block):
    """Bytes per example, so that the part of the first pass which the run sees grows as drawn."""
    seen = job.within(job.epoch_steps) * job.batch_size
    size = job.growth() / (seen * share)
    job.fills_in, job.ceiling = job.epoch_steps, size * job.examples * share
    return size


def cache(job, make, wants=lambda index: True, share=1.0):
    size, kept = per_example(job, share), {}

    def step(now):
        for index in job.batch(now):
            if index not in kept and wants(index):
                kept[index] = make(size)
                job.hold(size)

    return step


@kind("first-pass-dict", epochs=(1.3, 40))
def dictionary(job):
    """A dict keeps each decoded example by its index."""
    return cache(job, block)


@kind("first-pass-records", epochs=(1.2, 12))
def parsed(job):
    """A dict keeps each example as many small Python objects."""
    return cache(job, records)


@kind("first-pass-single", epochs=(1, 1))
def single(job):
    """A dict keeps each example, and the one epoch is the whole run."""
    return cache(job, block)


@kind("first-pass-unfinished", epochs=(0.3, 0.9))
def unfinished(job):
    """A dict keeps each example, and the run ends before its first epoch does."""
    return cache(job, block)


@kind("first-pass-some", epochs=(1.5, 20))
def some(job):
    """Only some of the examples are worth a place in the cache."""
    share = job.pick.uniform(0.2, 0.7)
    chosen = set(job.pick.sample(range(job.examples), max(1, round(job.examples * share))))
    return cache(job, block, chosen.__contains__, share)


@kind("lazy-decode", epochs=(1.1, 15))
def lazy(job):
    """A list of encoded examples: the first access replaces each by its decoded form, which is as large as it happens to be."""
    size = per_example(job)
    data = [b"encoded"] * job.examples
    # Sizes of decoded examples differ widely; their sum must be what was drawn.
    weights = [job.pick.lognormvariate(0, 0.8) for _ in data]
    scale = size * len(data) / sum(weights)

    def step(now):
        for index in job.batch(now):
            if isinstance(data[index], bytes):
                data[index] = block(weights[index] * scale)
                job.hold(weights[index] * scale)

    return step
