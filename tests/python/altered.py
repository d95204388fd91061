"""Changes to the program of an interpreter that make it hard to read from outside, or to be refused; it runs as before."""

import struct


def without_sections(program):
    """No section headers, as packers leave a program: symbols are still there for the loader."""
    struct.pack_into("<Q", program, 40, 0)
    struct.pack_into("<HH", program, 60, 0, 0)
    return program


def without_symbols(program):
    """The names of what leads to the runtime are others; only the section `.PyRuntime` tells, from 3.10 on."""
    for name in (b"_PyRuntime", b"Py_Version"):
        program[:] = program.replace(b"\0" + name + b"\0", b"\0" + b"X" + name[1:] + b"\0")
    return program


def stripped(program):
    """Neither: there is nothing to find the runtime by."""
    return without_sections(without_symbols(program))


def free_threaded_word(program):
    """The word in `_Py_DebugOffsets` that tells a free-threaded build, set: it stands in for one where there is none."""
    at = program.find(b"xdebugpy")
    # Code compares with the same bytes: the table is the one with a version after them.
    while at >= 0:
        version, free_threaded = struct.unpack_from("<QQ", program, at + 8)
        if 0x030D0000 <= version <= 0x03FFFFFF and free_threaded == 0:
            struct.pack_into("<Q", program, at + 16, 1)
            return program
        at = program.find(b"xdebugpy", at + 8)
    return None


ALTERATIONS = {
    "no-sections": without_sections,
    "no-symbols": without_symbols,
    "stripped": stripped,
    "free-threaded-word": free_threaded_word,
}
