# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A script as people write it, started cold: scripts.py PEER N URL CA makes N calls and ends.

Imports nothing for itself, so that what is timed is the interpreter, the library and the calls.
"""
import sys


def with_requests(n, url, ca):
    import requests

    session = requests.Session()
    session.verify = ca
    for _ in range(n):
        assert session.get(url).json()["id"] == 1


def with_requests_get(n, url, ca):
    import requests

    for _ in range(n):
        assert requests.get(url, verify=ca).json()["id"] == 1


def with_httpx(n, url, ca):
    import ssl

    import httpx

    with httpx.Client(verify=ssl.create_default_context(cafile=ca)) as client:
        for _ in range(n):
            assert client.get(url).json()["id"] == 1


def with_aiohttp(n, url, ca):
    import asyncio
    import ssl

    import aiohttp

    async def calls():
        connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=ca))
        async with aiohttp.ClientSession(connector=connector) as session:
            for _ in range(n):
                async with session.get(url) as response:
                    assert (await response.json())["id"] == 1

    asyncio.run(calls())


def with_pycurl(n, url, ca):
    import json
    from io import BytesIO

    import pycurl

    handle = pycurl.Curl()
    handle.setopt(pycurl.URL, url)
    handle.setopt(pycurl.CAINFO, ca)
    for _ in range(n):
        out = BytesIO()
        handle.setopt(pycurl.WRITEDATA, out)
        handle.perform()
        assert json.loads(out.getvalue())["id"] == 1


def with_outrider(n, url, ca):
    import outrider

    for _ in range(n):
        assert outrider.get(url).json()["id"] == 1


if __name__ == "__main__":
    globals()["with_" + sys.argv[1]](int(sys.argv[2]), sys.argv[3], sys.argv[4])
