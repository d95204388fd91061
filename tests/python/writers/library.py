"""Imports modules of the standard library, whose code was not written with any of this in mind, and tells what it has.

A line each: `module NAME FILE`, `function QUALNAME FILE` for names that only one function has.
"""

import collections
import gc
import importlib
import sys
import types

MODULES = """argparse asyncio.base_events asyncio.queues bdb calendar configparser copy csv difflib doctest email.message fractions
ftplib gettext html.parser http.client http.cookiejar imaplib inspect json.decoder logging.config mailbox mimetypes optparse
pdb pickle pickletools plistlib pprint pstats pyclbr queue sched selectors shlex smtplib statistics subprocess tarfile tempfile
textwrap tokenize trace traceback unittest.mock unittest.suite urllib.request weakref xml.dom.minidom xml.etree.ElementTree
xmlrpc.client zipfile""".split()


def noted(functions, name, code):
    functions[name].add((code.co_filename, code.co_firstlineno))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            noted(functions, name + ".<locals>." + constant.co_name, constant)


print("ready")
for module in MODULES:
    print("module", module, importlib.import_module(module).__file__)
functions = collections.defaultdict(set)
for each in gc.get_objects():
    if isinstance(each, types.FunctionType):
        noted(functions, each.__qualname__, each.__code__)
for name, places in functions.items():
    if len(places) == 1:
        print("function", name, next(iter(places))[0], sep="\t")
print("end", flush=True)
sys.stdin.readline()
