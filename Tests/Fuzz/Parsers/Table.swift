// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

// Link fields and multipart responses have no parser: the product hands both on as they are.

/// Every target, with the Swift tests whose texts and lists of bytes are its first inputs; seeds.py makes further ones.
let table: [(name: String, run: Target, tests: [String])] = [
    // JSON, and what clients send
    ("base64", base64, ["OutriderJSONTests/*Base64*"]),
    ("calls", calls, ["OutriderRPCTests/*"]),
    ("frames", frames, ["OutriderRPCTests/**/*"]),
    ("json", json, ["OutriderJSONTests/*"]),
    ("painter", painter, ["OutriderJSONTests/*"]),
    ("pointers", pointers, ["OutriderJSONTests/*"]),
    // fields of responses, and URLs
    ("cachecontrol", cacheControl, ["OutriderHTTPTests/Cache/*"]),
    ("challenges", challenges, ["OutriderHTTPTests/Authentication/*"]),
    ("cookies", cookies, ["OutriderHTTPTests/Cookies/*"]),
    ("dates", dates, ["OutriderHTTPTests/**/*Date*", "OutriderHTTPTests/**/*RetryAfter*"]),
    ("disposition", disposition, ["OutriderHTTPTests/Download/*"]),
    ("mediatype", mediaType, ["OutriderHTTPTests/**/*Media*", "OutriderHTTPTests/Response/*"]),
    ("netscape", netscape, ["OutriderHTTPTests/Cookies/*"]),
    ("ranges", ranges, ["OutriderHTTPTests/Download/*", "OutriderHTTPTests/**/*Netrc*"]),
    ("url", url, ["OutriderHTTPTests/Values/*URL*"]),
    // wires
    ("chunked", chunked, ["OutriderTransportTests/**/*HTTP1*", "OutriderTransportTests/**/*Body*"]),
    ("frames2", frames2, []),
    ("head", head, ["OutriderHTTPTests/Connections/*", "OutriderTransportTests/**/*"]),
    ("hpack", hpack, []),
    ("http2", http2, []),
    ("loopback", loopback, ["OutriderHTTPTests/**/*Loopback*"]),
    ("tunnels", tunnels, ["OutriderHTTPTests/**/*Connect*", "OutriderHTTPTests/**/*SOCKS*"]),
    ("websocket", websocket, ["OutriderHTTPTests/WebSocket/*"]),
    // bodies and documents
    ("brotli", brotli, []),
    ("cassettes", cassettes, []),
    ("certificates", certificates, []),
    ("deflate", deflate, []),
    ("gzip", gzip, []),
    ("items", items, ["OutriderHTTPTests/Streams/*"]),
    ("propertylist", propertyList, ["OutriderHTTPTests/**/*PropertyList*"]),
    ("sse", sse, ["OutriderHTTPTests/EventStream/*"]),
    ("tokens", tokens, ["OutriderHTTPTests/**/*Token*"]),
    ("xml", xml, ["OutriderHTTPTests/**/*XML*", "OutriderHTTPTests/OAuth/*"]),
    ("yaml", yaml, ["OutriderYAMLTests/*"]),
    ("zstd", zstd, []),
]
