# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Reads the text format of Prometheus, version 0.0.4, and refuses what its rules do not allow."""

import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
NUMBER = re.compile(r"[+-]Inf|NaN|[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


def parse(text):
    """Families by name: their type, help, and samples as (name, labels, value)."""
    assert text.endswith("\n") and "\r" not in text
    families, current = {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, _, said = line[7:].partition(" ")
            assert NAME.fullmatch(name) and said and name not in families, line
            current = families[name] = {"help": said, "type": None, "samples": []}
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert families[name] is current and current["type"] is None and not current["samples"], line
            current["type"] = kind
        else:
            current["samples"].append(sample(line, name, current["type"]))
    for name, family in families.items():
        check(name, family)
    return families


def sample(line, family, kind):
    name = NAME.match(line)[0]
    assert name in {family + suffix for suffix in SUFFIXES[kind]}, line
    rest, labels = line[len(name) :], {}
    if rest.startswith("{"):
        inside, rest = rest[1 : rest.rindex("}")], rest[rest.rindex("}") + 1 :]
        position = 0
        while position < len(inside):
            found = LABEL.match(inside, position)
            assert found and found[1] not in labels, line
            labels[found[1]] = found[2]
            position = found.end()
    assert rest.startswith(" ") and NUMBER.fullmatch(rest[1:]), line
    return name, labels, float(rest[1:])


def check(name, family):
    """What holds of a family as a whole."""
    samples = family["samples"]
    assert samples and family["type"], name
    keys = [(one, tuple(sorted(labels.items()))) for one, labels, _ in samples]
    assert len(set(keys)) == len(keys), f"{name}: a sample occurs twice"
    if family["type"] == "counter":
        assert name.endswith("_total") and all(value >= 0 for _, _, value in samples), name
    if family["type"] == "histogram":
        for labels in {tuple(sorted((k, v) for k, v in one[1].items() if k != "le")) for one in samples}:
            histogram(name, dict(labels), samples)


def histogram(name, labels, samples):
    own = [(one, each, value) for one, each, value in samples if {k: v for k, v in each.items() if k != "le"} == labels]
    buckets = [(float(each["le"].replace("Inf", "inf")), value) for one, each, value in own if one == name + "_bucket"]
    assert buckets == sorted(buckets) and [value for _, value in buckets] == sorted(value for _, value in buckets)
    assert buckets[-1][0] == float("inf"), name
    assert buckets[-1][1] == next(value for one, _, value in own if one == name + "_count"), name
    assert sum(one == name + "_sum" for one, _, _ in own) == 1, name


def value(families, name, **labels):
    """The one sample with these labels; 0 where there is none yet."""
    for family in families.values():
        for one, own, number in family["samples"]:
            if one == name and own == labels:
                return number
    return 0.0
