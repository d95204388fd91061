"""Strings, bytes, numbers, dates, buffers, ctypes."""
import array
import datetime as dt
import decimal
import fractions
import io
import math
import mmap
import operator
import re
import struct
import sys
import uuid

try:
    import ctypes
except ImportError:
    ctypes = None

# ---- strings
ascii_ = ["a%d" % i for i in range(2000)]
latin1 = ["\xe9t\xe9 %d" % i for i in range(1000)]
ucs2 = ["\u0416\u20ac %d" % i for i in range(1000)]
ucs4 = ["\U0001f600 %d" % i for i in range(1000)]
singles = [chr(i) for i in range(0, 0x500)]
edges = ["", "\x00", "a\x00b", "\x7f", "\x80", "\xff", "\u0100", "\ud800", "\udfff", "\uffff", "\U00010000", "\U0010ffff",
         "\n\t\r\\'\"", "\u202e\u200b", "e\u0301"]
hashed = {s: hash(s) for s in edges}
interned = [sys.intern("intern me %d" % i) for i in range(200)] + [sys.intern("\u20ac%d" % i) for i in range(50)]
cached = ["utf8 cache \u20ac %d" % i for i in range(100)]
for s in cached:                               # a class name gets its UTF-8 form cached
    type(s, (), {})
    try: getattr(s, s)
    except AttributeError: pass
if ctypes is not None:
    as_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8
    as_utf8.argtypes, as_utf8.restype = [ctypes.py_object], ctypes.c_char_p
    utf8 = [as_utf8(s) for s in cached + latin1[:50] + ucs4[:50]]
long_ = ["x" * 5_000_000, "\xff" * 1_000_000, "\u0416" * 1_000_000, "\U0001f600" * 500_000]
grown = ""
for i in range(1000): grown += "ab"            # resized in place


class S(str): pass
class Sl(str): __slots__ = ("more",)


subs = [S(s) for s in edges] + [Sl(s) for s in ucs4[:20]]
subs[0].attr = "on a str"; subs[-1].more = subs

# ---- bytes and buffers
bytes_ = [bytes([i]) for i in range(256)] + [b"", b"\0" * 100, bytes(range(256)) * 4000]
ba = bytearray(b"0123456789" * 100); del ba[:300]        # start is not at the allocation
ba2 = bytearray(); ba3 = bytearray(b"exported")
views = [memoryview(ba3), memoryview(b"bytes")[1:4], memoryview(ba3)[::-2], memoryview(bytes(24)).cast("I"),
         memoryview(bytes(24)).cast("B", (2, 3, 4)), memoryview(array.array("d", [1, 2, 3]))]
released = memoryview(b"gone"); released.release()
arrays = [array.array(t, range(10)) for t in "bBhHiIlLqQfd"] + [array.array("q"), array.array("d", [math.pi] * 5000)]
for i in range(100): arrays[12].append(i)
anon = mmap.mmap(-1, 8192); anon.write(b"mapped")
bio = io.BytesIO(b"initial" * 1000); bio.read(10); bio.extra = "BytesIO has a dict"
bio2 = io.BytesIO(); bio2.write(b"w" * 5000); bio_view = bio2.getbuffer()
sio = io.StringIO("text \u20ac\n" * 100, newline=None); sio.readline()
sio2 = io.StringIO(); [sio2.write("acc%d" % i) for i in range(500)]       # accumulating state
wrapped = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"line\n" * 5000)), encoding="utf-8"); wrapped.readline()
writer = io.BufferedWriter(io.BytesIO()); writer.write(b"pending")
closed = io.BytesIO(b"x"); closed.close()

