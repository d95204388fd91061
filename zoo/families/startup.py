"""What a job makes once at its start, or at the start of a phase."""

from driver import kind
from memory import block


@kind("optimizer-state")
def optimizer(job):
    """The optimizer makes its state at the first updates, layer by layer."""
    layers = job.pick.randint(1, 12)
    accumulate = job.pick.choice([1, 2, 4, 8])
    size, kept = job.growth(0.5, 2) / layers, []
    job.fills_in, job.ceiling = layers * accumulate, size * layers

    def step(now):
        if now % accumulate == 0 and len(kept) < layers:
            kept.append(block(size))
            job.hold(size)

    return step


@kind("unfreezing", trap=True)
def unfreezing(job):
    """Layers are unfrozen one after the other, each with gradients and state of its own: a stair with a last step."""
    layers = job.pick.randint(3, 10)
    every = max(2, round(job.steps * job.draw(0.3, 1.2) / layers))
    size, kept = job.growth(0.5, 2) / min(layers, max(1, job.steps // every)), []
    job.fills_in, job.ceiling = layers * every, size * layers

    def step(now):
        if now % every == 0 and len(kept) < layers:
            kept.append(block(size))
            job.hold(size)

    return step


@kind("warming-pools")
def pools(job):
    """Pools, kernels and buffers are made when first needed: much at first, then ever less, then nothing."""
    length = job.capacity(0.03, 0.5)
    size, kept = job.growth(0.5, 2), []
    job.fills_in, job.ceiling = length, size

    def step(now):
        if now <= length:
            new = size * ((1 - now / length) ** 2 - (1 - (now - 1) / length) ** 2) * -1
            kept.append(block(new))
            job.hold(new)

    return step
