# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The exceptions of the Python client, as a tree, with the codes of `errors.json` that each of them is for."""

import re
import textwrap

from writers import MADE_BY

# name, bases, codes, text: two digits stand for the codes of their hundred that no other exception has
EXCEPTIONS = [
    ("CallError", "OutriderError", (), "The service refused the call, or could not finish it."),
    ("ExchangeError", "OutriderError", (), "The HTTP exchange failed; ``.response`` holds all that arrived."),
    ("TransportError", "ExchangeError", (14,), "The network failed."),
    ("RequestTimeout", "TransportError, TimeoutError", (1405,),
     'A timeout; ``data["phase"]`` names the phase, for timeouts of the service.'),
    ("InvalidCall", "CallError, ValueError", (-32700, -32600, -32602),
     "A parameter is wrong, or the call is unreadable; ``.pointer`` names the member of the protocol. The message names"
     " the parameter of this client."),
    ("UnknownMethod", "InvalidCall", (-32601,),
     'This service has no method of that name; ``data["near"]`` may hold similar names.'),
    ("HandleError", "CallError", (-32012, -32013),
     "The handle is not known any more, or is in the wrong state for this."),
    ("LimitError", "CallError", (-32010, -32011, -32016),
     "A limit was met: message length, calls in flight, or a client that reads too slowly."),
    ("TokenError", "CallError", (-32018,),
     "A credential has no token; ``.needs_login`` says whether a person must help."),
    ("NotPermitted", "CallError, PermissionError", (-32014,), "The handle belongs to another connection."),
    ("FeatureMissing", "CallError", (-32015,), "``require`` named a feature that this service does not have."),
    ("CallCancelled", "CallError", (-32800,), "The call was ended by ``$/cancelRequest``."),
    ("CallbackError", "CallError", (-32020, -32021, -32022),
     "A callback got no reply in time, failed, or its program has gone."),
    ("ServerStopping", "CallError", (-32017,), "The service is shutting down and takes no new calls."),
    ("ServerError", "CallError", (-32603,),
     'A bug in the service (``data["report"]`` tells more), or a code that this client does not know.'),
    ("RequestError", "ExchangeError, ValueError", (11, 12, 1410, 1413),
     "The request could not be built: bad URL, unusable body, parameters that cannot be encoded."),
    ("InterceptionError", "ExchangeError", (13,), "An adapter, a retrier, or the renewal of a credential failed."),
    ("ConnectError", "TransportError", (1402, 1403, 1412),
     "No connection could be made: refused, unreachable, or offline."),
    ("NameNotFound", "ConnectError", (1401,), "The host's name has no address."),
    ("ConnectionLost", "TransportError", (1404,),
     "The connection ended before the response; ``response.content`` holds what had arrived."),
    ("TLSError", "TransportError", (1406, 1417, 1418),
     "No secure connection could be made: the handshake failed, or the client certificate is missing or unusable."),
    ("TrustError", "TLSError", (15,), "The server's certificate was refused."),
    ("TooManyRedirects", "TransportError", (1407,), "More redirects than allowed, or a circle of them."),
    ("MalformedResponse", "TransportError", (1408,), "The server sent invalid HTTP."),
    ("ProxyError", "TransportError", (1409, 1415, 1416),
     'The proxy refused or failed; ``data["data"]["proxy"]`` says which.'),
    ("ResponseTooLarge", "TransportError", (1411,), "The response, or its header, is over a limit."),
    ("ValidationError", "ExchangeError", (16,), "The response fails ``validate``."),
    ("StatusError", "ValidationError", (1600,),
     "The status says that the request failed. ``response.status`` is the number."),
    ("SerializationError", "ExchangeError", (17,), "The body does not have the form of ``serialize``."),
    ("SchemaError", "SerializationError", (1705,),
     "The body does not fit the ``schema`` of ``serialize``. ``instance_pointer`` says where in the body."),
    ("FileError", "ExchangeError", (18,), "A downloaded file could not be moved or written, or has a wrong digest."),
    ("Cancelled", "ExchangeError", (19,), "The request was cancelled, or its session was closed."),
    ("StreamError", "ExchangeError", (20,), "A WebSocket, event stream or TCP stream failed."),
    ("RouterError", "ExchangeError", (21,), "An endpoint or a path parameter is missing."),
    ("ReplayError", "ExchangeError", (22,),
     "A cassette or the stubs of a test have nothing for the request, or the cassette cannot be used."),
    ("ProtocolError", "OutriderError", (),
     "The two sides disagree about JSON-RPC itself; the connection is not usable any more."),
    ("ServerGone", "OutriderError, ConnectionError", (), "The connection to the service ended."),
    ("ServerNotFound", "ServerGone", (),
     "No service listens, and none could be started. The message lists the attempts."),
]  # fmt: skip
ROOT = "OutriderError"
# in errors.py of the client: exceptions with members, and their bases
HAND_WRITTEN = [
    "CallError", "ExchangeError", ROOT, "ProtocolError", "RequestTimeout", "ServerGone", "TokenError", "TransportError",
]  # fmt: skip
HEAD = """\
# %s
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
\"\"\"Everything that can go wrong, as one tree.

::

%s

Every exception has ``code``, ``kind``, ``reason``, ``data`` and ``retryable``; programs branch on the class or the
code, never on the message.
\"\"\"

from __future__ import annotations

from .errors import (
    BY_CODE,
%s
)
from .errors import class_for as class_for, from_error as from_error, from_failure as from_failure
"""
TABLE = """\

BY_CODE.update({
%s
})  # fmt: skip
"""


