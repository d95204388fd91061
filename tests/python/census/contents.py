"""Programs whose contents are known: each makes tensors, arrays and images, says what it has as one line of JSON, and parks.

What it says comes from torch, numpy and Pillow themselves, by address, so that not only sums are compared.
"""

import array
import collections
import gc
import io
import json
import mmap
import sys
import threading
import warnings

# Most of what is made here is told to be new, or old.
warnings.simplefilter("ignore")

import torch  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None
try:
    import PIL.Image
except ImportError:
    PIL = None
try:
    import pyarrow
except ImportError:
    pyarrow = None


def kinds():
    """One or some of everything that has something behind it."""
    kept = {}
    base = torch.arange(120, dtype=torch.float32).reshape(2, 3, 4, 5)
    kept["views"] = [base, base[1], base[:, ::2], base.permute(3, 2, 1, 0), base.reshape(-1)[7:9], base.view(torch.int32)]
    kept["expanded"] = [torch.ones(3, 1).expand(3, 4000), torch.zeros(()).expand(7, 7)]
    kept["dimensions"] = [torch.ones(()), torch.ones(1, 2, 3, 1, 2, 1, 3), torch.ones(2, 1, 2, 1, 2, 1)]
    kept["empty"] = [torch.empty(0), torch.empty(3, 0, 2), torch.ones(5)[5:]]
    kept["types"] = [torch.ones(5, 7).to(getattr(torch, name)) for name in (
        "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float64", "bool", "complex64",
        "complex128")]
    kept["narrow"] = [torch.ones(6).to(getattr(torch, name)) for name in ("float8_e4m3fn", "float8_e5m2", "uint16")]
    kept["meta"] = [torch.empty(1000, 1000, device="meta"), torch.empty(3, device="meta", dtype=torch.int8)[1:]]
    kept["parameters"] = torch.nn.Sequential(torch.nn.Linear(17, 33), torch.nn.LayerNorm(33), torch.nn.Linear(33, 5))
    kept["asked"] = [torch.ones(4, requires_grad=True), torch.nn.Parameter(torch.ones(3), requires_grad=False)]
    kept["graph"] = [(kept["asked"][0] * 2), kept["asked"][0][1:], (kept["asked"][0] ** 2).sum()]
    kept["sparse"] = [torch.eye(9).to_sparse(), torch.eye(9).to_sparse_csr(), torch.sparse_coo_tensor(size=(4, 5))]
    kept["quantised"] = [
        torch.quantize_per_tensor(torch.ones(6, 7), 0.1, 3, torch.quint8),
        torch.quantize_per_channel(torch.ones(2, 7), torch.ones(2), torch.zeros(2), 0, torch.qint8),
    ]
    kept["large"] = [torch.ones(1 << 20), torch.ones(3, 1 << 18)]
    kept["shared"] = torch.ones(50_000).share_memory_()
    kept["freed"] = torch.ones(30, 30)
    kept["freed"].untyped_storage().resize_(0)
    kept["held"] = torch.ones(11).untyped_storage()
    kept["own class"] = [torch.ones(2, 2).as_subclass(Own) for _ in range(3)]
    if torch.backends.mkldnn.is_available():
        kept["opaque"] = torch.ones(4, 4).to_mkldnn()
    try:
        kept["nested"] = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    except RuntimeError:
        pass
    kept["buffers"] = [bytearray(b"x" * 1000), bytearray(), array.array("d", [1.0] * 77), array.array("b"),
                       mmap.mmap(-1, 12288)]
    if pyarrow is not None:
        kept["arrow"] = [pyarrow.allocate_buffer(1000), pyarrow.py_buffer(b"x" * 77),
                         *filter(None, pyarrow.array(range(500)).buffers())]
    if numpy is not None:
        kept.update(arrays())
    if PIL is not None:
        kept.update(images())
    return kept


class Own(torch.Tensor):
    pass


