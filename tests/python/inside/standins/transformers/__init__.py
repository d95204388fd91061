"""A stand-in for transformers where it would cost too much to import: the state of a Trainer, and nothing else."""
