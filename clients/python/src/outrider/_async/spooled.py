# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests whose bodies are probably long. Loaded when the first long body has come."""

from __future__ import annotations

from time import monotonic

from .._protocol.frames import unpack
from .._resources.spooling import adopted, in_file, is_fault_of_file
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._protocol.parameters import Built
    from .._resources.spooling import Spooling
    from .caller import AsyncCaller


async def send(client: AsyncCaller, url: str, built: Built, spooling: Spooling) -> AsyncResponse | None:
    """The response to a request, whose body comes by way of a private file. None if there was no room for the file:
    then the request can be sent again, for it is a GET."""
    began = monotonic()
    message = await client._message("data.send", in_file(built.params), built.guard)
    response = AsyncResponse(unpack(message), client.invoke)
    response._seconds = monotonic() - began
    if is_fault_of_file(response.raw.get("error")):
        spooling.stop()
        await response.close()
        return None
    handle = response.handle
    if not adopted(response):
        spooling.stop()
        # sync: response._fetched()
        await response.read()  # async
    elif handle is not None and response.handle is None:
        client._leave([("response.release", {"response": handle})])
    spooling.note(url, response.size)
    if built.check:
        response.raise_for_error()
    return response
