# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the HTTP/2 suite: each session is a service of its own that believes the suite's root only."""

import itertools
import json
import tempfile

import adapt_chaos
import wire

VERSIONS = {"2": "HTTP/2", "1.1": "HTTP/1.1", "1.0": "HTTP/1.0"}


class Session(adapt_chaos.Session):
    """One service; its connections stay open between fetches."""

    def __init__(self, ca, total_timeout=8):
        self.timeout = {"total": total_timeout}
        self.wire = wire.Wire("--ca-file", ca)

    def params(self, method, url):
        return {
            "url": url,
            "method": method,
            "timeout": self.timeout,
            "maxInline": 8 << 20,
            "serialize": {"as": "base64"},
            "redirect": "none",
        }

    def fetch(self, method, url, body=None):
        params = self.params(method, url)
        with tempfile.NamedTemporaryFile() as file:
            if body is not None:
                file.write(body)
                file.flush()
                params["body"] = {"file": file.name}
            return self.result(self.wire.call("data.send", params, seconds=adapt_chaos.TOTAL))

    def result(self, response):
        if not response["ok"]:
            raise RuntimeError(f"{response['error']['code']} {response['error']['message']}")
        trailers = response.get("trailers")
        return {
            "status": response["status"],
            "headers": [(field["name"], field["value"]) for field in response["headers"]],
            "body": self.body(response["body"]),
            "version": VERSIONS[response["httpVersion"]],
            "trailers": trailers and [(field["name"], field["value"]) for field in trailers],
        }

    def parallel(self, urls):
        """All at once, over one connection to the service."""
        numbers = {}
        for place, url in enumerate(urls):
            number = next(self.wire.ids)
            numbers[number] = place
            call = {"jsonrpc": "2.0", "id": number, "method": "data.send", "params": self.params("GET", url)}
            self.wire.send(json.dumps(call).encode())
        results = [None] * len(urls)
        for _ in itertools.repeat(None, len(urls)):
            reply = self.wire.receive(adapt_chaos.TOTAL)
            try:
                results[numbers[reply["id"]]] = self.result(reply["result"])
            except (KeyError, RuntimeError) as error:
                results[numbers[reply["id"]]] = error
        return results
