#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""200 small requests through requests and httpx, with and without the service, side by side in one run: milliseconds.

dropins.py [--requests N] [--rounds N]

Each way sends the same requests on one session, and on a new session for each request: that is what many small programs
do. The figures are medians of the rounds. Run it with .build/venv/bin/python, after a release build ($OUTRIDER, else
.build/release/outrider).
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "clients/python/src")]
import httpx  # noqa: E402
import origin  # noqa: E402
import requests  # noqa: E402
from outrider.httpx import Transport  # noqa: E402
from outrider.requests import Adapter  # noqa: E402


def mounted():
    session = requests.Session()
    session.mount("http://", Adapter())
    return session


def plain():
    return httpx.Client(trust_env=False)


def through():
    return httpx.Client(transport=Transport(), trust_env=False)


WAYS = {
    "requests": requests.Session,
    "requests + outrider": mounted,
    "httpx": plain,
    "httpx + outrider": through,
}


def one_session(make, url, count):
    with make() as session:
        for _ in range(count):
            assert session.get(url).content


def many_sessions(make, url, count):
    for _ in range(count):
        with make() as session:
            assert session.get(url).content


def milliseconds(work, make, url, count):
    began = time.perf_counter()
    work(make, url, count)
    return (time.perf_counter() - began) * 1000


def main():
    parser = argparse.ArgumentParser(description="Small requests through requests and httpx.")
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    binary = os.environ.get("OUTRIDER") or str(HERE.parent / ".build/release/outrider")
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp") as directory, origin.nginx(directory) as ports:
        url = f"http://127.0.0.1:{ports[0]}/1k.json"
        path = os.path.join(directory, "o.sock")
        os.environ["OUTRIDER_SOCKET"] = path
        with subprocess.Popen([binary, "serve", "--socket", path], stdin=subprocess.DEVNULL) as service:
            try:
                while not os.path.exists(path):
                    assert service.poll() is None, f"{binary} did not start"
                    time.sleep(0.02)
                print(f"{options.requests} requests, ms{'one session':>23}{'new sessions':>15}")
                for name, make in WAYS.items():
                    found = []
                    for work in (one_session, many_sessions):
                        work(make, url, 10)
                        rounds = [milliseconds(work, make, url, options.requests) for _ in range(options.rounds)]
                        found.append(statistics.median(rounds))
                    print(f"{name:<22}{found[0]:>20.0f}{found[1]:>15.0f}")
            finally:
                service.terminate()


if __name__ == "__main__":
    main()