def arrays():
    owner = numpy.arange(600.0).reshape(20, 30)
    lent = numpy.ones((7, 11), dtype="float32")
    borrowed = torch.ones(13, 17)
    types = ("bool", "int8", "uint16", "int32", "int64", "uint64", "float16", "float32", "complex64", "longdouble")
    return {
        "arrays": [owner, owner[3], owner.T, numpy.float64(3).reshape(()), numpy.empty((0, 4))],
        "array types": [numpy.ones(9, dtype=name) for name in types],
        "array texts": [numpy.array(["a", "bcd"]), numpy.array([b"abcde"]), numpy.array([None, 1], dtype=object),
                        numpy.zeros(3, dtype="datetime64[s]"), numpy.zeros(3, dtype=[("a", "i4"), ("b", "f8")])],
        "lent": [lent, torch.from_numpy(lent), torch.from_numpy(lent)[2:]],
        "borrowed": [borrowed, borrowed.numpy()],
        "buffer": torch.frombuffer(bytearray(80), dtype=torch.int32),
    }


def images():
    file = io.BytesIO()
    PIL.Image.new("RGB", (64, 48), (1, 2, 3)).save(file, "PNG")
    lazy = [PIL.Image.open(io.BytesIO(file.getvalue())) for _ in range(4)]
    lazy[3].load()
    made = [PIL.Image.new(mode, (31, 17)) for mode in ("1", "L", "P", "RGB", "RGBA", "I", "F", "CMYK", "LA", "I;16")]
    return {"lazy": lazy, "images": made, "cropped": lazy[3].crop((1, 2, 11, 22))}


STEPS, WIDTH, PARAMETERS, THREADS = 300, 257, 6, 4


def graph():
    """`total += loss`, and gradients: `STEPS` saved results and `PARAMETERS` gradients that no Python object has."""
    parameters = [torch.nn.Parameter(torch.ones(nth + 2, 3)) for nth in range(PARAMETERS)]
    loss = sum(one.sum() for one in parameters)
    loss.backward()
    del loss
    total = torch.zeros(WIDTH, requires_grad=True)
    first = total
    for _ in range(STEPS):
        total = torch.sigmoid(total)
    return {"parameters": parameters, "first": first, "total": total}


def written():
    """Steps that are written in Python, and what they save."""
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, one):
            ctx.save_for_backward(one)
            return one * 2

        @staticmethod
        def backward(ctx, back):
            return back * 2

    value = torch.ones(100, requires_grad=True)
    for _ in range(50):
        value = Twice.apply(value)
    return {"value": value}


def train(steps, update):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.LayerNorm(64), torch.nn.GELU(), torch.nn.Dropout(0.1),
                                torch.nn.Linear(64, 10), torch.nn.BatchNorm1d(10))
    optimizer = torch.optim.AdamW(model.parameters())
    total = 0
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 32)), torch.randint(0, 10, (8,)))
        if update:
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()
        total += loss
    return {"model": model, "optimizer": optimizer, "total": total}


def leak():
    """The leak that everybody has made once: a sum of losses keeps the graph of every step."""
    return train(40, update=True)


def saved():
    """The same without updates, which would forbid to ask steps what they saved."""
    kept = train(40, update=False)
    kept["saved"] = {id(step): step for step in steps_of([kept["total"]])}
    return kept


def threads():
    """The same as `graph` in threads, whose heaps are others."""
    totals = []
    together = threading.Barrier(THREADS)

    def work():
        together.wait()
        value = torch.zeros(WIDTH, requires_grad=True)
        for _ in range(STEPS):
            value = torch.sigmoid(value)
        totals.append(value)
        together.wait()

    started = [threading.Thread(target=work) for _ in range(THREADS)]
    for one in started:
        one.start()
    for one in started:
        one.join()
    return {"totals": totals}


def many():
    return {"many": [torch.empty(nth % 7 + 1, 3) for nth in range(100_000)]}


def few():
    """Many tensors of data, and behind them some that autograd knows of."""
    made = many()
    made["parameters"] = [torch.nn.Parameter(torch.ones(2)) for _ in range(3)]
    made["result"] = made["parameters"][0] * 2
    return made


def of_tensor(tensor):
    said = {
        "object": id(tensor),
        "device": str(tensor.device),
        "type": str(tensor.dtype).replace("torch.", ""),
        "requires_grad": tensor.requires_grad,
        "in_graph": tensor.grad_fn is not None,
        "address": tensor._cdata,
    }
    # Nested ones have no shape.
    said["shape"] = None if tensor.is_nested else list(tensor.shape)
    try:
        storage = tensor.untyped_storage()
        said["storage"] = storage._cdata
        said["bytes"] = storage.nbytes()
        said["data"] = 0 if tensor.device.type == "meta" else storage.data_ptr()
    except (RuntimeError, NotImplementedError):
        said["storage"] = 0
    return said


