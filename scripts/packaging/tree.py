# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The files of an installation below a prefix."""

import shutil
import subprocess
from pathlib import Path

from . import ROOT, fish, licences, manual

COMPLETIONS = {
    "bash": "share/bash-completion/completions/outrider",
    "zsh": "share/zsh/site-functions/_outrider",
    "fish": "share/fish/vendor_completions.d/outrider.fish",
}


def install(binary: Path, prefix: Path, bin_directory: str, units: str = "share/systemd/user") -> None:
    """Puts the binary, its manual pages, completions, units and licences below a prefix.

    :param bin_directory: where the binary will be, for the units.
    """
    place(binary, prefix / "bin/outrider", mode=0o755)
    for name, page in manual.pages(binary).items():
        write(prefix / "share/man/man1" / name, page)
    for shell, path in COMPLETIONS.items():
        write(prefix / path, completion(binary, shell))
    for unit in ("outrider.service", "outrider.socket"):
        text = (ROOT / "scripts/systemd" / unit).read_text()
        write(prefix / units / unit, text.replace("@BIN@/outrider", word(f"{bin_directory}/outrider")))
    documents = prefix / "share/doc/outrider"
    for page in ("LICENSE", "SECURITY.md", "docs/internals/licenses.md"):
        place(ROOT / page, documents / Path(page).name)
    write(documents / "NOTICES", licences.notices())


def uninstall(prefix: Path) -> None:
    """Removes what `install` puts below a prefix; shared directories stay."""
    names = ["bin/outrider", *COMPLETIONS.values()]
    names += [f"share/systemd/user/outrider.{kind}" for kind in ("service", "socket")]
    pages = prefix / "share/man/man1"
    for file in [*(prefix / name for name in names), pages / "outrider.1", *pages.glob("outrider-*.1")]:
        file.unlink(missing_ok=True)
    if (prefix / "share/doc/outrider").is_dir():
        shutil.rmtree(prefix / "share/doc/outrider")


def word(path: str) -> str:
    """A path as a word of a unit: in quotes if it has a space (systemd.syntax(7))."""
    return f'"{path}"' if " " in path else path


def completion(binary: Path, shell: str) -> str:
    if shell == "fish":
        return fish.completions(binary)
    command = [binary, "--generate-completion-script", shell]
    script = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    # shells read it, and nothing runs it
    return script.partition("\n")[2] if script.startswith("#!") else script


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)


def place(source: Path, target: Path, mode: int = 0o644) -> None:
    """Copies, and replaces what is there in one step: a running binary cannot be written over."""
    target.parent.mkdir(parents=True, exist_ok=True)
    provisional = target.with_name(f".{target.name}.new")
    shutil.copyfile(source, provisional)
    provisional.chmod(mode)
    provisional.replace(target)


def strip(binary: Path, target: Path) -> None:
    """A copy without the symbols that only debuggers and backtraces read."""
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "--strip-unneeded", "-o", target, binary], check=True)
