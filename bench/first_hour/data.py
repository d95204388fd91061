"""Random pictures for the jobs beside this file, decoded anew each time or kept by the worker that decoded them."""

import torch
from torch.utils.data import DataLoader, Dataset

WORKERS = 2


class Pictures(Dataset):
    def __init__(self, count, side, kept):
        self.count, self.side = count, side
        self.decoded = {} if kept else None

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.decoded is None:
            return self.decode(index)
        if index not in self.decoded:
            # A megabyte each: the original is kept, not only what the model sees.
            self.decoded[index] = (torch.randn(512, 512), *self.decode(index))
        return self.decoded[index][1:]

    def decode(self, index):
        made = torch.Generator().manual_seed(index)
        return torch.randn(3, self.side, self.side, generator=made), index % 10


def loader(args):
    """Batches of `args.batch`; with `args.worker_cache` two persistent workers keep what they decoded."""
    pictures = Pictures(args.examples, 32, args.worker_cache)
    several = {"num_workers": WORKERS, "persistent_workers": True} if args.worker_cache else {}
    return DataLoader(pictures, batch_size=args.batch, shuffle=True, drop_last=True, **several)


def arguments(parser, epochs):
    parser.add_argument("--examples", type=int, default=640)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--worker-cache", action="store_true", help="two persistent workers keep every picture")
    parser.add_argument("--epoch-bar", action="store_true", help="show a bar over epochs and nothing else")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds that a step takes besides")
    return parser.parse_args()
