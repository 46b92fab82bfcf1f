# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Completions for fish. Those of ArgumentParser read the command line again for each of a thousand options, which takes
fish 3.6 more than ten seconds; here each condition compares two words, and fish evaluates equal conditions once."""

import json
import subprocess
from pathlib import Path

HELPERS = """\
# whether the command line begins with these commands
function __outrider_on
    set -l words (commandline -opc)[2..]
    set -l last (count $argv)
    test $last -eq 0; or test "$words[1..$last]" = "$argv"
end

# whether it begins with these commands, and no further one
function __outrider_at
    __outrider_on $argv; and test (count (commandline -opc)) -eq (math (count $argv) + 1)
end

complete -c outrider -f
"""


def completions(binary: Path) -> str:
    dump = subprocess.run([binary, "--experimental-dump-help"], capture_output=True, check=True, text=True).stdout
    command = json.loads(dump)["command"]
    return HELPERS + "".join(lines(command, []) + explained(command, ["help"]))


def explained(command: dict, path: "list[str]") -> "list[str]":
    """The commands that `help` explains."""
    made = []
    for part in command.get("subcommands", []):
        if part["shouldDisplay"] and part["commandName"] != "help":
            made.append(name(part, path))
            made += explained(part, [*path, part["commandName"]])
    return made


def lines(command: dict, path: "list[str]") -> "list[str]":
    """Those of a command and of the commands below."""
    made = []
    for argument in command.get("arguments", []):
        if argument["shouldDisplay"] and path:
            made.append(option(argument, path))
    for part in command.get("subcommands", []):
        if part["shouldDisplay"]:
            made.append(name(part, path))
            made += lines(part, [*path, part["commandName"]])
    return made


def name(part: dict, path: "list[str]") -> str:
    """The name of a command, behind the words of the path."""
    condition = " ".join(["__outrider_at", *path])
    words = ["-n", quoted(condition), "-a", part["commandName"], "-d", quoted(part.get("abstract") or "")]
    return f"complete -c outrider {' '.join(words)}\n"


def option(argument: dict, path: "list[str]") -> str:
    kind = argument.get("completionKind", {})
    if argument["kind"] == "positional" and not {"file", "directory", "shellCommand"} & kind.keys():
        return ""
    words = ["-n", quoted(" ".join(["__outrider_at" if "shellCommand" in kind else "__outrider_on", *path]))]
    for name in argument.get("names", []):
        words += ["-s" if name["kind"] == "short" else "-l", name["name"]]
    if argument.get("allValues"):
        words += ["-x", "-a", quoted(" ".join(argument["allValues"]))]
    elif "file" in kind:
        words.append("-r -F" if argument["kind"] == "option" else "-F")
    elif "shellCommand" in kind:
        words += ["-a", quoted(f"({kind['shellCommand']['command']})")]
    elif "directory" in kind:
        words += ["-x", "-a", quoted("(__fish_complete_directories)")]
    elif argument["kind"] == "option":
        words.append("-x")
    if argument["kind"] != "positional":
        words += ["-d", quoted((argument.get("abstract") or "").split("; ")[0].split(". ")[0])]
    return f"complete -c outrider {' '.join(words)}\n"


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").rstrip(".") + "'"
