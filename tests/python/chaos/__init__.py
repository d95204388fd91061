"""Chaos: real jobs under `lowtide run` and `run --guard`, with faults at random moments, each replayable by its seed.

`story` makes a scenario out of a seed, `scene` plays it in namespaces of its own, `faults` are what happens on the
way, `invariants` what has to hold afterwards. `scripts/chaos` runs many of them.
"""
