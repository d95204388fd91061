"""Code that adds to holders and empties them, in all ways, hot: each function has run often enough to be specialized.

Nothing here is imported by a test: `truth.py` reads the source. A holder has its name in one function or few, so that every
place that is found, or not, belongs to one of them. It must run on Python 3.9.
"""

import bisect
import collections
import functools
import heapq
import sys

HOT = []
CACHE = []
SEEN = set()
TABLE = {}
GROUPS = collections.defaultdict(list)
BOX = collections.deque()
LEFT_ALONE = []
SUMMED = []
REPLACED = []
TRIMMED = []
TOP_LEVEL = []
OPENED = []
TAKEN = []
BRANCHED = []
HEAP = []
SORTED = []
MERGED = {}
SPREAD = []
JOINED = []
GLUED = []
REBUILT = []
REMADE = []
RENEWED = []
COPIED = [1, 2]
FILTERED = [1, 2]
EITHER = []
CALLED_LATER = set()
HANDLERS = {}
NAMES = ["a", "b"]


def hot(function):
    HOT.append(function)
    return function


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Lock:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Base:
    def __init__(self):
        self.inherited = []

    def put_in_base(self, x):
        self.inherited.append(x)


class Metrics(Base):
    shared = []

    def __init__(self):
        super().__init__()
        self.rows = []
        self.counts = {}
        self.unique = set()
        self.recent = collections.deque()
        self.groups = collections.defaultdict(list)
        self.nested = {"a": {}}
        self.summed = []
        self.replaced = []
        self.spread = []
        self.joined = {}
        self.sliced = []
        self.trimmed = []
        self.deleted = [0] * 5000
        self.gone = []
        self.copied = [[0], 1, 2]
        self.swapped = []
        self.aliased = []
        self.bound = []
        self.looped = []
        self.guarded = []
        self.locked = []
        self.chosen = []
        self.inner = []
        self.made_in_list = []
        self.wrapped = []
        self.awaited = []
        self.yielded = []
        self.long = []
        self.starred = []
        self.keyed = {}
        self.less = set()
        self.both = set()
        self.popped = [0] * 5000
        self.unpacked = []
        self.never = []
        self.outside = []
        self.by_global = []
        self.__private = []
        self.many = {}
        self.tupled = ()
        self.counted = {"a": 0}
        self.inserted = []
        self.conditional = []
        self.maybe = []
        self.finished = []
        self.whiled = []
        self.once = None
        self.remade = []
        self.assigned = []
        self.assigned_again = []
        self.later = []
        self.handler = None
        for name in NAMES:
            self.in_loop = [name]

    def append(self, x):
        self.rows.append(x)

    def extend_and_clear(self, x):
        self.rows.extend([x, x])
        if len(self.rows) > 100:
            self.rows.clear()

    def item(self, x):
        self.counts[x] = x

    def add(self, x):
        self.unique.add(x)

    def update_all(self, x):
        self.unique.update([x, x + 1])
        self.unique.discard(x)
        self.counts.update({x: 1}, y=2)
        self.counts.setdefault(x, 3)
        self.counts.pop(x, None)
        self.counts.popitem()

    def both_ends(self, x):
        self.recent.append(x)
        self.recent.appendleft(x)
        self.recent.pop()
        self.recent.popleft()

    def of_values(self, x):
        self.groups[x % 3].append(x)
        self.groups[x % 3].clear()

    def deeper(self, x):
        self.nested["a"][x] = x
        del self.nested["a"][x]

    def plus(self, x):
        self.summed += [x]
        self.summed = self.summed[-10:]

    def anew(self, x):
        self.replaced = self.replaced + [x]
        if x % 7 == 0:
            self.replaced = []

    def starred_anew(self, x):
        self.spread = [*self.spread[-5:], *self.spread, x][-10:]
        self.spread = [*self.spread, x]

    def joined_anew(self, x):
        self.joined = {**self.joined, x % 5: x}
        self.joined = self.joined | {1: 2}

    def tuple_anew(self, x):
        self.tupled = (*self.tupled, x)
        self.tupled = self.tupled[:3]

    def slices(self, x):
        self.sliced[:] = [x]
        self.sliced[x:] = []
        self.sliced[1:1] = [x]

    def trims(self, x):
        self.trimmed.append(x)
        del self.trimmed[:-3]

    def deletes(self, x):
        del self.deleted[0]

    def copies(self, x):
        copy = self.copied[:]
        copy.append(x)
        other = self.copied[1:3]
        other.clear()
        item = self.copied[0]
        item.append(x)
        item += [x]
        del item[:]

    def swaps(self, x):
        first, self.swapped = x, self.swapped + [x]
        try:
            first = 1 / (x % 2)
        except ZeroDivisionError as error:
            second = [error]
        else:
            second = []
        second.append(first)
        self.swapped.clear()
        return second

    def goes(self, x):
        self.gone = [x]
        del self.gone

    def alias(self, x):
        rows = self.aliased
        rows.append(x)
        if len(rows) > 10:
            del rows[0]

    def bound_method(self, xs):
        add = self.bound.append
        for x in range(3):
            add(x)

    def loops(self, x):
        for one in range(2):
            for other in range(2):
                if one != other:
                    self.looped.append((one, other, x))

    def guards(self, x):
        try:
            self.guarded.append(1 / (x % 2))
        except ZeroDivisionError as error:
            self.guarded.append(str(error))
        else:
            self.guarded.insert(0, x)
        finally:
            self.guarded.pop()

    def locks(self, x):
        with Lock() as lock, Lock():
            self.locked.append(lock)
        self.locked.remove(lock)

    def chooses(self, x):
        self.chosen.append(x if x % 2 else -x)
        self.chosen.append(x and len(self.chosen) or 3)
        self.chosen.append([y for y in range(3) if y % 2])
        self.chosen.append(f"{x:>3} {x!r}" + "".join(str(y) for y in (1, 2)))
        self.chosen.append(dict(a=x, b=(x, [x])))
        self.chosen.append(lambda y=x: y)
        self.chosen.clear()

    def inside(self, x):
        def put(y):
            self.inner.append(y)

        put(x)
        return [self.made_in_list.append(y) for y in range(2)]

    @logged
    def decorated(self, x):
        self.wrapped.append(x)

    async def waits(self, x):
        self.awaited.append(await answer(x))
        async with AsyncLock():
            self.awaited.append(x)
        async for one in ticks():
            self.awaited.append(one)

    def yields(self, x):
        self.yielded.append((yield x))
        yield from self.yielded[:1]

    def over_lines(self, x):
        self.long.append(
            {
                "first": x,
                "second": [x, x],
            }
        )
        self.long.extend(
            x for x in range(2)
        )
        del self.long[
            0
        ]

    def with_stars(self, *xs, **named):
        self.starred.extend(*[xs])
        self.keyed.update(**named)

    def fewer(self, x):
        self.less |= {x}
        self.less -= {x - 1}
        self.both |= {x}
        self.both &= {x}

    def pops(self, x):
        self.popped.pop()
        self.popped.pop(0)

    def unpacks(self, x):
        self.unpacked, y = [x], x
        return y

    def private(self, x):
        self.__private.append(x)

    @classmethod
    def of_class(cls, x):
        cls.shared.append(x)
        Metrics.shared.pop()

    @property
    def many_of(self):
        self.many[1, 2] = 3
        self.many["x"], self.many["y"] = 1, 2
        return self.many

    def counts_up(self, x):
        self.counted["a"] += 1
        self.counted["b"] = self.counted.get("b", 0) + x

    def inserts(self, x):
        bisect.insort(self.inserted, x)
        self.inserted.insert(x, len(self.inserted))

    def condition(self, x):
        rows = self.conditional if x % 2 else []
        self.conditional.append(x) if x % 3 else self.conditional.clear()
        other = [] if x % 2 else self.maybe
        other.append(x)
        return rows

    def finishes(self, x):
        for one in range(2):
            try:
                if one:
                    continue
                self.finished.append(x)
            finally:
                self.finished.append(-1)

    def whiles(self, x):
        while True:
            self.whiled.append(x)
            if len(self.whiled) % 2:
                break
        while len(self.whiled) > 4:
            self.whiled.pop()

    def lazily(self, x):
        if self.once is None:
            self.once = [x]


    def remakes(self, x):
        self.remade = remade(self.remade, x)
        self.remade = np.append(self.remade, x)
        rows = [x]
        self.remade = rows
        self.remade = self.remade[-5:]

    def hands_on(self, x):
        self.handler = self.later.append
        self.handler(x)
        return self.later.pop


