"""A stand-in for a training with transformers, as large as the real objects are: `inside_job.py OBJECTS`.

For every line of input it does so many steps, and prints what one took, in microseconds: the median and the mean by the
clock, and the mean of its processor time, which others on the machine do not lengthen.
"""
import statistics, sys, time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "crates/lowtide-census/tests"))
from standin import args, state, trainer

# As many attributes as the real ones have.
for owner, count in ((state, 16), (args, 116), (trainer, 40)):
    for number in range(count):
        setattr(owner, f"attribute_{number}", number)
kept = [[number] for number in range(int(sys.argv[1]))]


def step():
    total = 0
    for number in range(20_000):
        total += number * number
    state.global_step += 1
    state.epoch = state.global_step / state.max_steps


print("ready", flush=True)
for line in sys.stdin:
    state.global_step, state.max_steps = 0, int(line)
    took, began_all = [], time.process_time()
    for _ in range(int(line)):
        began = time.perf_counter()
        step()
        took.append((time.perf_counter() - began) * 1e6)
    processor = (time.process_time() - began_all) * 1e6 / len(took)
    print(statistics.median(took), statistics.mean(took), processor, flush=True)
