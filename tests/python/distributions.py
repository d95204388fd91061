"""Packages of Debian and Ubuntu, fetched and unpacked into a folder by this machine's own apt, which stays as it is.

The mirror is the one that /etc/apt names. `LOWTIDE_MIRRORS` ("ubuntu=URL debian=URL") adds the mirror of the other
distribution; apt checks its signature too, with the keys that our own distribution ships for it.
"""

import contextlib
import functools
import itertools
import os
import re
import subprocess
from pathlib import Path

KEYS = {"debian": ("debian-archive-keyring", "debian-archive-keyring"), "ubuntu": ("ubuntu-keyring", "ubuntu-archive-keyring")}
# A mirror that does not answer must not hold up the tests.
PATIENCE = 240


class Unavailable(Exception):
    """Why something cannot be had here; the message is for the reason of a skip."""


class Unreachable(Unavailable):
    """A tool or a mirror failed, which takes its time."""


class Apt:
    """The machine's apt with lists, state and cache of its own, and one suite."""

    def __init__(self, folder, distribution, suite):
        self.folder = folder
        mirror, keys = _mirror(distribution, folder)
        for name in ("lists/partial", "cache/archives/partial", "state", "files"):
            (folder / name).mkdir(parents=True)
        (folder / "state/status").write_text("")
        components = "main" if distribution == "debian" else "main universe"
        (folder / "the.sources").write_text(
            "Types: deb\nURIs: %s\nSuites: %s\nComponents: %s\nSigned-By: %s\n" % (mirror, suite, components, keys)
        )
        self._call("apt-get", "update", "--error-on=any")

    def has(self, package):
        command = self._command("apt-cache", "show", package)
        return subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False).returncode == 0

    def unpack(self, packages, root):
        """Fetches the packages, checked by apt against the suite's signed list, and unpacks them into a root."""
        self._call("apt-get", "download", *packages, cwd=self.folder / "files")
        for name in ("bin", "lib", "lib64", "sbin"):
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
            if not (root / name).is_symlink():
                (root / name).symlink_to("usr/" + name)
        for name in ("jobs", "packages", "tmp", "dev"):
            (root / name).mkdir(exist_ok=True)
        # A plain file, as not everybody may make a device: PyPy asks for it by name, and for a seed only.
        (root / "dev/urandom").write_bytes(os.urandom(1 << 16))
        for file in sorted((self.folder / "files").glob("*.deb")):
            run(["dpkg", "-x", str(file), str(root)])

    def _command(self, tool, *args):
        options = {
            "Dir::Etc::SourceList": self.folder / "the.sources",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State": self.folder / "state",
            "Dir::State::status": self.folder / "state/status",
            "Dir::State::Lists": self.folder / "lists",
            "Dir::Cache": self.folder / "cache",
            "APT::Architecture": _architecture(),
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
            "Acquire::Languages": "none",
            "Acquire::Retries": "1",
            "Acquire::http::Timeout": "20",
            "Acquire::https::Timeout": "20",
        }
        # Only the packages' list: no icons, no names of commands, no contents.
        for target in ("DEP-11", "DEP-11-icons-small", "DEP-11-icons", "DEP-11-icons-large", "CNF", "Contents-deb"):
            options["Acquire::IndexTargets::deb::%s::DefaultEnabled" % target] = "false"
        return [tool, *itertools.chain.from_iterable(("-o", "%s=%s" % pair) for pair in options.items()), "-q", *args]

    def _call(self, tool, *args, cwd=None):
        run(self._command(tool, *args), cwd=cwd)


@functools.lru_cache(maxsize=None)
def _architecture():
    try:
        return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        raise Unavailable("there is no dpkg here") from None


def run(command, cwd=None):
    """Runs a tool that may be missing, fail or hang."""
    try:
        subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Unreachable("there is no %s here" % command[0]) from None
    except subprocess.TimeoutExpired:
        raise Unreachable("%s took more than %d s" % (command[0], PATIENCE)) from None
    except subprocess.CalledProcessError as error:
        told = [line for line in error.stderr.splitlines() if line.startswith(("E:", "W:", "dpkg"))] or error.stderr.splitlines()
        raise Unreachable("%s: %s" % (command[0], told[-1] if told else "failed")) from None


def _mirror(distribution, folder):
    """(URIs, file of keys) for a distribution: from this machine's own apt, or as LOWTIDE_MIRRORS says."""
    own, uris, keys = own_mirror()
    if distribution == own and uris:
        return uris, keys
    given = dict(pair.split("=", 1) for pair in os.environ.get("LOWTIDE_MIRRORS", "").split() if "=" in pair)
    if distribution not in given:
        raise Unavailable("this machine's apt knows no mirror of %s (LOWTIDE_MIRRORS can name one)" % distribution)
    return given[distribution], _keys(distribution, own, folder)


def _keys(distribution, own, folder):
    """The keys of another distribution, out of a package of our own, and so under its signature."""
    package, name = KEYS[distribution]
    places = [Path("/usr/share/keyrings") / (name + ending) for ending in (".gpg", ".pgp")]
    for place in places:
        if place.is_file():
            return place
    suite = {"debian": "sid", "ubuntu": "noble"}.get(own)
    if not suite:
        raise Unavailable("there are no keys of %s here" % distribution)
    beside = folder / "keys"
    beside.mkdir()
    Apt(beside, own, suite).unpack([package], beside / "root")
    for place in places:
        if (beside / "root" / str(place)[1:]).is_file():
            return beside / "root" / str(place)[1:]
    raise Unavailable("%s holds no keys" % package)


def own_mirror():
    """(distribution, URIs, keys) of this machine: the entry of its apt that has its own release."""
    try:
        told = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    except OSError:
        return "", "", ""
    distribution, release = told.get("ID", "").strip('"'), told.get("VERSION_CODENAME", "").strip('"')
    common = "/usr/share/keyrings/%s.gpg" % KEYS.get(distribution, ("", ""))[1]
    for file in sorted(Path("/etc/apt").glob("sources.list.d/*.sources")):
        for entry in re.split(r"\n\s*\n", file.read_text()):
            fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.+)$", entry, re.M))
            if "main" in fields.get("Components", "").split() and release in fields.get("Suites", "").split():
                keys = fields.get("Signed-By", "")
                return distribution, fields.get("URIs", ""), keys if Path(keys).is_file() else common
    for file in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt").glob("sources.list.d/*.list"))]:
        with contextlib.suppress(OSError):
            for uri, suite, components in re.findall(r"^deb\s+(?:\[.*?\]\s+)?(\S+)\s+(\S+)\s+(.*)$", file.read_text(), re.M):
                if suite == release and "main" in components.split():
                    return distribution, uri, common
    return distribution, "", ""
