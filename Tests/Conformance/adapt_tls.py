# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the TLS suite: one service for all calls, so that connections are kept from call to call."""

import atexit
import base64
import urllib.parse

import wire
from adapter import Skip, TLSRefused

_service = None


def service():
    global _service
    if _service is None:
        _service = wire.Wire()
        atexit.register(_service.close)
    return _service


def policy(pins, crl, insecure):
    if insecure:
        return "none"
    policies = []
    if pins:
        policies.append({"publicKeys": {"pins": pins}})
    if crl:
        policies.append({"revocation": {"crlFiles": [crl], "required": True}})
    return {"all": policies} if policies else "default"


def identity(cert, key, pkcs12, passphrase):
    found = {"pkcs12": pkcs12} if pkcs12 else {"certificate": cert, "key": key}
    return {**found, "passphrase": passphrase} if passphrase else found


def fetch(url, ca=None, resolve=None, cert=None, key=None, key_password=None, pkcs12=None, pins=None, crl=None,
          ocsp_staple=False, min_tls=None, insecure=False, timeout=5):
    if ocsp_staple:
        raise Skip("stapled responses are not asked for")
    params = {
        "url": url,
        "trust": policy(pins, crl, insecure),
        "tls": {},
        "timeout": timeout,
        "serialize": {"as": "base64"},
    }
    if ca:
        params["tls"]["roots"] = {"file": ca}
    if cert or pkcs12:
        params["tls"]["identity"] = identity(cert, key, pkcs12, key_password)
    if min_tls:
        params["tls"]["minVersion"] = min_tls
    host = urllib.parse.urlsplit(url).hostname
    if resolve and host in resolve:
        params["connectTo"] = resolve[host]
    response = service().call("data.send", params, seconds=timeout + 10)
    if not response["ok"]:
        raise TLSRefused(f"{response['error']['code']} {response['error']['message']}")
    return {
        "status": response["status"],
        "body": base64.b64decode(response["body"].get("base64", "")),
        "tls": response["tls"]["version"],
    }
