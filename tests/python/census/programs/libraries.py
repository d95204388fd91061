"""What library code leaves on the heap: trees, rows, round trips, loggers, modules, typing, code."""
import argparse
import ast
import atexit
import collections
import configparser
import copy
import email.message
import hashlib
import inspect
import io
import json
import logging
import logging.handlers
import pickle
import string
import sys
import tempfile
import textwrap
import tokenize
import types
import typing
import xml.etree.ElementTree as ET
import zlib
from typing import Any, Callable, Dict, Generic, List, Optional, Tuple, TypeVar, Union

# ---- xml
root = ET.Element("root", {"version": "1", "lang": "\u0416"})
for i in range(400):
    e = ET.SubElement(root, "item", id=str(i)) if i % 2 else ET.SubElement(root, "bare")
    e.text = "text %d" % i
    e.tail = None if i % 3 else "\n"
    for j in range(i % 4): ET.SubElement(e, "{urn:ns}sub").text = "\U0001f600" * j
parsed = ET.fromstring(ET.tostring(root))
tree = ET.ElementTree(parsed); found = parsed.findall(".//item[@id='7']"); it = parsed.iter("item"); it_first = next(it)
pull = ET.XMLPullParser(["start", "end"]); pull.feed("<a><b>half"); pull_events = list(pull.read_events())

# ---- sqlite3
try:
    import sqlite3
except ImportError:
    sqlite3 = None
if sqlite3 is not None:
    db = sqlite3.connect(":memory:"); atexit.register(db.close)
    db.row_factory = sqlite3.Row
    db.execute("create table t (i integer, f real, s text, b blob, n)")
    db.executemany("insert into t values (?,?,?,?,?)", ((i, i / 3, "row\u20ac%d" % i, bytes([i % 256]) * 3, None) for i in range(1000)))
    rows = db.execute("select * from t order by i").fetchall()
    cursor = db.execute("select i, s from t"); row_first = next(cursor)          # half read
    db.create_function("pyf", 1, lambda v: v); pyf = db.execute("select pyf(3)").fetchone()

# ---- json, pickle, copies
doc = {"list": [{"id": i, "name": "n%d" % i, "f": i / 2, "deep": {"a": [None, True, {}]}} for i in range(1000)], "\xe9": "\u20ac"}
json_text = json.dumps(doc); json_back = json.loads(json_text); json_ind = json.dumps(doc["list"][:10], indent=1)
json_pairs = json.loads(json_text[:0] + '{"a": [1, 1e400, -0.0, 123456789012345678901234567890]}', object_pairs_hook=collections.OrderedDict)
pickles = {p: pickle.dumps(doc, protocol=p) for p in range(pickle.HIGHEST_PROTOCOL + 1)}
unpickled = pickle.loads(pickles[4]); copied = copy.deepcopy(unpickled)
pick_buf = io.BytesIO(); pickler = pickle.Pickler(pick_buf); pickler.dump(doc["list"][:100])     # memo kept
unpickler = pickle.Unpickler(io.BytesIO(pickles[2])); unpickler.load()

# ---- ast, tokens, code
source = textwrap.dedent(inspect.getsource(textwrap)) + inspect.getsource(string)
module_ast = ast.parse(source); dumped = ast.dump(module_ast.body[3])
nodes = list(ast.walk(module_ast)); nodes[5].custom = "attribute on a node"
tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))[:3000]
codes = [compile(source, "<made up>", "exec"), compile("a + b * (c := 3)", "<expr>", "eval"), compile(module_ast, "<ast>", "exec", optimize=2)]
codes += [compile("def f%d(a, /, b, *, c=%d):\n  x = lambda: (a, x)\n  return x" % (i, i), "<gen%d>" % i, "exec") for i in range(100)]
replaced_code = codes[5].replace(co_name="renamed", co_filename="\u20ac.py")
made = []
for c in codes[3:]:
    ns = {"__name__": "made"}; exec(c, ns); made.append(ns)
