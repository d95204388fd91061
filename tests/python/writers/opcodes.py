"""What the instructions of the interpreter that runs this do to the stack of values, as rows of a Rust table.

`python3.X opcodes.py` prints the table of its version for `crates/lowtide-census/src/writers/tables.rs`;
`test_writers.py` compares the two for every interpreter at hand. What an instruction takes and leaves is checked here
against `dis.stack_effect`.
"""

import dis
import opcode
import sys

MINOR = sys.version_info[1]



def take(pops, pushes):
    return "Take(%d, %d)" % (pops, pushes), lambda arg: (pushes - pops,) * 2


def of(name, grows):
    """An operation of its own: `grows` is a number, or a function of the argument."""
    return name, (grows if callable(grows) else lambda arg: (grows,) * 2)


def both(number):
    return (number,) * 2


ENDS = ("Ends", None)
HIDES = ("Hides", None)
NOTHING = of("Nothing", 0)
FLAGGED = MINOR >= 11
# By name: the operation, and by how much the stack grows for an argument (fallen through, jumped), or None where an
# operation forgets the stack and needs no number. What is not here forgets it, too.
OPERATIONS = {
    **{
        name: NOTHING
        for name in "NOP CACHE RESUME PRECALL KW_NAMES MAKE_CELL COPY_FREE_VARS POP_BLOCK NOT_TAKEN SETUP_ANNOTATIONS ASYNC_GEN_WRAP".split()
    },
    "GEN_START": take(1, 0),
    "EXTENDED_ARG": of("Extends", 0),
    "POP_TOP": take(1, 0),
    "PUSH_NULL": of("Null", 1),
    **{name: of("LoadFast", 1) for name in "LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_BORROW".split()},
    **{name: of("LoadFastTwo", 2) for name in "LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW".split()},
    "LOAD_FAST_AND_CLEAR": of("LoadFastClear", 1),
    "STORE_FAST": of("StoreFast", -1),
    "STORE_FAST_LOAD_FAST": of("StoreFastLoad", 0),
    "STORE_FAST_STORE_FAST": of("StoreFastStore", -2),
    "DELETE_FAST": of("DeleteFast", 0),
    "LOAD_DEREF": of("LoadDeref", 1),
    "STORE_DEREF": of("StoreDeref", -1),
    "DELETE_DEREF": of("DeleteDeref", 0),
    "LOAD_CLOSURE": take(0, 1),
    "LOAD_CLASSDEREF": take(0, 1),
    "LOAD_FROM_DICT_OR_DEREF": take(1, 1),
    "LOAD_FROM_DICT_OR_GLOBALS": take(1, 1),
    "LOAD_LOCALS": take(0, 1),
    "LOAD_NAME": of("LoadName", 1),
    "STORE_NAME": of("StoreName", -1),
    "DELETE_NAME": of("DeleteName", 0),
    "LOAD_GLOBAL": of("LoadGlobal", lambda arg: both(1 + (arg & 1 if FLAGGED else 0))),
    "STORE_GLOBAL": of("StoreGlobal", -1),
    "DELETE_GLOBAL": of("DeleteGlobal", 0),
    "LOAD_CONST": of("LoadConst", 1),
    "LOAD_COMMON_CONSTANT": of("LoadCommon", 1),
    "LOAD_SMALL_INT": of("LoadNumber", 1),
    **{
        name: take(0, 1)
        for name in "LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR".split()
    },
    "LOAD_ATTR": of("LoadAttr", lambda arg: both(arg & 1 if MINOR >= 12 else 0)),
    "LOAD_METHOD": of("LoadMethod", 1),
    "LOAD_SUPER_ATTR": of("LoadSuper", lambda arg: both(-2 + (arg & 1))),
    "STORE_ATTR": of("StoreAttr", -2),
    "DELETE_ATTR": of("DeleteAttr", -1),
    **{name: of("Inplace(Sign::Other)", -1) for name in dis.opmap if name.startswith("INPLACE_")},
    **{name: take(2, 1) for name in dis.opmap if name.startswith("BINARY_")},
    "BINARY_SUBSCR": of("Subscript", -1),
    "BINARY_SLICE": of("Slice", -2),
    "STORE_SUBSCR": of("StoreSubscript", -3),
    "DELETE_SUBSCR": of("DeleteSubscript", -2),
    "STORE_SLICE": of("StoreSlice", -4),
    "BINARY_OP": of("Binary", -1),
    "BINARY_ADD": of("Sum", -1),
    "BINARY_OR": of("Sum", -1),
    "INPLACE_ADD": of("Inplace(Sign::Plus)", -1),
    "INPLACE_OR": of("Inplace(Sign::Or)", -1),
    "INPLACE_SUBTRACT": of("Inplace(Sign::Minus)", -1),
    "INPLACE_AND": of("Inplace(Sign::And)", -1),
    **{name: take(2, 1) for name in "COMPARE_OP IS_OP CONTAINS_OP".split()},
    **{name: take(1, 1) for name in dis.opmap if name.startswith("UNARY_")},
    **{name: of("Make", lambda arg: both(1 - arg)) for name in "BUILD_LIST BUILD_TUPLE BUILD_SET BUILD_STRING".split()},
    "BUILD_MAP": of("MakePairs", lambda arg: both(1 - 2 * arg)),
    "BUILD_CONST_KEY_MAP": of("MakeKeyed", lambda arg: both(-arg)),
    "BUILD_SLICE": of("MakeSlice", lambda arg: both(-2 if arg == 3 else -1)),
    "BUILD_TEMPLATE": take(2, 1),
    "BUILD_INTERPOLATION": of("MakeInterpolation", lambda arg: both(-1 - (arg & 1))),
    "LIST_APPEND": take(1, 0),
    "SET_ADD": take(1, 0),
    "MAP_ADD": take(2, 0),
    **{name: of("Spread", -1) for name in "LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE".split()},
    "LIST_TO_TUPLE": NOTHING,
    "CALL": of("Call", lambda arg: both(-1 - arg)),
    "CALL_KW": of("CallKw", lambda arg: both(-2 - arg)),
    "CALL_METHOD": of("CallMethod", lambda arg: both(-1 - arg)),
    "CALL_FUNCTION": of("CallFunction", lambda arg: both(-arg)),
    "CALL_FUNCTION_KW": of("CallFunctionKw", lambda arg: both(-arg - 1)),
    "CALL_FUNCTION_EX": of(
        "CallSpread", lambda arg: both(-3 if MINOR >= 14 else -2 - (arg & 1) if MINOR >= 11 else -1 - (arg & 1))
    ),
    "CALL_INTRINSIC_1": of("Intrinsic", 0),
    "CALL_INTRINSIC_2": take(2, 1),
    "COPY": of("Copy", 1),
    "SWAP": of("Swap", 0),
    "DUP_TOP": of("Duplicate(1)", 1),
    "DUP_TOP_TWO": of("Duplicate(2)", 2),
    "ROT_TWO": of("Rotate(2)", 0),
    "ROT_THREE": of("Rotate(3)", 0),
    "ROT_FOUR": of("Rotate(4)", 0),
    "ROT_N": of("RotateMany", 0),
    "JUMP_FORWARD": of("Jump", 0),
    "JUMP_ABSOLUTE": of("JumpTo", 0),
    **{name: of("JumpBack", 0) for name in "JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT".split()},
    **{name: of("PopJump", -1) for name in dis.opmap if name.startswith("POP_JUMP_")},
    **{name: of("PopJumpBack", -1) for name in dis.opmap if name.startswith("POP_JUMP_BACKWARD")},
    **{name: of("JumpOrPop", lambda arg: (-1, 0)) for name in "JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP".split()},
    "JUMP_IF_NOT_EXC_MATCH": of("PopTwoJump", -2),
    "FOR_ITER": of("Iterate", lambda arg: (1, 1 if MINOR >= 12 else -1)),
    "END_FOR": take(2, 0) if MINOR == 12 else take(1, 0),
    "POP_ITER": take(2, 0) if MINOR >= 15 else take(1, 0),
    "GET_ITER": take(1, 2) if MINOR >= 15 else take(1, 1),
    "SEND": of("Send", lambda arg: (0, 0 if MINOR >= 12 else -1)),
    "END_SEND": take(3, 1) if MINOR >= 15 else take(2, 1),
    **{name: take(1, 1) for name in "GET_AITER GET_AWAITABLE GET_YIELD_FROM_ITER YIELD_VALUE TO_BOOL FORMAT_SIMPLE CONVERT_VALUE".split()},
    "YIELD_FROM": take(2, 1),
    "GET_ANEXT": take(0, 1),
    "GET_LEN": take(0, 1),
    "FORMAT_WITH_SPEC": take(2, 1),
    "FORMAT_VALUE": of("Format", lambda arg: both(-1 if arg & 4 else 0)),
    "MAKE_FUNCTION": take(1, 1)
    if MINOR >= 13
    else of("MakeFunction", lambda arg: both((0 if MINOR >= 11 else -1) - bin(arg & 15).count("1"))),
    "SET_FUNCTION_ATTRIBUTE": take(2, 1),
    "UNPACK_SEQUENCE": of("Unpack", lambda arg: both(arg - 1)),
    "UNPACK_EX": of("UnpackRest", lambda arg: both((arg & 255) + (arg >> 8))),
    "IMPORT_NAME": take(2, 1),
    "IMPORT_FROM": take(0, 1),
    "IMPORT_STAR": take(1, 0),
    "PRINT_EXPR": take(1, 0),
    **{name: take(1, 2) for name in "BEFORE_WITH BEFORE_ASYNC_WITH LOAD_SPECIAL".split()},
    **{name: ENDS for name in "RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE".split()},
    **{name: ("Catches", None) for name in "PUSH_EXC_INFO CLEANUP_THROW".split()},
    **{name: ("Setup", None) for name in "SETUP_FINALLY SETUP_WITH SETUP_ASYNC_WITH".split()},
    # Hidden behind it, for debuggers or for code that was compiled.
    **{name: HIDES for name in "INSTRUMENTED_LINE INSTRUMENTED_INSTRUCTION ENTER_EXECUTOR TRACE_RECORD RESERVED".split()},
}


