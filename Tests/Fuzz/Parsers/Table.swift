// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

// Link fields and multipart responses have no parser: the product hands both on as they are.

/// Every target, with the number of inputs that take about ten seconds, and the Swift tests whose texts and lists of
/// bytes are its first inputs; seeds.py makes further ones.
let table: [(name: String, run: Target, count: Int, tests: [String])] = [
    // JSON, and what clients send
    ("base64", base64, 220_000, ["OutriderJSONTests/*Base64*"]),
    ("calls", calls, 220_000, ["OutriderRPCTests/*"]),
    ("frames", frames, 430_000, ["OutriderRPCTests/**/*"]),
    ("json", json, 230_000, ["OutriderJSONTests/*"]),
    ("painter", painter, 180_000, ["OutriderJSONTests/*"]),
    ("pointers", pointers, 440_000, ["OutriderJSONTests/*"]),
    // fields of responses, and URLs
    ("cachecontrol", cacheControl, 110_000, ["OutriderHTTPTests/Cache/*"]),
    ("challenges", challenges, 120_000, ["OutriderHTTPTests/Authentication/*"]),
    ("cookies", cookies, 440_000, ["OutriderHTTPTests/Cookies/*"]),
    ("dates", dates, 200_000, ["OutriderHTTPTests/**/*Date*", "OutriderHTTPTests/**/*RetryAfter*"]),
    ("disposition", disposition, 300_000, ["OutriderHTTPTests/Download/*"]),
    ("hsts", strictTransport, 150_000, ["OutriderHTTPTests/**/*HSTS*"]),
    ("mediatype", mediaType, 500_000, ["OutriderHTTPTests/**/*Media*", "OutriderHTTPTests/Response/*"]),
    ("netrc", netrc, 90_000, ["OutriderHTTPTests/**/*Netrc*"]),
    ("netscape", netscape, 330_000, ["OutriderHTTPTests/Cookies/*"]),
    ("pins", pins, 300_000, ["OutriderHTTPTests/Trust/*"]),
    ("proxies", proxies, 90_000, ["OutriderHTTPTests/Proxy/*"]),
    ("ranges", ranges, 150_000, ["OutriderHTTPTests/Download/*"]),
    ("url", url, 140_000, ["OutriderHTTPTests/Values/*URL*"]),
    // wires
    ("chunked", chunked, 220_000, ["OutriderTransportTests/**/*HTTP1*", "OutriderTransportTests/**/*Body*"]),
    ("frames2", frames2, 100_000, []),
    ("head", head, 380_000, ["OutriderHTTPTests/Connections/*", "OutriderTransportTests/**/*"]),
    ("hpack", hpack, 330_000, []),
    ("http2", http2, 190_000, []),
    ("loopback", loopback, 340_000, ["OutriderHTTPTests/**/*Loopback*"]),
    ("tunnels", tunnels, 220_000, ["OutriderHTTPTests/**/*Connect*", "OutriderHTTPTests/**/*SOCKS*"]),
    ("websocket", websocket, 110_000, ["OutriderHTTPTests/WebSocket/*"]),
    // bodies, documents and files
    ("brotli", brotli, 400_000, []),
    ("cassettes", cassettes, 170_000, []),
    ("certificates", certificates, 410_000, []),
    ("deflate", deflate, 100_000, []),
    ("gzip", gzip, 150_000, []),
    ("heads", heads, 680_000, []),
    ("items", items, 90_000, ["OutriderHTTPTests/Streams/*"]),
    ("journal", journal, 340_000, ["OutriderHTTPTests/Download/*"]),
    ("propertylist", propertyList, 370_000, ["OutriderHTTPTests/**/*PropertyList*"]),
    ("rows", rows, 260_000, []),
    ("sse", sse, 420_000, ["OutriderHTTPTests/EventStream/*"]),
    ("suffixes", suffixes, 130_000, ["OutriderHTTPTests/**/*Suffix*"]),
    ("tokens", tokens, 490_000, ["OutriderHTTPTests/**/*Token*"]),
    ("xml", xml, 640_000, ["OutriderHTTPTests/**/*XML*", "OutriderHTTPTests/OAuth/*"]),
    ("yaml", yaml, 470_000, ["OutriderYAMLTests/*"]),
    ("zstd", zstd, 120_000, []),
]