def codes_of(sources):
    """The codes of each exception, with their entries in `errors.json`."""
    by_code = {code: name for name, _, codes, _ in EXCEPTIONS for code in codes}
    found = {name: [] for name, _, _, _ in EXCEPTIONS}
    for one in sources["errors"]["errors"] + sources["errors"]["failures"]:
        name = by_code.get(one["code"]) or by_code.get(one["code"] // 100)
        if name:
            found[name].append(one)
    return found


def names(sources):
    """The exception of each code."""
    return {one["code"]: name for name, found in codes_of(sources).items() for one in found}


def unraised(sources):
    """Every code has an exception, and every exception with codes a code of the contract."""
    found = names(sources)
    for one in sources["errors"]["errors"] + sources["errors"]["failures"]:
        if one["code"] not in found:
            yield "errors.json: %d: no exception of schema/raised.py has this code" % one["code"]
    for name, _, codes, _ in EXCEPTIONS:
        if codes and name not in found.values():
            yield "schema/raised.py: %s: errors.json has none of its codes" % name


def drawn(name, margin=""):
    """The tree below an exception, line by line."""
    bases = {one[0]: one[1].split(", ")[0] for one in EXCEPTIONS}
    below = [one for one in EXCEPTIONS if bases[one[0]] == name]
    width = 26 - len(margin)
    for one in below:
        is_last = one is below[-1]
        sentence = re.split(r"\.(?: |$)", one[3])[0]
        also = "".join(" (also a %s)" % base for base in one[1].split(", ")[1:])
        text = sentence[0].lower() + sentence[1:] + also
        first, *rest = textwrap.wrap(text, 114 - len(margin) - width - 4)
        bar = margin + (" " if is_last else "│") + "   "
        under = bar + ("│" if one[0] in bases.values() else " ")
        yield "%s%s── %s %s" % (margin, "└" if is_last else "├", one[0].ljust(width), first)
        yield from (under.ljust(len(margin) + width + 5) + line for line in rest)
        yield from drawn(one[0], bar)


def listed(found):
    """The codes of an exception for its docstring, line by line."""
    for one in found:
        meaning = re.sub("`([^`]+)`", r"``\1``", one["meaning"]).replace("\\", "\\\\")
        code = "    ``%d``  " % one["code"]
        told = "%s: %s" % (one.get("reason") or one.get("kind") or one["name"], meaning)
        yield from textwrap.wrap(told, 120, initial_indent=code, subsequent_indent=" " * len(code))


def python(sources):
    """The module of all exceptions that are not written by hand."""
    tree = "\n".join("    " + line.rstrip() for line in [ROOT, *drawn(ROOT)])
    imported = ["    %s as %s," % (name, name) for name in HAND_WRITTEN]
    lines = [HEAD % (MADE_BY, tree, "\n".join(imported))]
    codes_by_name = codes_of(sources)
    for name, bases, _, text in EXCEPTIONS:
        if name not in HAND_WRITTEN:
            lines += ["", "class %s(%s):" % (name, bases)]
            codes = list(listed(codes_by_name[name]))
            text = '"""' + text if codes else '"""%s"""' % text
            lines += textwrap.wrap(text, 120, initial_indent="    ", subsequent_indent="    ")
            lines += ["", *codes, '    """', ""] if codes else [""]
    lines.append(TABLE % "\n".join("    %d: %s," % (code, one[0]) for one in EXCEPTIONS for code in one[2]))
    return "\n".join(lines).rstrip("\n") + "\n"
