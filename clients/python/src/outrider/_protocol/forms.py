# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: ``data=``, ``json=``, ``file=`` and ``parameters=`` become values of the service, and ``files=`` with fields
the parts of a multipart form. Loaded with the first of them."""

from __future__ import annotations

from .arguments import absolute, each_of, header_list, member, named, pairs_of, path_of, text_of
from .exceptions import InvalidCall
from .frames import encode, in_base64
from .hints import Any, Callable, Mapping
from .places import fault, is_plain


def _body_of(form: Callable[[Any], dict[str, Any]]) -> Callable[[dict[str, Any], Any], None]:
    def put(spec: dict[str, Any], value: Any) -> None:
        made = form(value)
        if len(spec.setdefault("body", made)) and spec["body"] is not made:
            raise TypeError("give only one of json, data and file, or data and files")

    return put


def _json(value: Any) -> dict[str, Any]:
    # the service reads integers of 64 bits, and 128 levels; it sends text as it is
    text = json_text(value)
    return {"json": value} if text is None else {"text": text, "contentType": "application/json"}


def _path(value: Any) -> dict[str, Any]:
    return {"file": absolute(value if hasattr(value, "__fspath__") else text_of(value, "file"), "file")}


class Fed:
    """The body comes from a stream of the service; ``length`` is its number of bytes, if known."""

    def __init__(self, stream: str, length: int | None = None) -> None:
        self.stream = stream
        self.length = length


class Form(list):  # type: ignore[type-arg]
    """The parts of ``files=`` and ``data=``. They are made once, for that reads files. The bytes of a part are put into
    base64 when the part is written."""

    @property
    def length(self) -> int:
        """The characters and bytes of its parts in memory."""
        return sum(len(part.get("base64") or part.get("text") or "") for part in self)

    def written(self) -> list[dict[str, Any]]:
        """The parts for the service."""
        return [{**part, "base64": in_base64(part["base64"])} if "base64" in part else part for part in self]


def with_form(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a request with ``files=``, with their parts in place of both. Without any file there is no form,
    as in requests."""
    files = options["files"]
    if isinstance(files, Form):
        return dict(options)
    if isinstance(files, (dict, list, tuple)) and not files:
        return {**options, "files": None}
    return {**options, "data": None, "files": Form(parts(options.get("data"), files))}


def body(value: Any) -> dict[str, Any]:
    """The body of ``data``: text, bytes, an open file, or the fields of a form."""
    if isinstance(value, Fed):
        return {"stream": value.stream} if value.length is None else {"stream": value.stream, "length": value.length}
    if hasattr(value, "read"):
        path = path_of(value)
        if path is not None:
            return {"file": path}
        value = value.read()
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, (bytes, bytearray, memoryview)):
        # of a view that leaves bytes out, too
        return {"base64": in_base64(bytes(value))}
    if hasattr(value, "__fspath__"):
        raise TypeError("data must not be a path: give file=, which the service reads")
    in_pieces = hasattr(value, "__aiter__")
    if hasattr(value, "__next__"):
        # the first item decides, for there may be no end of them
        first = next(value, ())
        in_pieces = not isinstance(first, (tuple, list))
        value = [] if first == () or in_pieces else [first, *value]
    if in_pieces:
        raise TypeError(
            "data comes piece by piece only in a request that is waited for, without progress= (the iterator knows how"
            " far it is): join the pieces, or give file="
        )
    return {"form": named(value, "data")}


def json_text(value: Any) -> str | None:
    """The JSON text of a value that is JSON, but cannot be read within a message; ``None`` for all other values."""
    if is_plain((value,)) or fault(value) is None:
        return None
    try:
        return encode(value, as_text=True)
    except InvalidCall:
        return None


def form_text(fields: object) -> str | None:
    """The text of a body with the fields of ``data``, as the service writes them (WHATWG URL section 5.2); ``None`` for
    values that the service refuses."""
    from urllib.parse import quote_plus

    given = named(fields, "data")
    items = given.items() if isinstance(given, dict) else [(one["name"], one["value"]) for one in given]
    pairs: list[str] = []
    for name, value in items:
        for one in value if isinstance(value, list) else () if value is None else (value,):
            if not isinstance(one, (str, int, float)):
                return None
            text = str(int(one) if isinstance(one, bool) else one)
            pairs.append(f"{quote_plus(name, safe='*')}={quote_plus(text, safe='*')}".replace("~", "%7E"))
    return "&".join(pairs)


def parts(fields: object, files: object) -> list[dict[str, Any]]:
    """The fields of ``data``, then the files, each a part, in the given order."""
    found: list[dict[str, Any]] = []
    if fields is not None:
        for name, value in pairs_of(fields, "data beside files"):
            for one in value if isinstance(value, list) else [value]:
                if one is not None:
                    found.append({"name": name, **_content(one, f"data[{name!r}]")})
    for key, file in each_of(files, "files", "file"):
        if file is not None:
            found.append(_file(text_of(key, "a name in files"), file))
    return found


def _file(name: str, value: Any) -> dict[str, Any]:
    """A file: a path, an open file, bytes, text, or a tuple with more details."""
    part: dict[str, Any] = {"name": name}
    filename, kind, headers = None, None, None
    if isinstance(value, (tuple, list)):
        if not 2 <= len(value) <= 4:
            raise TypeError(f"files[{name!r}] must be (filename, content[, type[, headers]])")
        filename, value, kind, headers = (*value, None, None)[:4]
        bare = filename is None
    else:
        bare = False
    part.update(_content(value, f"files[{name!r}]"))
    if filename is None and not bare:
        filename = _name_of(value, name)
    if filename is not None and not ("file" in part and part["file"].endswith("/" + filename)):
        part["filename"] = text_of(filename, f"the file name in files[{name!r}]")
    if kind is not None:
        part["mimeType"] = text_of(kind, f"the type in files[{name!r}]")
    if headers is not None:
        part["headers"] = [{"name": key, "value": one} for key, one in header_list(headers, f"files[{name!r}]")]
    return part


def _content(value: Any, place: str) -> dict[str, Any]:
    if hasattr(value, "__fspath__"):
        return {"file": absolute(value, f"the path in {place}")}
    if hasattr(value, "read"):
        path = path_of(value)
        if path is not None:
            return {"file": path}
        value = value.read()
    if isinstance(value, bool):
        return {"text": "1" if value else "0"}
    if isinstance(value, (str, int, float)):
        return {"text": str(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": bytes(value)}
    raise TypeError(f"{place} must be a path, an open file, bytes or text, not {type(value).__name__}")


def _name_of(value: Any, name: str) -> str:
    """The file name that requests gives an unnamed file: from its path, or from its field."""
    import os

    path = value.__fspath__() if hasattr(value, "__fspath__") else getattr(value, "name", None)
    return os.path.basename(path) if isinstance(path, str) and path[:1] != "<" else name


def tagged(value: Any) -> Any:
    """A value for ``parameters``: values without a form in JSON become tagged values."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return {"$decimal": str(int(value))}
    if isinstance(value, (str, int, float)):
        return value
    if hasattr(value, "items"):
        return {str(key): tagged(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [tagged(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$data": in_base64(value)}
    if hasattr(value, "timestamp"):
        return {"$date": value.timestamp()}
    if hasattr(value, "as_tuple"):
        return {"$decimal": str(value)}
    return value


WRITERS = {
    "json": _body_of(_json), "data": _body_of(body), "file": _body_of(_path),
    "files": _body_of(lambda value: {"multipart": value.written()}), "parameters": member("parameters", tagged),
}  # fmt: skip
"""The options of a request with its body."""
