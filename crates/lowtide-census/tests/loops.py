"""Stops in the midst of loops, with stand-ins for tqdm's bar and torch's DataLoader: one way of looping an argument."""

import queue
import sys
import threading
import types


def module(name, source):
    made = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, name, "exec"), made.__dict__)
    return made


tqdm = module(
    "tqdm.std",
    """
import weakref
class tqdm:
    _instances = weakref.WeakSet()
    def __init__(self, iterable):
        self.iterable, self.n, self.initial, self.total, self.last_print_n = iterable, 0, 0, 10, 0
        self.disable, self.desc, self.unit, self.start_t = False, "", "it", 1.0
        self._instances.add(self)
    def __iter__(self):
        for one in self.iterable:
            yield one
            self.n += 1
""",
).tqdm
data = module(
    "torch.utils.data.dataloader",
    """
class _BaseDataLoaderIter:
    def __init__(self, loader):
        self._index_sampler, self._dataset, self._num_yielded = loader, list(range(10)), 0
    def __next__(self):
        if self._num_yielded == 10: raise StopIteration
        self._num_yielded += 1
        return self._num_yielded
    def __iter__(self):
        return self
class DataLoader:
    def __iter__(self):
        return _BaseDataLoaderIter(self)
""",
)


def body(batch, at=4):
    if batch == at:
        print("ready", flush=True)
        sys.stdin.read()
        raise SystemExit


def one_epoch(loader):
    for batch in loader:
        body(batch)


def plain(loader):
    for _ in range(3):
        pass
    for epoch in range(2, 9):
        if epoch == 5:
            one_epoch(loader)


def barred(loader):
    for epoch in range(2, 9):
        if epoch == 5:
            with open("/dev/null"):
                for _, batch in enumerate(tqdm(loader)):
                    body(batch)


def nested(loader):
    try:
        int("x")
    except ValueError:
        pass
    for _ in tqdm(range(10)):
        one_epoch(tqdm(loader))


def again(loader):
    while True:
        try:
            one_epoch(tqdm(loader))
            break
        except ValueError:
            pass


def asked(loader):
    batches = iter(loader)
    for _ in range(1000):
        body(next(batches))


def handed(loader):
    def endless():
        while True:
            yield from ()
            for batch in loader:
                yield batch

    batches = endless()
    for _ in range(1000):
        body(next(batches))


def fetching(_):
    class Slow(data.DataLoader):
        def __iter__(self):
            for batch in data.DataLoader():
                body(batch)
                yield batch

    for _ in range(7):
        for _ in tqdm(Slow()):
            pass


def threaded(loader):
    thread = threading.Thread(target=plain, args=[loader])
    thread.start()
    thread.join()


def fetched_ahead(loader):
    ahead = queue.Queue(3)

    def fetch():
        for batch in loader:
            ahead.put(batch)

    threading.Thread(target=fetch, daemon=True).start()
    for _ in range(7):
        body(ahead.get())


globals()[sys.argv[1]](data.DataLoader())
