"""200 open streams and 1,000 requests a second on one run's page, while that run is sampled once a second.

    python3 bench/serve/run.py --lowtide target/release/lowtide

The server runs inside the watcher (`run --web`), which is the worst case: what matters is that no tick of
the sampler comes late. Prints what was asked, how long answers took, and the ticks.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("verdict", "series?columns=1000", "lines", "events", "stack?columns=200")


async def ask(reader, writer, host, path):
    writer.write(f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head).group(1))
    body = await reader.readexactly(length)
    return int(head.split()[1]), body


async def stream(host, port, path, ticks, ended):
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET {path}/stream HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n".encode())
    try:
        async for line in reader:
            if line.startswith(b"data:"):
                ticks[0] += 1
            if ended.is_set():
                break
    finally:
        writer.close()


async def worker(host, port, path, pause, until, took, bad):
    reader, writer = await asyncio.open_connection(host, port)
    nth, due = 0, time.monotonic()
    while time.monotonic() < until:
        began = time.monotonic()
        status, _ = await ask(reader, writer, f"{host}:{port}", f"{path}/{PARTS[nth % len(PARTS)]}")
        took.append(time.monotonic() - began)
        bad[0] += status != 200
        nth, due = nth + 1, due + pause
        await asyncio.sleep(max(0, due - time.monotonic()))
    writer.close()


async def load(address, options):
    host, port, path = re.match(r"http://([^:]+):(\d+)(/runs/[^\s#]+)", address).groups()
    path, port = f"/api/v1{path}", int(port)
    ticks, took, bad, ended = [0], [], [0], asyncio.Event()
    streams = [asyncio.create_task(stream(host, port, path, ticks, ended)) for _ in range(options.streams)]
    await asyncio.sleep(2)
    until = time.monotonic() + options.seconds
    workers = 20
    await asyncio.gather(*(worker(host, port, path, workers / options.rate, until, took, bad) for _ in range(workers)))
    reader, writer = await asyncio.open_connection(host, port)
    _, body = await ask(reader, writer, f"{host}:{port}", f"{path}/report")
    alive = sum(not one.done() for one in streams)
    ended.set()
    for one in streams:
        one.cancel()
    took.sort()
    summary = json.loads(body)["summary"]
    return {
        "streams": alive, "ticks_streamed": ticks[0], "requests": len(took), "per_second": round(len(took) / options.seconds), "refused": bad[0],
        "median_ms": round(1000 * took[len(took) // 2], 2), "p99_ms": round(1000 * took[len(took) * 99 // 100], 2),
        "samples": summary["samples"], "late_ticks": summary["late_ticks"], "lost_ticks": summary["lost_ticks"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lowtide", default=str(ROOT / "target" / "release" / "lowtide"))
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        lab = [sys.executable, str(ROOT / "labs" / "stable.py"), "--steps", "10000", "--seconds", str(options.seconds + 30)]
        command = [options.lowtide, "run", "-i", "1s", "--web=127.0.0.1:0", "--open", "--", *lab]
        process = subprocess.Popen(command, env={**os.environ, "LOWTIDE_HOME": home}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        line = next(line for line in process.stderr if "page: http://" in line)
        time.sleep(2)
        print(json.dumps(asyncio.run(load(line.split("page: ")[1], options)), indent=1))
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
