"""Files opened, read and never closed: descriptors run out first, but each reader holds memory too.

--size: megabytes of read buffers per step (64 kB a file). Expected verdict: leak.
"""

import resource

from lab import MB, arguments, paced

BUFFER = 64_000

args = arguments(__doc__, size=0.3)
per_step = max(1, int(args.size * MB / BUFFER))
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
needed = args.steps * per_step + 100
if needed > hard:
    raise SystemExit(f"needs {needed} descriptors and may have {hard}: lower --steps or --size")
resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))

opened = []
for step in paced(args):
    for _ in range(per_step):
        file = open("/dev/zero", "rb", buffering=BUFFER)
        file.read(10)  # fills, and so touches, the whole buffer
        opened.append(file)
