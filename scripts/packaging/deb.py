# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The Debian package: binary, units of systemd --user, manual pages and completions."""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
from email.utils import formatdate
from pathlib import Path

from . import ROOT, SUMMARY, licences, tree, version

# those who build a package for others give their names, as in all tools of Debian
NAME = os.environ.get("DEBFULLNAME", "The Outrider authors")
MAINTAINER = f"{NAME} <{os.environ.get('DEBEMAIL', 'outrider@example.org')}>"
# 6 makes the package 2 MB smaller, and takes five times as long
LEVEL = f"-z{os.environ.get('OUTRIDER_DEB_LEVEL', '6')}"
DESCRIPTION = """\
 Outrider makes HTTP requests for all programs of a user and speaks JSON-RPC 2.0
 on a Unix socket or on standard input and output. The programs share its
 connections, OAuth 2 tokens, cookies and caches. Retries, resumable downloads,
 uploads, event streams, WebSockets and trust policies are implemented once.
 .
 This package contains the service, its commands and units for systemd --user.
"""


def build(binary: Path, target: Path, epoch: int) -> Path:
    """Makes the package in a directory; gives its path."""
    architecture = output("dpkg", "--print-architecture")
    staging = target / "deb"
    shutil.rmtree(staging, ignore_errors=True)
    usr = staging / "usr"
    tree.install(binary, usr, "/usr/bin", units="lib/systemd/user")
    shutil.move(usr / "share/zsh/site-functions", usr / "share/zsh/vendor-completions")
    tree.strip(binary, usr / "bin/outrider")
    (usr / "bin/outrider").chmod(0o755)
    documents(usr / "share/doc/outrider", epoch)
    for page in (usr / "share/man/man1").iterdir():
        compress(page)
    control(staging, architecture)
    for path in sorted(staging.rglob("*")):
        os.utime(path, (epoch, epoch), follow_symlinks=False)
        if path.is_dir():
            path.chmod(0o755)
    package = target / f"outrider_{version()}-1_{architecture}.deb"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", LEVEL, "--build", staging, package]
    subprocess.run(command, env=environment, check=True)
    return package


def documents(directory: Path, epoch: int) -> None:
    # Debian has the text of the licence for all packages
    (directory / "LICENSE").unlink()
    tree.write(directory / "copyright", copyright_of_all())
    tree.write(
        directory / "changelog.Debian",
        f"outrider ({version()}-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n"
        f" -- {MAINTAINER}  {formatdate(epoch)}\n",
    )
    tree.place(ROOT / "CHANGELOG.md", directory / "changelog")
    for name in ("changelog", "changelog.Debian", "NOTICES"):
        compress(directory / name)


def copyright_of_all() -> str:
    """In the format of Debian, with all that is linked into the binary."""
    parts = "".join(f"\n  {part} ({held}): {licence}" for part, held, licence in licences.linked())
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: outrider\n"
        f"Comment:\n The binary contains, besides Outrider itself:{parts}\n"
        " Their licences and notices are in /usr/share/doc/outrider/NOTICES.gz.\n\n"
        "Files: *\nCopyright: 2026 The Outrider authors\nLicense: Apache-2.0\n\n"
        "License: Apache-2.0\n On Debian systems, the full text is in /usr/share/common-licenses/Apache-2.0.\n"
    )


def control(staging: Path, architecture: str) -> None:
    files = [path for path in staging.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) // 1024
    fields = {
        "Package": "outrider", "Version": f"{version()}-1", "Architecture": architecture, "Maintainer": MAINTAINER,
        "Installed-Size": str(size), "Depends": dependencies(staging), "Recommends": "ca-certificates",
        "Section": "web", "Priority": "optional", "Description": SUMMARY,
    }  # fmt: skip
    text = "".join(f"{name}: {value}\n" for name, value in fields.items()) + DESCRIPTION
    tree.write(staging / "DEBIAN/control", text)
    sums = (f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(staging)}\n" for path in sorted(files))
    tree.write(staging / "DEBIAN/md5sums", "".join(sums))


def dependencies(staging: Path) -> str:
    """The packages of the libraries, with the versions whose symbols are used."""
    source = staging.parent / "shlibdeps"
    tree.write(source / "debian/control", "Source: outrider\n\nPackage: outrider\nArchitecture: any\n")
    command = ["dpkg-shlibdeps", "-O", str((staging / "usr/bin/outrider").resolve())]
    said = subprocess.run(command, cwd=source, capture_output=True, check=True, text=True).stdout
    return re.search(r"^shlibs:Depends=(.*)$", said, re.MULTILINE).group(1)


def compress(path: Path) -> None:
    with open(f"{path}.gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(path.read_bytes())
    path.unlink()


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
