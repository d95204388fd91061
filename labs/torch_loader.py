"""A torch DataLoader whose forked workers read a Python list: `fork_readers.py` with the real thing.
The tree's PSS rises while the workers see the data for the first time (a fifth of the run).

--size: megabytes of the list. Needs torch. Expected verdict: warm-up by the tree's honest sum (PSS).
"""

import torch
from torch.utils.data import DataLoader, Dataset

from lab import arguments, paced, records

args = arguments(__doc__, size=60.0, workers=2)
epoch_steps = max(1, args.steps // 5)


class Lines(Dataset):
    """Each item is a run of neighbouring records, so that an epoch touches the list page by page."""

    def __init__(self):
        self.lines = records(args.size)
        self.items = epoch_steps * args.workers

    def __len__(self):
        return self.items

    def __getitem__(self, index):
        length = len(self.lines) // self.items + 1
        part = self.lines[index * length : (index + 1) * length]
        return torch.tensor([len(line) for line in part]).sum()


loader = DataLoader(
    Lines(),
    batch_size=args.workers,
    num_workers=args.workers,
    prefetch_factor=1,
    persistent_workers=True,
    multiprocessing_context="fork",
)
batches = iter(loader)
for step in paced(args):
    try:
        next(batches)
    except StopIteration:
        batches = iter(loader)
        next(batches)
