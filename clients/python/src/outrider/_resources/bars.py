# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose progress is followed, and bars that show it: rich's or tqdm's if installed, else a plain line.

A bar is a context manager whose value is called with every :class:`Progress`. Loaded with the first such request.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

from .._protocol.arguments import LONGEST_MESSAGE
from .._protocol.hints import Any, Callable, Mapping, TextIO
from .._protocol.models import Progress, Watcher
from .._protocol.parameters import Built, Defaults, build


def watcher(wanted: Any, label: str) -> Watcher:
    """The display for a ``progress=``: ``True`` is a bar, a function is called, a context manager is entered."""
    if wanted is True:
        return bar(label)
    if hasattr(wanted, "__enter__") and hasattr(wanted, "__exit__"):
        entered: Watcher = wanted
        return entered
    if callable(wanted):
        return nullcontext(wanted)
    raise TypeError(f"progress must be True, a function or a context manager, not {type(wanted).__name__}")


def bar(label: str = "", file: TextIO | None = None) -> Watcher:
    """A bar on a terminal (standard error, unless another file is given); nothing where there is no terminal."""
    file = sys.stderr if file is None else file
    if file is None or not file.isatty():
        return nullcontext(lambda progress: None)
    for kind in (RichBar, TqdmBar):
        try:
            return kind(label, file)
        except ImportError:
            continue
    return LineBar(label, file)


class LineBar:
    """A line that is overwritten, and stays after the end of its body."""

    def __init__(self, label: str, file: TextIO) -> None:
        self._label, self._file = label, file
        self._drawn = False

    def __enter__(self) -> Callable[[Progress], object]:
        return self.show

    def show(self, progress: Progress) -> None:
        """Draws the line."""
        from shutil import get_terminal_size

        text = line(progress, get_terminal_size().columns - 1, self._label)
        self._file.write(f"\r{text}\x1b[K" + "\n" * progress.done)
        self._file.flush()
        self._drawn = not progress.done

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._file.write("\n")
            self._file.flush()


class RichBar:
    """A bar of rich's."""

    def __init__(self, label: str, file: TextIO) -> None:
        from importlib import import_module

        rich: Any = import_module("rich.progress")
        console = import_module("rich.console").Console(file=file)
        self._progress: Any = rich.Progress(
            rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TaskProgressColumn(),
            rich.DownloadColumn(), rich.TransferSpeedColumn(), rich.TimeRemainingColumn(), console=console,
        )  # fmt: skip
        self._label = label
        self._task: Any = None
        self._sending: tuple[str, int, int] | None = None

    def __enter__(self) -> Callable[[Progress], object]:
        self._progress.start()
        return self.show

    def show(self, progress: Progress) -> None:
        """Draws a bar for each body, which begins again with another sending."""
        if self._sending != progress.sending:
            again = self._sending is not None and self._sending[0] == progress.direction
            if again:
                self._progress.reset(self._task)
            else:
                self._task = self._progress.add_task(f"{arrow(progress)} {self._label}", total=None)
            self._sending = progress.sending
        self._progress.update(self._task, completed=progress.completed, total=progress.total)

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


class TqdmBar:
    """A bar of tqdm's."""

    def __init__(self, label: str, file: TextIO) -> None:
        from importlib import import_module

        self._make: Any = import_module("tqdm").tqdm
        self._label, self._file = label, file
        self._bar: Any = None
        self._sending: object = None

    def __enter__(self) -> Callable[[Progress], object]:
        return self.show

    def show(self, progress: Progress) -> None:
        """Draws a bar for each body and sending."""
        if self._sending != progress.sending:
            self.__exit__()
            self._bar = self._make(
                desc=f"{arrow(progress)} {self._label}", total=progress.total, unit="B", unit_scale=True,
                file=self._file, mininterval=0,
            )  # fmt: skip
            self._sending = progress.sending
        self._bar.total = progress.total
        self._bar.update(progress.completed - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def arrow(progress: Progress) -> str:
    """In ASCII, since a terminal may know no more."""
    return "->" if progress.direction == "upload" else "<-"


def line(progress: Progress, width: int, label: str = "") -> str:
    """At most ``width`` characters: unknown parts, and parts without room, are left out."""
    percent = None if progress.fraction is None else f"{int(progress.fraction * 100):3}%"
    amount = size(progress.completed)
    if progress.total is not None and progress.total > progress.completed:
        amount += f" of {size(progress.total)}"
    speed = None if progress.rate is None else size(progress.rate) + "/s"
    left = None if progress.remaining is None else clock(progress.remaining)
    ways: list[list[str | None]] = [[label, percent, amount, speed, left], [percent, amount, speed, left]]
    ways += [[percent, amount, speed], [percent, amount], [percent or amount]]
    for words in ways:
        text = "  ".join(word for word in words if word)
        if len(text) <= width:
            room = min(40, width - len(text) - 4)
            if words is not ways[0] or progress.fraction is None or room < 8:
                return text
            before = f"{label}  " if label else ""
            done = int(progress.fraction * room)
            drawn = "=" * done + (">" + " " * (room - done - 1) if done < room else "")
            return f"{before}{percent} [{drawn}]{text[len(before) + 4 :]}"
    return ""


def size(count: float) -> str:
    """``999 B``, ``1.5 kB``, ``345 GB``: decimal units, three digits."""
    if count < 999.5:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        count /= 1000
        if count < 999.5:
            return f"{int(count * 10 + 0.5) / 10:.1f} {unit}" if count < 99.95 else f"{count:.0f} {unit}"
    return f"{count / 1000:.1f} EB"


def clock(seconds: float) -> str:
    """``0:07``, ``12:34``, ``1:02:03``."""
    if not 0 <= seconds < 360_000:
        return "-:--"
    whole = int(seconds + 0.5)
    minutes = f"{whole // 60 % 60}:{whole % 60:02}"
    return minutes if whole < 3600 else f"{whole // 3600}:{minutes:0>5}"


EVENTS = ("event.progress", "event.finish")
_BODIES = ("file", "files", "data", "json", "parameters")


def with_body(path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of an upload: with its file, if given; a body is required."""
    whole = {**options} if path is None else {**options, "file": path}
    if all(whole.get(name) is None for name in _BODIES):
        raise TypeError("an upload needs a file, or one of data, json and files")
    return whole


def label(url: str, options: Mapping[str, Any]) -> str:
    """The name of a bar: the file that is sent, else the last part of the path, else the host."""
    file = options.get("file")
    path = str(file) if file is not None else url.partition("?")[0].partition("#")[0]
    name = path.rstrip("/").rpartition("/")[2] or url
    return name if len(name) <= 30 else name[:14] + ".." + name[-14:]


def followed(method: str, url: str, options: Mapping[str, Any], defaults: Defaults) -> tuple[Built, Watcher]:
    """The parameters of a request with events of its progress and its end, and the progress bar."""
    if options.get("body_to") == "stream":
        raise TypeError('progress waits for the whole body: with body_to="stream" count what iter_bytes() gives')
    options = dict(options)
    watch = watcher(options.pop("progress"), label(url, options))
    wanted = options.get("events")
    if wanted is not True:
        options["events"] = sorted({"progress", "finish", *(wanted or ())})
    built = build(method, url, options, defaults)
    if len(built.params) > LONGEST_MESSAGE:
        raise TypeError("progress of a body that is too long for a message needs a file: give file=, or no progress=")
    return built, watch
