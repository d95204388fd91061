"""A C program that mallocs and never frees; compiled here with cc, then this process becomes it.

--size: megabytes lost per step. Expected verdict: leak.
"""

import os
import subprocess
import tempfile

from lab import MB, arguments

args = arguments(__doc__, size=0.5)
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "malloc_leak.c")
folder = tempfile.mkdtemp(prefix="lowtide-lab-")
program = os.path.join(folder, "malloc_leak")
# -O0: an optimiser may drop an allocation that nobody reads.
subprocess.run(["cc", "-O0", "-o", program, source], check=True)
opened = os.open(program, os.O_RDONLY)
os.unlink(program)
os.rmdir(folder)
os.set_inheritable(opened, True)
pause = int(args.seconds / args.steps * 1e6)
os.execv(f"/proc/self/fd/{opened}", ["malloc_leak", str(args.steps), str(pause), str(int(args.size * MB))])