def of_array(one):
    return {"object": id(one), "type": str(one.dtype), "shape": list(one.shape), "bytes": one.nbytes,
            "owns": bool(one.flags.owndata), "data": one.ctypes.data}


def of_image(one):
    core = getattr(one, "_im", None) or one.__dict__.get("im")
    decoded = core is not None
    said = {"object": id(one), "mode": one.mode, "size": one.size, "decoded": decoded}
    said["pixels"] = pixels(one)
    return said


BUFFERS = (bytearray, array.array, mmap.mmap) + ((pyarrow.Buffer,) if pyarrow is not None else ())


def of_buffer(one):
    if not isinstance(one, (bytearray, array.array)):
        return {"object": id(one), "bytes": len(one)}
    nothing = bytearray() if isinstance(one, bytearray) else array.array("b")
    return {"object": id(one), "bytes": sys.getsizeof(one) - sys.getsizeof(nothing)}


def pixels(one):
    """What Pillow's own core says: rows of so many bytes."""
    if one.mode in ("1", "L", "P"):
        return one.size[0] * one.size[1]
    return one.size[0] * one.size[1] * (2 if one.mode.startswith("I;16") else 4)


def all_objects():
    """What the collector tracks and all that this leads to."""
    seen = {id(one): one for one in gc.get_objects()}
    open_ = list(seen.values())
    while open_:
        new = {id(one): one for one in gc.get_referents(*open_[-5000:])}
        del open_[-5000:]
        new = {key: one for key, one in new.items() if key not in seen}
        seen.update(new)
        open_.extend(new.values())
    return seen


def with_bases(arrays):
    """What an array is a view of is not told by the collector."""
    seen = {}
    for one in arrays:
        while isinstance(one, numpy.ndarray):
            seen[id(one)] = one
            one = one.base
    return list(seen.values())


def steps_of(tensors):
    """The steps that lead to tensors, as autograd itself walks them."""
    seen, open_ = {}, [one.grad_fn for one in tensors if one.grad_fn is not None]
    while open_:
        step = open_.pop()
        if step not in seen:
            seen[step] = None
            open_.extend(after for after, _ in step.next_functions if after is not None)
    return list(seen)


def of_step(step):
    """Where the data is that a step saved, and which steps are next."""
    names = [name for name in dir(step) if name.startswith("_raw_saved_")]
    kept = [getattr(step, name.replace("_raw_", "_")) for name in names]
    kept = [one for some in kept for one in (some if isinstance(some, (tuple, list)) else [some])]
    if hasattr(step, "variable"):
        kept.append(step.variable)
    data = [one.untyped_storage().data_ptr() for one in kept if isinstance(one, torch.Tensor)]
    return {"saved": data, "next": [id(after) for after, _ in step.next_functions if after is not None]}


def say(kept):
    gc.collect()
    names = collections.Counter(
        step.name().rpartition("::")[2] for step in steps_of([one for one in gc.get_objects() if type(one) is torch.Tensor]))
    saved_by = {key: of_step(step) for key, step in kept.get("saved", {}).items()}
    gc.collect()
    everything = all_objects()
    of = lambda kind: [one for one in everything.values() if issubclass(type(one), kind)]  # noqa: E731
    said = {"torch": torch.__version__, "tensors": [of_tensor(one) for one in of(torch.Tensor)], "steps": names,
            "saved": saved_by}
    if numpy is not None:
        said["numpy"] = numpy.__version__
        said["arrays"] = [of_array(one) for one in with_bases(of(numpy.ndarray))]
    if PIL is not None:
        said["pillow"] = PIL.__version__
        said["images"] = [of_image(one) for one in of(PIL.Image.Image)]
    said["buffers"] = [of_buffer(one) for one in of(BUFFERS)]
    said["held"] = kept["held"]._cdata if "held" in kept else 0
    said["roots"] = {name: id(one) for name, one in kept.items() if isinstance(one, torch.Tensor)}
    for name in ("parameters", "totals"):
        said["roots"].update((name + str(nth), id(one)) for nth, one in enumerate(kept.get(name, ())))
    del everything, of
    gc.collect()
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    KEPT = globals()[sys.argv[1]]()
    say(KEPT)
    sys.stdin.readline()