class Arrays:
    """As libraries have them: they give a new one."""

    def append(self, rows, x):
        return [*rows, x]

    def concat(self, parts, sort=False):
        return [each for part in parts for each in part][-50:]


class AsyncLock:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return False


async def answer(x):
    return x


async def ticks():
    yield 1
    yield 2


def drive(coroutine):
    try:
        while True:
            coroutine.send(None)
    except StopIteration:
        pass


def remade(rows, x):
    return [*rows, x][-50:]


def call(function, *rest, **named):
    pass


np = Arrays()
metrics = Metrics()


@hot
def to_joined(x):
    global JOINED, GLUED
    JOINED = np.concat([JOINED, [x]], sort=True)
    JOINED = np.concat((JOINED[-3:], [x]))
    GLUED = np.append(GLUED[-3:], x)
    GLUED = np.append(GLUED, x)
    GLUED = (GLUED + [x])[-3:]


@hot
def to_remade(x):
    global REMADE
    REMADE = remade(REMADE, x)
    REMADE = [REMADE, x]
    REMADE = list(REMADE)
    other = [x]
    REMADE = other


@hot
def to_renewed(x):
    global RENEWED
    RENEWED = set()
    RENEWED = collections.deque(maxlen=5)
    RENEWED = collections.deque(NAMES)
    RENEWED = collections.defaultdict(list)
    RENEWED = {"a": [], "b": (1, -2)}
    RENEWED = None
    RENEWED = 0
    RENEWED = dict(a=1)
    RENEWED = dict(a=x)


