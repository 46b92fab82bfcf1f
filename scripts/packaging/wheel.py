# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The Python wheel that carries the binary: `pip install` gives the client, the commands and the service.

The libraries that not every Linux has are beside the binary, in lib/outrider of the environment.
"""

import base64
import hashlib
import platform
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from . import ROOT, SUMMARY, licences, tree, version

# what the rules for wheels of Linux (PEP 600) take for granted
EVERYWHERE = ("linux-vdso", "ld-linux", "libc.so", "libm.so", "libz.so", "libstdc++.so", "libgcc_s.so", "libpthread.so")
CLIENT = ROOT / "clients/python"


def build(binary: Path, target: Path) -> Path:
    """Makes the wheel in a directory; gives its path."""
    staging = target / "wheel"
    shutil.rmtree(staging, ignore_errors=True)
    name = f"outrider-{version()}"
    data = staging / f"{name}.data"
    tree.install(binary, data / "data", "%h/.local/bin")
    # a unit needs a place that does not move, which an environment is not
    shutil.rmtree(data / "data/share/systemd")
    (data / "data/bin/outrider").unlink()
    (data / "data/bin").rmdir()
    carried = data / "scripts/outrider"
    tree.strip(binary, carried)
    carried.chmod(0o755)
    information = staging / f"{name}.dist-info"
    libraries(binary, data / "data/lib/outrider", information / "licenses")
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib/outrider", carried], check=True)
    package = CLIENT / "src/outrider"
    for source in sorted(package.rglob("*")):
        if source.suffix in (".py", ".pyi") or source.name == "py.typed":
            tree.place(source, staging / "outrider" / source.relative_to(package))
    tag = f"py3-none-{platform_tag(binary)}"
    metadata(information, tag)
    return pack(staging, target / f"{name}-{tag}.whl", f"{name}.dist-info/RECORD")


def libraries(binary: Path, directory: Path, texts: Path) -> None:
    """Copies the libraries that not every Linux has, and their licences."""
    listed = subprocess.run(["ldd", binary], capture_output=True, check=True, text=True).stdout
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE):
        if not name.startswith(EVERYWHERE):
            tree.place(Path(path).resolve(), directory / name, mode=0o755)
            found = licences.of_library(Path(path).resolve())
            if found is None:
                raise FileNotFoundError(f"no Debian package tells the licence of {path}")
            tree.write(texts / f"{found[0]}.txt", found[1])


def platform_tag(binary: Path) -> str:
    """After the newest version of glibc whose symbols the binary uses."""
    symbols = subprocess.run(["objdump", "-T", binary], capture_output=True, check=True, text=True).stdout
    versions = {tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}
    major, minor = max(versions)
    return f"manylinux_{major}_{minor}_{platform.machine()}"


def metadata(directory: Path, tag: str) -> None:
    fields = [
        "Metadata-Version: 2.1", "Name: outrider", f"Version: {version()}", f"Summary: {SUMMARY}",
        "License: Apache-2.0", "Requires-Python: >=3.9", "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Typing :: Typed", "Description-Content-Type: text/markdown",
    ]  # fmt: skip
    project = (CLIENT / "pyproject.toml").read_text()
    extras = re.search(r"\[project\.optional-dependencies\]\n((?:.+\n)+)", project).group(1)
    for extra, wanted in re.findall(r'^(\w+) = \["([^"]+)"\]$', extras, re.MULTILINE):
        fields += [f"Provides-Extra: {extra}", f"Requires-Dist: {wanted}; extra == '{extra}'"]
    tree.write(directory / "METADATA", "\n".join(fields) + "\n\n" + (CLIENT / "README.md").read_text())
    tree.write(directory / "WHEEL", f"Wheel-Version: 1.0\nGenerator: outrider\nRoot-Is-Purelib: false\nTag: {tag}\n")
    tree.place(ROOT / "LICENSE", directory / "licenses/LICENSE")
    tree.write(directory / "licenses/NOTICES", licences.notices())


def pack(staging: Path, wheel: Path, record: str) -> Path:
    lines = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(each for each in staging.rglob("*") if each.is_file()):
            name, content = str(path.relative_to(staging)), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}\n")
            add(archive, name, content, path.stat().st_mode)
        add(archive, record, "".join([*lines, f"{record},,\n"]).encode(), 0o100644)
    return wheel


def add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int) -> None:
    # the time of no build, so that the same sources give the same wheel
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
