# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Manual pages, made of what the program tells about its commands: outrider(1), outrider-get(1), and so on."""

import json
import re
import subprocess
from pathlib import Path

from . import ROOT, version

EXIT_STATUS = """\
.SH EXIT STATUS
Most commands end with 0 after success, 1 after an error of the service, 2 after wrong usage, 3 where no service
answers, 4 after a timeout, 5 where the service went away, and 6 where it broke the protocol.
Each page lists further statuses.
"""


def pages(binary: Path) -> "dict[str, str]":
    """The pages by their file name."""
    dump = subprocess.run([binary, "--experimental-dump-help"], capture_output=True, check=True, text=True).stdout
    program = json.loads(dump)["command"]
    commands = [each for each in program["subcommands"] if each["shouldDisplay"] and each["commandName"] != "help"]
    names = ["outrider-" + each["commandName"] for each in commands]
    made = {"outrider.1": program_page(program, commands)}
    for name, command in zip(names, commands):
        made[f"{name}.1"] = command_page(name, command)
    return made


def title(name: str) -> str:
    return f'.\\" made by scripts/packaging/manual.py\n.TH {name.upper()} 1 "" "outrider {version()}" "Outrider"\n'


def program_page(program: dict, commands: "list[dict]") -> str:
    page = title("outrider") + ".SH NAME\noutrider \\- " + line(lowered(program["abstract"])) + "\n"
    page += ".SH SYNOPSIS\n.B outrider\n.I command\n.RI [ options ]\n.RI [ arguments ]\n"
    page += ".SH DESCRIPTION\n" + prose(program.get("discussion", "")) + ".SH COMMANDS\n"
    for each in commands:
        page += f".TP\n.BR outrider\\-{line(each['commandName'])} (1)\n{line(each['abstract'])}\n"
    page += settings() + EXIT_STATUS
    return page + (
        ".SH SEE ALSO\n.BR curl (1),\n.BR outrider\\-get (1),\n.BR outrider\\-serve (1),\n.BR outrider\\-login (1)\n"
    )


def settings() -> str:
    """The files and variables of schema/settings.json."""
    page = ".SH FILES\n.TP\n.I ~/.config/outrider/config.yaml\n"
    page += "The flags of\n.BR outrider\\-serve (1)\nwithout their dashes, one on each line.\n.SH ENVIRONMENT\n"
    for each in json.loads((ROOT / "schema/settings.json").read_text())["settings"]:
        if each["environment"]:
            page += f".TP\n.B {line(each['environment'])}\n{line(unlinked(each['description']))}\n"
    return page + (
        ".TP\n.B OUTRIDER_PEER_UID\nThe user whose service is called, by number. Default: the user of the command.\n")


def unlinked(text: str) -> str:
    """Markdown with the words of its links alone."""
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)


def command_page(name: str, command: dict) -> str:
    spoken = name.replace("-", " ", 1)
    page = title(name) + f".SH NAME\n{line(name)} \\- {line(lowered(command['abstract']))}\n.SH SYNOPSIS\n"
    parts = [each for each in command.get("subcommands", []) if each["shouldDisplay"] and each["commandName"] != "help"]
    if parts:
        page += f".B {line(spoken)}\n.I command\n.RI [ options ]\n"
    else:
        page += synopsis(spoken, command)
    if command.get("discussion"):
        page += ".SH DESCRIPTION\n" + prose(command["discussion"])
    for part in parts:
        page += f".SH {line((spoken + ' ' + part['commandName']).upper())}\n" + synopsis(
            f"{spoken} {part['commandName']}", part)
        page += f".PP\n{line(part['abstract'])}\n.PP\n" + prose(part.get("discussion", "")) + options(part)
    if not parts and (listed := options(command)):
        page += ".SH OPTIONS\n" + listed
    return page + ".SH SEE ALSO\n.BR outrider (1)\n"


def synopsis(spoken: str, command: dict) -> str:
    text = f".B {line(spoken)}\n.RI [ options ]\n"
    for argument in command.get("arguments", []):
        if argument["kind"] == "positional" and argument["shouldDisplay"]:
            name = line(argument["valueName"]) + (" \\&..." if argument["isRepeating"] else "")
            text += f".RI [ {name} ]\n" if argument["isOptional"] and " " not in name else f".I {name}\n"
    return text


def options(command: dict) -> str:
    text = ""
    for argument in command.get("arguments", []):
        if not argument["shouldDisplay"] or argument.get("preferredName", {}).get("name") in ("help", "version"):
            continue
        text += ".TP\n" + label(argument) + "\n" + line(argument.get("abstract") or "")
        if argument.get("allValues"):
            text += f" Values: {line(', '.join(argument['allValues']))}."
        if argument.get("defaultValue"):
            text += f" Default: {line(argument['defaultValue'])}."
        text += "\n"
    return text


def label(argument: dict) -> str:
    if argument["kind"] == "positional":
        return f".I {line(argument['valueName'])}"
    names = [("\\-" if each["kind"] == "short" else "\\-\\-") + line(each["name"]) for each in argument["names"]]
    value = f" \\fI{line(argument['valueName'])}\\fR" if argument["kind"] == "option" else ""
    return "\\fB" + "\\fR, \\fB".join(names) + "\\fR" + value


def prose(text: str) -> str:
    """Paragraphs; indented lines are examples, which keep their form."""
    made, is_example = "", False
    for each in text.strip("\n").split("\n"):
        indented = each.startswith("  ") or re.search(r"\S {3,}\S", each) is not None
        if indented != is_example and (each or not is_example):
            made += ".PP\n.EX\n" if indented else ".EE\n.PP\n"
            is_example = indented
        if each.strip():
            made += (line(each.rstrip()) if is_example else line(each)) + "\n"
        elif not is_example:
            made += ".PP\n"
    made += ".EE\n" if is_example else ""
    return re.sub(r"(\.PP\n)+(?=\.PP\n|\.SH|\.EE|\.EX|$)", "", made)


def lowered(abstract: str) -> str:
    """An abstract as NAME wants it."""
    first = abstract.rstrip(".")
    return first[0].lower() + first[1:] if first[1:2].islower() else first


def line(text: str) -> str:
    """Text in which no character means something to roff."""
    text = " ".join(text.split("\n")).replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("`", "\\(ga").replace("^", "\\(ha").replace("~", "\\(ti").replace("…", "\\&...")
    return "\\&" + text if text.startswith((".", "'")) else text
