# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""One workload with one library, in a process of its own: workloads.py WORK PEER N URL CA.

Prints {"seconds", "cpu", "n"}: wall time without imports and warm-up, and CPU seconds of every client-side process
(this one, its children, and the daemon).
"""
import json
import os
import resource
import subprocess
import sys
import time

CURL = ("curl", "-sS", "-o", "/dev/null", "--cacert")


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def daemon_cpu():
    pid = os.environ.get("BENCH_DAEMON")
    if not pid:
        return 0.0
    with open("/proc/%s/stat" % pid) as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(n, work, warm=None):
    (warm or work)(min(n, 20))
    cpu = time.process_time() + children() + daemon_cpu()
    start = time.perf_counter()
    work(n)
    seconds = time.perf_counter() - start
    cpu = time.process_time() + children() + daemon_cpu() - cpu
    print(json.dumps({"seconds": seconds, "cpu": cpu, "n": n}))


# ---- one after the other


def sequential_curl(n, url, ca):
    def work(n):
        for _ in range(n):
            subprocess.run(CURL + (ca, url), check=True)

    measure(n, work, lambda _: work(1))


def sequential_requests(n, url, ca):
    import requests

    session = requests.Session()
    session.verify = ca

    def work(n):
        for _ in range(n):
            assert session.get(url).json()["id"] == 1

    measure(n, work)


def sequential_httpx(n, url, ca):
    import httpx
    import origin

    with httpx.Client(verify=origin.context(ca)) as client:

        def work(n):
            for _ in range(n):
                assert client.get(url).json()["id"] == 1

        measure(n, work)


def sequential_aiohttp(n, url, ca):
    import asyncio

    import aiohttp
    import origin

    loop = asyncio.new_event_loop()

    async def open_session():
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=origin.context(ca)))

    session = loop.run_until_complete(open_session())

    async def calls(n):
        for _ in range(n):
            async with session.get(url) as response:
                assert (await response.json())["id"] == 1

    measure(n, lambda n: loop.run_until_complete(calls(n)))
    loop.run_until_complete(session.close())


def sequential_pycurl(n, url, ca):
    from io import BytesIO

    import pycurl

    handle = pycurl.Curl()
    handle.setopt(pycurl.URL, url)
    handle.setopt(pycurl.CAINFO, ca)

    def work(n):
        for _ in range(n):
            out = BytesIO()
            handle.setopt(pycurl.WRITEDATA, out)
            handle.perform()
            assert json.loads(out.getvalue())["id"] == 1

    measure(n, work)


def sequential_outrider(n, url, ca):
    import outrider

    with outrider.Client() as client:

        def work(n):
            for _ in range(n):
                assert client.get(url).json()["id"] == 1

        measure(n, work)


# ---- 64 at once


def parallel_curl(n, url, ca):
    def work(n):
        command = ("xargs", "-P", "64", "-n", "1") + CURL + (ca,)
        subprocess.run(command, input="\n".join([url] * n).encode(), check=True)

    measure(n, work, lambda _: work(1))


def parallel_requests(n, url, ca):
    from concurrent.futures import ThreadPoolExecutor

    import requests
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    session.verify = ca
    session.mount("https://", HTTPAdapter(pool_connections=64, pool_maxsize=64))
    pool = ThreadPoolExecutor(64)

    def one(_):
        return session.get(url).json()["id"]

    measure(n, lambda n: all(pool.map(one, range(n))))


def parallel_httpx(n, url, ca, http2=False):
    import asyncio

    import httpx
    import origin

    loop = asyncio.new_event_loop()
    limits = httpx.Limits(max_connections=1 if http2 else 64)
    client = httpx.AsyncClient(verify=origin.context(ca), limits=limits, http2=http2)

    async def worker(count):
        for _ in range(count):
            assert (await client.get(url)).json()["id"] == 1

    async def calls(n):
        await asyncio.gather(*(worker(max(1, n // 64)) for _ in range(64)))

    measure(n, lambda n: loop.run_until_complete(calls(n)), lambda _: loop.run_until_complete(calls(64)))


def parallel_httpx_http2(n, url, ca):
    parallel_httpx(n, url, ca, http2=True)


def parallel_aiohttp(n, url, ca):
    import asyncio

    import aiohttp
    import origin

    loop = asyncio.new_event_loop()

    async def open_session():
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=origin.context(ca), limit=64))

    session = loop.run_until_complete(open_session())

    async def worker(count):
        for _ in range(count):
            async with session.get(url) as response:
                assert (await response.json())["id"] == 1

    async def calls(n):
        await asyncio.gather(*(worker(max(1, n // 64)) for _ in range(64)))

    measure(n, lambda n: loop.run_until_complete(calls(n)), lambda _: loop.run_until_complete(calls(64)))
    loop.run_until_complete(session.close())


def parallel_pycurl_http2(n, url, ca):
    parallel_pycurl(n, url, ca, http2=True)


def burst_pycurl_http2(n, url, ca):
    parallel_pycurl(n, url, ca, http2=True, at_once=n)


def parallel_pycurl(n, url, ca, http2=False, at_once=64):
    from io import BytesIO

    import pycurl

    multi = pycurl.CurlMulti()
    if http2:
        multi.setopt(pycurl.M_PIPELINING, pycurl.PIPE_MULTIPLEX)
        multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, 1)

    def start(handle):
        handle.out = BytesIO()
        handle.setopt(pycurl.WRITEDATA, handle.out)
        multi.add_handle(handle)

    def work(n):
        handles = []
        for _ in range(min(at_once, n)):
            handle = pycurl.Curl()
            handle.setopt(pycurl.URL, url)
            handle.setopt(pycurl.CAINFO, ca)
            if http2:
                handle.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
                handle.setopt(pycurl.PIPEWAIT, 1)
            handles.append(handle)
            start(handle)
        left, running = n - len(handles), len(handles)
        while running:
            multi.perform()
            _, done, failed = multi.info_read()
            assert not failed, failed
            for handle in done:
                assert json.loads(handle.out.getvalue())["id"] == 1
                multi.remove_handle(handle)
                if left:
                    left -= 1
                    start(handle)
                else:
                    running -= 1
            if not done:
                multi.select(1.0)

    measure(n, work)


def parallel_outrider(n, url, ca):
    import outrider

    with outrider.Client() as client:

        def work(n):
            for response in client.many([url] * n, window=64):
                assert response.json()["id"] == 1

        measure(n, work, lambda _: work(256))


def parallel_outrider_six(n, url, ca):
    """Over HTTP/1.1, with six connections."""
    import outrider

    with outrider.Client() as client:
        session = client.session(connections_per_host=6, http2=False)

        def work(n):
            for response in session.many([url] * n, window=64):
                assert response.json()["id"] == 1

        measure(n, work, lambda _: work(256))


def sequential_outrider_http1(n, url, ca):
    import outrider

    with outrider.Client() as client:
        session = client.session(http2=False)

        def work(n):
            for _ in range(n):
                assert session.get(url).json()["id"] == 1

        measure(n, work)


def parallel_outrider_async(n, url, ca):
    import asyncio

    import outrider

    loop = asyncio.new_event_loop()
    client = outrider.AsyncClient()

    async def worker(count):
        for _ in range(count):
            assert (await client.get(url)).json()["id"] == 1

    async def calls(n):
        await asyncio.gather(*(worker(max(1, n // 64)) for _ in range(64)))

    measure(n, lambda n: loop.run_until_complete(calls(n)), lambda _: loop.run_until_complete(calls(256)))
    loop.run_until_complete(client.close())


# ---- a form of a thousand fields, without a request


def fields():
    return {"field %d" % number: "a value, and \u00e9 more & more: %d" % number for number in range(1000)}


def form_urllib(n, url, ca):
    from urllib.parse import urlencode

    values = fields()

    def work(n):
        for _ in range(n):
            assert len(urlencode(values)) > 1000

    measure(n, work)


def form_outrider(n, url, ca):
    import outrider

    params = {"parameters": fields(), "encoding": {"sort": False, "space": "plus"}}
    with outrider.Client() as client:

        def work(n):
            for _ in range(n):
                assert len(client.invoke("encode.form", params)["text"]) > 1000

        measure(n, work)


if __name__ == "__main__":
    work, peer, count, address, authority = sys.argv[1:]
    globals()["%s_%s" % (work, peer)](int(count), address, authority)