def specialized():
    """{opcode: name of what it stands for}, with all forms that the interpreter writes into code while it runs."""
    if MINOR <= 10:
        return {}
    if MINOR <= 12:
        numbers = dis._all_opmap
        forms = {form: base for base, each in opcode._specializations.items() for form in each}
        if MINOR == 11:
            forms.update({name: name[: -len("_ADAPTIVE")] for name in numbers if name.endswith("_ADAPTIVE")})
            forms.update({name: name[: -len("_QUICK")] for name in numbers if name.endswith("_QUICK")})
        # Two in one: the second stands behind it as it was.
        forms.update({name: name.split("__")[0] for name in numbers if "__" in name})
        return {numbers[form]: base for form, base in forms.items() if form in numbers}
    import _opcode_metadata as metadata

    forms = {form: base for base, each in metadata._specializations.items() for form in each}
    return {number: forms[form] for form, number in metadata._specialized_opmap.items()}


def check():
    for name, number in opcode.opmap.items():
        if number > 255 or name not in OPERATIONS or OPERATIONS[name][1] is None or name in ("CACHE", "EXTENDED_ARG"):
            continue
        # 3.11 calls by two instructions, and `dis` shares out between them what only the second does.
        if MINOR == 11 and name in ("PRECALL", "CALL"):
            continue
        takes = number in opcode.hasarg if MINOR >= 13 else number >= opcode.HAVE_ARGUMENT
        for arg in range(2 if name == "BUILD_SLICE" else 0, 4 if name in ("BUILD_SLICE", "FORMAT_VALUE") else 9):
            if name in ("SWAP", "COPY", "CALL_INTRINSIC_1", "CALL_INTRINSIC_2", "LOAD_COMMON_CONSTANT", "LOAD_SPECIAL") and arg == 0:
                continue
            if name == "ROT_N" and arg == 0:
                continue
            expected = [dis.stack_effect(number, arg if takes else None, jump=jump) for jump in (False, True)]
            grows = list(OPERATIONS[name][1](arg))
            if name.startswith(("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD")):
                expected = expected[1:] * 2
            assert grows == expected, (sys.version_info[:2], name, arg, grows, expected)