hot = made[0]["f0"]
for _ in range(200): hot(1, 2)()                                # specialised, perhaps
annotated = {"__name__": "annotated"}
exec("def g(a: int, b: 'str' = 'x') -> list: return [a]\nclass K:\n  x: int = 1\n  y: 'K'\n", annotated)
NEWER = {(3, 10): "def m(v):\n  match v:\n    case {'k': [x, *r]}: return x, r\nr = m({'k': [1, 2, 3]})",
         (3, 12): "type Alias[T] = dict[str, T]\ndef ident[T: int, *Ts, **P](x: T) -> T: return x\nclass G[T]: pass\nv = Alias.__value__\ng = G[int]()",
         (3, 14): "n = 5\nt = t'tmpl {n!r:>4} {n + 1}'\nparts = list(t)"}
newer = {}
for ver, text in NEWER.items():
    if sys.version_info >= ver:
        newer[ver] = {"__name__": "newer"}; exec(compile(text, "<newer>", "exec"), newer[ver])

# ---- modules
mods = [types.ModuleType("mod%d" % i, "doc %d" % i) for i in range(50)]
for i, m in enumerate(mods):
    m.next = mods[i - 1]; m.__dict__["not an identifier"] = i
sys.modules["parked_fake_module"] = mods[0]
nameless = types.ModuleType("x"); del nameless.__name__, nameless.__doc__, nameless.__spec__
mod_sub = type("LazyMod", (types.ModuleType,), {"__getattr__": lambda s, n: n})("lazy"); mod_sub.real = 1

# ---- logging
log = logging.getLogger("parked.a.b"); log.propagate = False; log.setLevel(logging.DEBUG)
stream = io.StringIO()
mem = logging.handlers.MemoryHandler(10_000, flushLevel=100, target=logging.StreamHandler(stream))
mem.setFormatter(logging.Formatter("%(asctime)s {%(message)s}")); log.addHandler(mem); log.addHandler(logging.NullHandler())
tmp = tempfile.TemporaryFile("w+"); fh = logging.StreamHandler(tmp); log.addHandler(fh); atexit.register(tmp.close)
for i in range(300): log.info("message %s %r", i, {"arg": i}, extra={"extra_attr": [i]})
try: 1 / 0
except ZeroDivisionError: log.exception("kept with exc_info")
many_loggers = [logging.getLogger("parked.l%d.m%d" % (i % 10, i)) for i in range(100)]
adapter = logging.LoggerAdapter(log, {"ctx": 1})

# ---- typing
T = TypeVar("T", bound="Box"); K = TypeVar("K", int, str)
class Box(Generic[T]):
    item: Optional[T] = None
class TD(typing.TypedDict, total=False):
    name: str
    n: int
class Proto(typing.Protocol):
    def run(self, x: int) -> str: ...
hints = [List[int], Dict[str, List[T]], Union[int, str, None], Callable[[int, T], K], Tuple[int, ...], Any, Box[int], list[int],
         dict[str, list[T]], typing.Literal["a", 1], typing.NewType("UserId", int), typing.ForwardRef("Later"), type[T], TD, Proto,
         typing.Annotated[int, "meta", {"a": 1}], typing.ClassVar[int], typing.get_type_hints(Box)]
if sys.version_info >= (3, 10): hints += [int | None, typing.ParamSpec("P"), list[int] | T]
boxes = [Box[int]() for _ in range(100)]
typed: TD = {"name": "x", "n": 1}

# ---- others
parser = argparse.ArgumentParser(prog="p"); parser.add_argument("--x", type=int, default=[1]); parsed_args = parser.parse_args(["--x", "5"])
cfg = configparser.ConfigParser(); cfg.read_dict({"s%d" % i: {"k": "v%d" % i} for i in range(50)})
msg = email.message.EmailMessage(); msg["Subject"] = "h\xe9llo"; msg.set_content("body\n")
hashes = [hashlib.new(n, b"x") for n in ("sha1", "sha256", "sha3_256", "blake2b")]; comp = zlib.compressobj(); part = comp.compress(b"abc" * 1000)
sigs = [inspect.signature(f) for f in (json.dumps, hot, logging.Logger.log)]
template = string.Template("$a ${b}"); formatter = string.Formatter()