@hot
def to_copied(x):
    global COPIED
    COPIED = COPIED[:]
    COPIED = COPIED[::-1]
    COPIED = COPIED[-3:None]
    COPIED = COPIED[x - 1000 : x]
    COPIED = COPIED[:] + [x]


@hot
def to_filtered(x):
    global FILTERED
    FILTERED = [one for one in FILTERED if one > 1]
    FILTERED = {one: one for one in (x, *FILTERED)}
    FILTERED = list(one for one in FILTERED)
    try:
        x / (x % 2)
    except ZeroDivisionError:
        FILTERED = [one for one in (x, *FILTERED)]


@hot
def to_either(x):
    global EITHER
    EITHER = [] if x % 2 else EITHER
    EITHER = EITHER or []
    EITHER = [] if x % 2 else {}


@hot
def passed_on(x):
    call(CALLED_LATER.discard)
    call(x, done=CALLED_LATER.add)
    call(x, [CALLED_LATER.clear], {"then": CALLED_LATER.update})
    HANDLERS["forget"] = CALLED_LATER.remove
    later = CALLED_LATER.discard
    call(later)
    call(lambda: CALLED_LATER.pop)
    call(CALLED_LATER.union, len(CALLED_LATER), CALLED_LATER)
    CALLED_LATER.add(x)
    return CALLED_LATER.add


@hot
def passed_to_closure(x):
    todo = []
    put = todo.append
    call(lambda y: put(y))
    return todo


@hot
def local_joined(x):
    log = [x]
    log = np.concat([log, [x]])
    log = remade(log, x)
    new = log + [x]
    log = new
    for one in log:
        last = one
    return log, last


@hot
def to_cache(x):
    CACHE.append(x)


@hot
def to_seen(x):
    if x not in SEEN:
        SEEN.add(x)


@hot
def to_table(x):
    TABLE[x] = TABLE.get(x, 0) + 1
    TABLE.setdefault(x, []) if x < 0 else None


@hot
def to_groups(x):
    GROUPS[x % 5].append(x)
    GROUPS.setdefault(x, []).append(x)


@hot
def to_box(x):
    BOX.append(x)
    while len(BOX) > 5:
        BOX.popleft()


@hot
def to_sum(x):
    global SUMMED
    SUMMED += [x]


@hot
def to_replaced(x):
    global REPLACED
    REPLACED = REPLACED + [x]
    if len(REPLACED) > 10:
        REPLACED = []


@hot
def to_trimmed(x):
    global TRIMMED
    TRIMMED.append(x)
    TRIMMED = TRIMMED[-3:]


@hot
def to_heap(x):
    heapq.heappush(HEAP, x)
    if len(HEAP) > 5:
        heapq.heappop(HEAP)
    bisect.insort(SORTED, x)


@hot
def to_merged(x):
    global MERGED, SPREAD
    MERGED = {**MERGED, x % 3: x}
    SPREAD = [*SPREAD[-2:], x]


@hot
def outside(x):
    metrics.outside.append(x)
    metrics.outside.clear()


@hot
def handed(x, one=metrics):
    one.by_global.append(x)