# ---- numbers
smalls = list(range(-10, 300))
edge_ints = [s * (1 << b) + d for b in (15, 29, 30, 31, 32, 59, 60, 61, 62, 63, 64, 90, 120, 128) for d in (-1, 0, 1) for s in (1, -1)]
huge = [1 << 100_000, -(3 ** 5000), 7 ** 20_000, (1 << 1_000_000) - 1]
many_ints = [i * i * 1_000_003 for i in range(5000)]
bools = [True, False, True + True]
floats = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, 0.1, 1e16] + [i / 7 for i in range(3000)]
complexes = [0j, complex(-0.0, math.nan), 1 + 2j] + [complex(i, -i) for i in range(200)]
D = decimal.Decimal
decs = [D(0), D("-0"), D("NaN123"), D("-sNaN"), D("Infinity"), D("1E+999"), D("1" * 200), D("-1e-50")] + [D(i) / 7 for i in range(1000)]
ctx = decimal.Context(prec=7, traps=[decimal.Overflow]); ctx_res = ctx.divide(D(1), D(3))
fracs = [fractions.Fraction(i, i + 1) for i in range(1000)] + [fractions.Fraction(3 ** 200, 7 ** 100)]

# ---- dates
tz = dt.timezone(dt.timedelta(hours=5, minutes=45), "NPT")


class Tz(dt.tzinfo):
    def utcoffset(self, d): return dt.timedelta(hours=-3)
    def tzname(self, d): return "TZ"
    def dst(self, d): return None


mytz = Tz(); mytz.note = "tzinfo with a dict"
dates = [dt.date(1 + i * 3, 1 + i % 12, 1 + i % 28) for i in range(500)] + [dt.date.min, dt.date.max]
dtimes = [dt.datetime(2000, 1, 1, tzinfo=(None, tz, dt.timezone.utc, mytz)[i % 4]) + dt.timedelta(hours=i) for i in range(1000)]
fold = dt.datetime(2021, 10, 31, 2, 30, fold=1, microsecond=999999)
times = [dt.time(i % 24, i % 60, tzinfo=tz if i % 2 else None) for i in range(100)]
deltas = [dt.timedelta(i, -i, i * 3) for i in range(-100, 100)] + [dt.timedelta.min, dt.timedelta.max]
uuids = [uuid.UUID(int=i << 64) for i in range(200)]

# ---- patterns, structs, getters
pats = [re.compile(p, f) for p, f in ((r"(?P<a>\w+)-(?P<b>\d+)", 0), ("\u0416+", re.I), (r"[^\x00-\xff]{3,}", re.S), ("", 0))]
pats.append(re.compile(rb"(\d+)\s*", re.M))
match = pats[0].search("zz abc-123"); finditer = pats[4].finditer(b"1 22 333"); first = next(finditer)
scanner = pats[0].scanner("a-1 b-2")
structs = [struct.Struct(f) for f in ("<IHB", ">qd3s", "@P", "", "=10x?")]; unpacker = structs[0].iter_unpack(bytes(70)); next(unpacker)
getters = [operator.itemgetter(1, "k", slice(2)), operator.attrgetter("a.b", "c"), operator.methodcaller("m", 1, k=2)]

if ctypes is not None:
    class Pt(ctypes.Structure): _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double), ("name", ctypes.c_char * 8)]
    class Un(ctypes.Union): _fields_ = [("i", ctypes.c_uint32), ("b", ctypes.c_ubyte * 4)]
    class Node(ctypes.Structure): pass
    Node._fields_ = [("next", ctypes.POINTER(Node)), ("pt", Pt), ("bits", ctypes.c_uint, 3), ("s", ctypes.c_char_p), ("o", ctypes.py_object)]
    node = Node(); node.next = ctypes.pointer(node); node.pt.x = 7; node.s = b"kept"; node.o = ["py"]; node.dyn = "dict too"
    cts = [Pt(i, i / 2, b"n%d" % i) for i in range(300)] + [Un(1), (Pt * 50)(), ctypes.c_wchar_p("wide\u20ac"), ctypes.c_longlong(-1)]
    cts += [ctypes.create_string_buffer(b"big", 5000), (ctypes.c_int * 3).from_buffer(bytearray(12)), ctypes.byref(node), cts[300].b]
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda v: v + 1); called = callback(4)
