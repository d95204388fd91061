"""A long-lived server that starts a trainer late, as a training service does."""

import http.server
import subprocess
import sys
import threading
import time


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    held = bytearray(b"x" * 150_000_000)
    time.sleep(3)
    code = subprocess.call([sys.executable, *sys.argv[1:]])
    server.shutdown()
    return code or len(held) == 0


if __name__ == "__main__":
    sys.exit(main())