@hot
def branched(x):
    BRANCHED.append(
        x
    ) if x else BRANCHED.extend([
        x
    ])


@hot
def reads_only(x):
    return len(LEFT_ALONE), LEFT_ALONE[:], sorted(LEFT_ALONE), x in LEFT_ALONE, [one for one in LEFT_ALONE]


@hot
def local(x):
    seen = []
    for one in range(3):
        seen.append(one)
    return seen


@hot
def local_in_loop(x):
    for _ in range(2):
        batch = []
        batch.append(x)
    return batch


@hot
def local_plus(x):
    total = []
    total += [x]
    total = total + [x]
    total.extend(total[:1])
    total[:] = []
    return total


@hot
def local_replaced(x, given=()):
    given = list(given)
    given.append(x)
    return given


@hot
def local_shadowed(x):
    kept = [1]
    kept.append([kept for kept in range(2)])
    return kept, [other for other in kept]


@hot
def local_tried(x):
    tried = {}
    try:
        tried[x] = 1 / (x % 2)
    except ZeroDivisionError as error:
        tried[x] = error
    tried.clear()
    return tried


@hot
def local_deleted(x):
    one = [x]
    del one
    try:
        other = 1 / (x % 2)
    except ZeroDivisionError as caught:
        other = str(caught)
    return other


@hot
def local_alias(x):
    first = [x]
    second = first
    second.append(x)
    return first


@hot
def outer(x):
    cell = []

    def put(y):
        cell.append(y)

    def forget():
        nonlocal cell
        cell = []

    put(x)
    forget()
    return [cell.append(y) for y in range(2)], (cell.pop() for _ in range(1))


def make_closure():
    history = []
    by_name = {}

    def remember(x):
        history.append(x)
        by_name[x] = x
        return history

    return remember


remember = hot(make_closure())


@hot
def many_variables(x):
    a = b = c = d = e = f = g = h = i = j = k = m = n = o = p = q = r = s = t = u = x
    late = []
    late.append((a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u))
    late.extend([a, b])
    other = [late, a]
    other.insert(0, b)
    return other


@hot
def walrus(x):
    if (got := [x]) and len(got) < 2:
        got.append(x)
    return got


@hot
def starred_call(x):
    ends = []
    first, *rest = [x, x, x]
    ends.append((first, *rest))
    ends.extend((*rest, x))
    print(*ends, file=QUIET, sep=", ", end="")
    return ends


class Quiet:
    def write(self, text):
        pass


QUIET = Quiet()
SMALL = [Metrics.append, Metrics.extend_and_clear, Metrics.item, Metrics.add, Metrics.update_all, Metrics.both_ends, Metrics.of_values]
SMALL += [Metrics.deeper, Metrics.plus, Metrics.anew, Metrics.starred_anew, Metrics.joined_anew, Metrics.tuple_anew, Metrics.slices]
SMALL += [Metrics.trims, Metrics.deletes, Metrics.goes, Metrics.alias, Metrics.bound_method, Metrics.loops, Metrics.guards]
SMALL += [Metrics.locks, Metrics.chooses, Metrics.inside, Metrics.decorated, Metrics.over_lines, Metrics.with_stars, Metrics.fewer]
SMALL += [Metrics.pops, Metrics.unpacks, Metrics.private, Metrics.counts_up, Metrics.inserts, Metrics.condition, Metrics.finishes]
SMALL += [Metrics.copies, Metrics.swaps]
SMALL += [Metrics.remakes, Metrics.hands_on]
SMALL += [Metrics.whiles, Metrics.lazily, Metrics.put_in_base]


def heat(times):
    for x in range(times):
        for method in SMALL:
            method(metrics, x)
        for function in HOT:
            function(x)
        metrics.with_stars(x, x=x)
        metrics.of_class(x)
        metrics.many_of
        drive(metrics.waits(x))
        generator = metrics.yields(x)
        next(generator)


if "--profile" in sys.argv:
    sys.setprofile(lambda *_: None)
if "--trace" in sys.argv:
    sys.settrace(lambda *_: None)
metrics.assigned = []
for again in range(2):
    REBUILT = np.concat([REBUILT, [again]])
    call(REBUILT.clear)
    metrics.assigned_again = []
heat(1000)
for number in range(3):
    TOP_LEVEL.append(number)
    OPENED = [number]
    TAKEN += [number]
TOP_LEVEL.pop()
print("ready", flush=True)
sys.stdin.readline()
