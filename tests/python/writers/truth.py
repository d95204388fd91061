"""What a source adds to and empties, by its syntax tree: what `lowtide` has to find by bytecode alone."""

import ast
import dis
from dataclasses import dataclass

ADDS = {"append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "put", "put_nowait"}
EMPTIES = {"clear", "pop", "popleft", "popitem", "remove", "discard", "difference_update", "intersection_update"}
ADDS_TO = {"heappush", "insort", "insort_left", "insort_right"}
EMPTIES_OF = {"heappop"}
# Functions that give all that they are given, and what makes new containers (where a module may stand before it, and where not).
JOINING = {"concat", "concatenate", "cat", "vstack", "hstack", "append"}
MAKING = {"deque", "OrderedDict", "Counter", "DataFrame", "defaultdict"}
BUILTIN = {"list", "dict", "set", "tuple", "frozenset", "bytearray"}
# What a name had is lost by it; or it is not known whether it is in what came.
GIVEN, GIVEN_UNKNOWN = "=", "= (unless the new one keeps it)"
SIGNS = {ast.Add: ("adds", "+="), ast.BitOr: ("adds", "|="), ast.Sub: ("empties", "-="), ast.BitAnd: ("empties", "&=")}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
MAKERS = ("__init__", "__new__", "__post_init__")


@dataclass(frozen=True)
class Site:
    """`holder` is ("attribute", name), ("global", name) or ("variable", function, name)."""

    holder: tuple
    does: str
    how: str
    first: int
    last: int
    function: str


class Scope:
    """A function, or the module. Comprehensions are their function's, with variables of their own."""

    def __init__(self, node, name, around):
        self.node, self.name, self.around = node, name, around
        self.is_function = isinstance(node, FUNCTIONS)
        self.arguments, self.bound, self.elsewhere = [], {}, {}
        if self.is_function:
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            self.arguments = [each.arg for each in every if each]
        self.aliases, self.stores = {}, {}

    def owner(self, name):
        """The scope that a name belongs to, from here; None for globals."""
        if not self.is_function or self.elsewhere.get(name) == "global":
            return None
        if self.elsewhere.get(name) != "nonlocal" and (name in self.arguments or name in self.bound):
            return self
        return self.around.owner(name) if self.around else None


def sites(source):
    finder = Finder()
    finder.module(ast.parse(source))
    return finder.found


class Finder:
    def __init__(self):
        self.found = []

    def module(self, tree):
        self.body(Scope(tree, "<module>", None), tree.body, "")

    def body(self, scope, statements, prefix):
        for node in self.own(statements):
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                scope.bound.setdefault(node.id, node)
                scope.stores[node.id] = scope.stores.get(node.id, 0) + isinstance(node.ctx, ast.Store)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                for name in node.names:
                    scope.elsewhere[name] = type(node).__name__.lower()
            else:
                for name in names_given(node):
                    scope.bound.setdefault(name, node)
                    scope.stores[name] = scope.stores.get(name, 0) + 1
            # `x += y` leaves a container what it was.
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                scope.stores[node.target.id] = scope.stores.get(node.target.id, 0) - 1
        if scope.is_function:
            for node in self.own(statements):
                for name, value in aliases(node):
                    if scope.owner(name) is scope and scope.stores[name] == 1 and name not in scope.arguments:
                        scope.aliases[name] = value
        self.scope, self.given = scope, set(scope.arguments)
        for statement in statements:
            self.statement(scope, statement, prefix, False, frozenset())

    def own(self, statements):
        """All nodes of a scope, without functions, classes and comprehensions in it (whose variables are their own)."""
        for node in statements:
            yield node
            if isinstance(node, COMPREHENSIONS):
                # `:=` in there is the function's.
                yield from (each.target for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
            elif not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
                yield from self.own(ast.iter_child_nodes(node))

    def statement(self, scope, node, prefix, looped, hidden):
        if isinstance(node, ast.ClassDef):
            # Its body gives attributes to the class; what is in there are methods.
            for each in node.body:
                if isinstance(each, FUNCTIONS):
                    self.statement(scope, each, prefix + node.name + ".", False, hidden)
            return
        if isinstance(node, FUNCTIONS):
            for each in node.decorator_list:
                self.statement(scope, each, prefix, looped, hidden)
            self.passed_on(scope, node, hidden, [*node.args.defaults, *node.args.kw_defaults])
            within = Finder()
            within.found = self.found
            name = prefix + node.name
            within.body(Scope(node, name, scope), node.body, name + ".<locals>.")
            return
        if isinstance(node, ast.Lambda):
            hidden = hidden | {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        if isinstance(node, COMPREHENSIONS):
            names = {each.id for part in node.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)}
            hidden = hidden | names
            for each in ast.iter_child_nodes(node):
                self.statement(scope, each, prefix, looped, hidden)
            return
        self.note(scope, node, looped, hidden)
        branches = branches_of(node)
        if branches:
            self.branches(scope, node, branches, prefix, looped, hidden)
            return
        for each in ast.iter_child_nodes(node):
            within = looped or (isinstance(node, LOOPS) and each not in (getattr(node, "iter", None),) and each not in node.orelse)
            self.statement(scope, each, prefix, within, hidden)

    def branches(self, scope, node, branches, prefix, looped, hidden):
        """Of several, one is taken: what one gives is not given in the other."""
        for each in ast.iter_child_nodes(node):
            if not any(each in block for block in branches) and each not in getattr(node, "handlers", []):
                self.statement(scope, each, prefix, looped, hidden)
        before, after = set(self.given), set()
        for nth, block in enumerate(branches):
            self.given = set(before)
            for each in block:
                self.statement(scope, each, prefix, looped, hidden)
                # Handlers begin with what was given until then; `else` is not theirs.
                if isinstance(node, TRIES) and nth == 0 and each in node.body:
                    before = before | self.given
            if not (block and isinstance(block[-1], (ast.Return, ast.Raise))):
                after |= self.given
        self.given = after
        for each in getattr(node, "finalbody", []):
            self.statement(scope, each, prefix, looped, hidden)

    def note(self, scope, node, looped, hidden):
        add = lambda place, *rest: self.add(scope, place, hidden, node, *rest)  # noqa: E731
        self.passed_on(scope, node, hidden, given_away(node))
        if isinstance(node, ast.Call):
            self.call(scope, node, hidden)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    add(target.value, "empties", "del %s[...]")
                else:
                    add(target, "empties", "del", False)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Subscript):
                add(node.target.value, "adds", "%s[...] +=" if isinstance(node.op, ast.Add) else "%s[...] =")
            elif type(node.op) in SIGNS:
                add(node.target, *SIGNS[type(node.op)])
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for each, value in pairs_of(target, node.value):
                    self.assigned(scope, each, value, node, looped, hidden)
        elif isinstance(node, ast.NamedExpr):
            self.assigned(scope, node.target, node.value, node, looped, hidden)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self.assigned(scope, node.target, None, node.target, True, hidden)
        elif names_given(node):
            for name in names_given(node):
                self.assigned(scope, ast.Name(name, ast.Store()), None, node, looped, hidden)
        elif isinstance(node, ast.withitem) and node.optional_vars:
            self.assigned(scope, node.optional_vars, None, node.optional_vars, looped, hidden)

    def assigned(self, scope, target, value, node, looped, hidden):
        if value is not None and is_kept(scope, target):
            self.passed_on(scope, node, hidden, [value])
        if isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self.assigned(scope, each, None, node, looped, hidden)
        elif isinstance(target, ast.Starred):
            self.assigned(scope, target.value, None, node, looped, hidden)
        elif isinstance(target, ast.Subscript):
            if isinstance(target.slice, ast.Slice):
                self.add(scope, target.value, hidden, node, "empties", "%s[:] =")
            else:
                self.add(scope, target.value, hidden, node, "adds", "%s[...] =")
        elif value is not None and any(same(part, target) for part in parts(value, scope)):
            self.add(scope, target, hidden, node, "adds", "= itself + ...", False)
        elif value is None or not same(value, target):
            if isinstance(target, ast.Attribute):
                makes = not scope.is_function or scope.name.rpartition(".")[2] in MAKERS
            elif scope.owner(target.id) is scope:
                makes = target.id not in self.given
                self.given.add(target.id)
            else:
                makes = not scope.is_function
            if not makes or looped:
                how = GIVEN if value is not None and is_lost(scope, target, value, hidden) else GIVEN_UNKNOWN
                self.add(scope, target, hidden, node, "empties", how, False)

    def passed_on(self, scope, node, hidden, values):
        """Methods that are taken and not called."""
        for value in values:
            if isinstance(value, ast.Name) and value.id not in hidden and scope.owner(value.id) is scope:
                value = scope.aliases.get(value.id)
            if isinstance(value, ast.Attribute) and value.attr in ADDS | EMPTIES:
                does = "adds" if value.attr in ADDS else "empties"
                self.add(scope, value.value, hidden, node, does, "%%s.%s, passed on" % value.attr)

    def call(self, scope, node, hidden):
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if isinstance(function, ast.Name) and scope.owner(name) is scope and name in scope.aliases:
            # `add = self.rows.append`, and then `add(x)`.
            function = scope.aliases[name]
            name = getattr(function, "attr", "")
        if isinstance(function, ast.Attribute) and name in ADDS | EMPTIES:
            self.add(scope, function.value, hidden, node, "adds" if name in ADDS else "empties", "%s." + name)
        elif name in ADDS_TO | EMPTIES_OF and node.args:
            self.add(scope, node.args[0], hidden, node, "adds" if name in ADDS_TO else "empties", "%s." + name)

    def add(self, scope, place, hidden, node, does, how, follow=True, within=""):
        """Something is done to a place, and to what it is an alias of."""
        while follow:
            if isinstance(place, ast.Subscript):
                place = place.value
            elif isinstance(place, ast.Call) and isinstance(place.func, ast.Attribute) and place.func.attr == "setdefault":
                place = place.func.value
            else:
                break
            within += "[...]"
        text = how % within if "%s" in how else how
        if within and "%s" not in how:
            text = "%s %s" % (within, how)
        if text.startswith("."):
            text = text[1:]
        if isinstance(place, ast.Attribute):
            holder = ("attribute", mangled(scope, place.attr))
        elif isinstance(place, ast.Name) and place.id not in hidden:
            owner = scope.owner(place.id)
            holder = ("variable", owner.name, place.id) if owner else ("global", place.id)
            if follow and owner is scope and place.id in scope.aliases:
                self.add(scope, scope.aliases[place.id], hidden, node, does, how, True, within)
        else:
            return
        self.found.append(Site(holder, does, text, node.lineno, node.end_lineno, scope.name))


def names_given(node):
    """By an import, or by `except E as name`."""
    if isinstance(node, ast.ExceptHandler):
        return [node.name] if node.name else []
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [each.asname or each.name.partition(".")[0] for each in node.names]
    return []


def branches_of(node):
    if isinstance(node, ast.If):
        return [node.body, node.orelse]
    if isinstance(node, TRIES):
        return [node.body + node.orelse, *([handler] for handler in node.handlers)]
    if isinstance(node, getattr(ast, "Match", ())):
        return [[], *([each] for each in node.cases)]
    return None


def pairs_of(target, value):
    """`a, b = x, y` is two."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        if not any(isinstance(each, ast.Starred) for each in (*target.elts, *value.elts)):
            return list(zip(target.elts, value.elts))
    return [(target, value)]


def aliases(node):
    """(name, what it is given)"""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return []
    return [(each.id, place) for each, place in pairs_of(node.targets[0], node.value) if isinstance(each, ast.Name) and is_place(place)]


def mangled(scope, name):
    parts = scope.name.split(".")
    private = name.startswith("__") and not name.endswith("__") and len(parts) > 1
    return "_%s%s" % (parts[-2].lstrip("_"), name) if private else name


def is_place(node):
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault"):
                return False
            node = node.func
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def parts(value, scope):
    """What a sum, a display or a call that joins is made from."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.BitOr)):
        return [each for side in (value.left, value.right) for each in (parts(side, scope) or [side])]
    if isinstance(value, ast.Call) and called(value, scope) in JOINING and not is_spread(value):
        given = [*value.args, *(each.value for each in value.keywords), getattr(value.func, "value", value.func)]
        return [each for one in given for each in (items(one) or parts(one, scope) or [one])]
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return [each.value for each in value.elts if isinstance(each, ast.Starred)]
    if isinstance(value, ast.Dict):
        return [each for key, each in zip(value.keys, value.values) if key is None]
    return []


def items(value):
    """What a display has in it."""
    each = [one for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr)]
    is_display = isinstance(value, (ast.List, ast.Tuple, ast.Set, ast.Dict)) and None not in getattr(value, "keys", [])
    return each if is_display and not any(isinstance(one, ast.Starred) for one in each) else []


