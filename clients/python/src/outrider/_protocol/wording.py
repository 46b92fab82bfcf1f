# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: messages of the service, with the parameters of this client in place of the members of the protocol. Loaded
with the first error."""

from __future__ import annotations

from .hints import Any, Mapping

_NAMES = {"query": "params", "trust": "verify", "httpVersion": "http2", "maxEventBytes": "max_event"}
_MEMBERS = {
    "body": {"form": "data", "text": "data", "base64": "data", "stream": "data", "json": "json", "file": "file",
             "multipart": "files", "contentType": "content_type"},
    "tls": {"roots": "verify", "identity": "cert"},
    "destination": {"path": "path", "directory": "directory", "filename": "filename", "replace": "replace",
                    "createDirectories": "create_directories"},
}  # fmt: skip
OPTIONS = (
    "allow_get_body", "body_to", "connect_to", "content_type", "create_directories", "default_headers",
    "expect_continue", "expected_size", "http2", "if_range", "max_body", "max_event", "max_inline", "max_message",
    "rate_limit", "start_immediately", "verify_digest", "when_changed",
)  # fmt: skip
"""The options whose members have other names."""
_VERSIONS = {
    'auto" or "1.1': "http2=True or http2=False", "auto": "http2=True", "1.1": "http2=False", "2": "http2='prior'",
}  # fmt: skip
_ADVICE = {"(give tls.identity)": "(give cert)", "(tls.roots, --cacert in a shell, or": "(verify, or"}


def sentence(error: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The message of an error or a failure; ``data`` has the pointer to the parameter, if there is one."""
    message, pointer = str(error.get("message", "")), data.get("pointer")
    for version, given in _VERSIONS.items():
        message = message.replace(f'httpVersion "{version}"', given)
    for said, given in _ADVICE.items():
        message = message.replace(said, given)
    if isinstance(pointer, str) and pointer[:1] == "/":
        first, _, rest = pointer[1:].partition("/")
        second = rest.partition("/")[0]
        member, name = first, _NAMES.get(first) or _snake(first)
        if second in _MEMBERS.get(first, ()):
            member, name = f"{first}/{second}", _MEMBERS[first][second]
        for said in (member.replace("/", "."), f"/{member}"):
            if message.startswith(said) and not message[len(said) : len(said) + 1].isalnum():
                message = said[: -len(member)] + name + message[len(said) :]
    return " ".join([_word(word) for word in message.split(" ")])


def _word(word: str) -> str:
    """A word of a message, or the option of this client if the word is a member of the protocol."""
    bare = word.strip("(),;:.")
    if bare.isalpha() and not bare.islower():
        name = _NAMES.get(bare) or _snake(bare)
        if name in OPTIONS:
            return word.replace(bare, name)
    return word


def _snake(name: str) -> str:
    """``bodyTo`` in the form of Python: ``body_to``."""
    return "".join([f"_{letter.lower()}" if letter.isupper() else letter for letter in name])
