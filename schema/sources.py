# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Reads what people wrote: the JSON files of this directory, and the transcripts."""

import json
import pathlib

import transcript

ROOT = pathlib.Path(__file__).resolve().parent


class Refused(Exception):
    """The sources break a rule of the contract."""


def strict(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise Refused("a name occurs twice in one object: %s" % ", ".join(sorted(names)))
    return dict(pairs)


def load(path):
    try:
        return json.loads(path.read_text("utf-8"), object_pairs_hook=strict)
    except (ValueError, Refused) as error:
        raise Refused("%s: %s" % (path.relative_to(ROOT.parent), error)) from None


def folder(name):
    """All files of a folder by name, each checked to be called what it says."""
    found = {}
    for path in sorted((ROOT / name).glob("*.json")):
        source = load(path)
        if source.get("name") != path.stem:
            raise Refused("%s/%s: its name must be %s" % (name, path.name, path.stem))
        found[path.stem] = source
    return found


def likened(types):
    """Types that say `like` get the members of another, but for those in `without`; its examples before their own."""
    for node in types.values():
        if "like" not in node:
            continue
        model, without = types[node.pop("like")], set(node.pop("without", []))
        kept = {name: item for name, item in model["properties"].items() if name not in without}
        node["properties"] = dict(kept, **node.get("properties", {}))
        required = [name for name in model.get("required", []) if name not in without]
        node["required"] = required + node.get("required", [])
        own = node.get("example", {})

        def example(one, without=without, own=own):
            return dict({name: value for name, value in one.items() if name not in without}, **own)

        node["example"] = example(model["example"])
        examples = [example(one) for one in model.get("examples", [])] + node.get("examples", [])
        if examples:
            node["examples"] = examples
    return types


def transcripts():
    """All transcripts by method, cases in alphabetical order."""
    found = {}
    for path in sorted((ROOT / "transcripts").glob("*/*.io")):
        text = path.read_text("utf-8")
        try:
            steps = transcript.parse(text)
        except ValueError as error:
            raise Refused("transcripts/%s/%s: %s" % (path.parent.name, path.name, error)) from None
        found.setdefault(path.parent.name, []).append({"case": path.stem, "text": text, "steps": steps})
    return found


def read():
    """Everything that people wrote."""
    methods, events = folder("methods"), folder("events")
    by_direction = {way: [e for e in events.values() if e.get("direction") == way] for way in ("event", "callback")}
    sources = {
        "methods": list(methods.values()),
        "events": by_direction["event"],
        "callbacks": by_direction["callback"],
        "types": likened(folder("types")),
        "info": load(ROOT / "info.json"),
        "errors": load(ROOT / "errors.json"),
        "settings": load(ROOT / "settings.json"),
        "topics": load(ROOT / "topics.json")["topics"],
        "transcripts": transcripts(),
    }
    if sum(map(len, by_direction.values())) != len(events):
        raise Refused("events/: `direction` is `event` or `callback`")
    return dict(sources, errorExamples=list(transcript.error_examples(sources["transcripts"])))