def called(call, scope):
    """The name of what is called, unless it is a variable of a function."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) and not scope.owner(call.func.id) else ""


def is_spread(call):
    return any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)


def is_constant(node):
    """By the compiler, which works out what it can."""
    if any(isinstance(each, (ast.Name, ast.Call, ast.Attribute, ast.Await, ast.Yield, ast.YieldFrom)) for each in ast.walk(node)):
        return False
    code = compile(ast.Expression(node), "", "eval")
    names = {each.opname for each in dis.get_instructions(code)}
    return names <= {"RESUME", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT", "RETURN_VALUE", "RETURN_CONST"}


def is_new(value, scope):
    """Nothing that was there before is in it."""
    new = lambda values: all(is_new(each, scope) for each in values)  # noqa: E731
    if isinstance(value, (ast.List, ast.Tuple, ast.Set, ast.Dict)):
        return new(each for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr))
    if isinstance(value, (ast.Starred, ast.NamedExpr)):
        return is_new(value.value, scope)
    if isinstance(value, ast.IfExp):
        return new([value.body, value.orelse])
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.BitOr)):
        return new([value.left, value.right])
    if isinstance(value, ast.Call) and not is_spread(value):
        given = [*value.args, *(each.value for each in value.keywords)]
        name, known = called(value, scope), MAKING | (BUILTIN if isinstance(value.func, ast.Name) else set())
        return name in known and (new(given) or name == "defaultdict" and len(given) == 1)
    return is_constant(value)


def is_lost(scope, target, value, hidden):
    """What the target had is not in the value, or not all of it."""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        is_none = lambda end: end is None or isinstance(end, ast.Constant) and end.value is None  # noqa: E731
        cuts = value.slice.step is None and not (is_none(value.slice.lower) and is_none(value.slice.upper))
        return cuts and any(same(each, target) for each in (parts(value.value, scope) or [value.value]))
    return is_new(value, scope)


def given_away(node):
    """Values that go where they are not followed, besides those that get a name."""
    if isinstance(node, ast.Call):
        return [*node.args, *(each.value for each in node.keywords)]
    if isinstance(node, ast.Lambda):
        return [node.body, *node.args.defaults, *node.args.kw_defaults]
    if isinstance(node, ast.Return):
        return [node.value]
    return items(node) if isinstance(getattr(node, "ctx", None), (ast.Load, type(None))) else []


def is_kept(scope, target):
    """Somebody else sees what it is given: it is no variable, or one that functions within use."""
    if not isinstance(target, ast.Name) or scope.owner(target.id) is not scope:
        return not isinstance(target, (ast.Tuple, ast.List, ast.Starred))
    own = (*FUNCTIONS, ast.Lambda, *COMPREHENSIONS)
    within = (each for each in ast.walk(scope.node) if isinstance(each, own) and each is not scope.node)
    return any(isinstance(each, ast.Name) and each.id == target.id for one in within for each in ast.walk(one))


def same(one, other):
    return is_place(one) and ast.unparse(one) == ast.unparse(other)