def rows():
    """(opcode, operation)"""
    named = {number: name for name, number in opcode.opmap.items() if number <= 255}
    found = {}
    for number, base in {**named, **specialized()}.items():
        if base in OPERATIONS:
            found[number] = OPERATIONS[base][0]
    return sorted(found.items())


def watched():
    """(opcode of a debugger's form, opcode of what it stands for)"""
    pairs = [(number, opcode.opmap.get(name[len("INSTRUMENTED_") :])) for name, number in opcode.opmap.items() if name.startswith("INSTRUMENTED_")]
    return sorted((number, base) for number, base in pairs if base is not None)


def table():
    """The rows, those with one operation in a row joined."""
    joined = []
    for number, what in rows():
        if joined and joined[-1][1] == number - 1 and joined[-1][2] == what:
            joined[-1][1] = number
        else:
            joined.append([number, number, what])
    return ["(%d, %d, %s)" % tuple(each) for each in joined]


def filled(words, width=112):
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 2 > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word + ","
    return lines


if __name__ == "__main__":
    check()
    name = {9: "NINE", 10: "TEN", 11: "ELEVEN", 12: "TWELVE", 13: "THIRTEEN", 14: "FOURTEEN", 15: "FIFTEEN"}[MINOR]
    print("#[rustfmt::skip]\npub(super) const %s: &[Row] = &[" % name)
    print("\n".join("    " + line for line in filled(table())))
    print("];")
    if watched():
        print("#[rustfmt::skip]\npub(super) const %s_WATCHED: &[(u8, u8)] = &[" % name)
        print("\n".join("    " + line for line in filled(["(%d, %d)" % pair for pair in watched()])))
        print("];")
