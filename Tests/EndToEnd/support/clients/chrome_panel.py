# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The network panel of a real Chrome, without a screen: its DevTools page runs in a second tab.

    with Chrome(directory) as chrome:
        chrome.export(url)      what "Save all as HAR with content" writes, once the page's title is "done"
        chrome.open(text)       the requests of "Import HAR file", and the rows of the panel that fit on its screen
"""

import asyncio
import contextlib
import json
import re
import shutil
import subprocess
import time
import urllib.request

import aiohttp

BINARY = shutil.which("chromium") or shutil.which("google-chrome")
EXPORT = """(async () => {
  const har = await import('/devtools/models/har/har.js'), logs = await import('/devtools/models/logs/logs.js');
  let text = '';
  const progress = new Proxy({}, {get: (_, name) => name === 'canceled' ? false : () => progress, set: () => true});
  await har.Writer.Writer.write({write: async piece => { text += piece; }},
    logs.NetworkLog.NetworkLog.instance().requests(), {sanitize: false}, progress);
  return text;
})()"""
OPEN = """(async () => {
  const har = await import('/devtools/models/har/har.js'), logs = await import('/devtools/models/logs/logs.js');
  const ui = await import('/devtools/ui/legacy/legacy.js');
  await ui.ViewManager.ViewManager.instance().showView('network');
  const log = new har.HARFormat.HARRoot(JSON.parse(%s)).log;
  const requests = har.Importer.Importer.requestsFromHARLog(log), found = [];
  logs.NetworkLog.NetworkLog.instance().importRequests(requests);
  for (const one of requests) {
    const content = await one.requestContentData();
    found.push({method: one.requestMethod, url: one.url(), status: one.statusCode, failed: one.failed,
      body: content.isTextContent ? content.text : content.base64 ?? null, sent: await one.requestFormData() || null,
      fields: one.responseHeaders.length, messages: one.frames().map(frame => frame.text)});
  }
  const shown = [];
  const walk = node => {
    if (node.matches?.('tr.data-grid-data-grid-node')) shown.push(node.textContent);
    for (const child of [...(node.shadowRoot ? [node.shadowRoot] : []), ...(node.childNodes || [])]) walk(child);
  };
  for (let turn = 0; turn < 50 && !shown.length; turn++) {
    await new Promise(resolve => setTimeout(resolve, 100));
    walk(document.body);
  }
  return JSON.stringify({requests: found, shown});
})()"""


class Refused(Exception):
    """The code failed in the tab."""


class Tab:
    """A tab, and the protocol behind it."""

    def __init__(self, channel):
        self.channel, self.number = channel, 0

    async def call(self, method, **params):
        self.number += 1
        await self.channel.send_json({"id": self.number, "method": method, "params": params})
        while True:
            reply = json.loads((await asyncio.wait_for(self.channel.receive(), 60)).data)
            if reply.get("id") == self.number:
                return reply["result"]

    async def run(self, code):
        told = await self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise Refused(told["exceptionDetails"])
        return told["result"].get("value")


class Chrome:
    """Runs as long as the block."""

    def __init__(self, directory):
        command = [BINARY, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                   "--disable-background-networking", "--remote-debugging-port=0", "--remote-allow-origins=*",
                   f"--user-data-dir={directory}", "about:blank"]  # fmt: skip
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.port = None
        for line in self.process.stderr:
            if found := re.search(r"listening on ws://127\.0\.0\.1:(\d+)/", line):
                self.port = found[1]
                break
        assert self.port, "Chrome did not start"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.stderr.close()
        self.process.wait(20)

    def _made(self, url):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?{url}", method="PUT")
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def export(self, url, entries):
        """The archive of a page that makes so many requests. A panel that opens late misses the first: once more."""
        return asyncio.run(self._with(self._export, (url, entries)))

    def open(self, text):
        return json.loads(asyncio.run(self._with(self._open, text)))

    async def _with(self, work, what):
        page = self._made("about:blank")
        place = f"http://127.0.0.1:{self.port}/devtools/inspector.html"
        panel = self._made(f"{place}?ws=127.0.0.1:{self.port}/devtools/page/{page['id']}&panel=network")
        async with aiohttp.ClientSession() as session:
            tabs = [
                Tab(await session.ws_connect(one["webSocketDebuggerUrl"], max_msg_size=0)) for one in (page, panel)
            ]
            count = "import('/devtools/core/sdk/sdk.js').then(sdk => sdk.TargetManager.TargetManager.instance()"
            count += ".primaryPageTarget()?.model(sdk.NetworkManager.NetworkManager) != null)"
            await self._until(tabs[1], count)
            return await work(*tabs, what)

    async def _until(self, tab, code, seconds=60):
        end, found = time.monotonic() + seconds, None
        while found is not True:
            assert time.monotonic() < end, (code, found)
            await asyncio.sleep(0.1)
            # a page that is loading has no modules yet
            with contextlib.suppress(Refused):
                found = await tab.run(code)

    async def _export(self, page, panel, what):
        url, entries = what
        for _ in range(5):
            await page.call("Page.navigate", url="about:blank")
            await self._until(page, "location.href === 'about:blank'")
            await page.call("Page.navigate", url=url)
            await self._until(page, "document.title === 'done'")
            text = await panel.run(EXPORT)
            if len(json.loads(text)["log"]["entries"]) >= entries:
                break
        return text

    async def _open(self, _page, panel, text):
        return await panel.run(OPEN % json.dumps(text))
