// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Responses put together at random, of usual parts more often than of odd ones.
enum GeneratedResponses {
    private enum Samples {
        static let status = [
            "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.1 204 No Content",
            "HTTP/1.1 304 Not Modified", "HTTP/1.1 503 Try later, please", "HTTP/1.1 200 ", "HTTP/1.1 200",
            "HTTP/1.0 200 OK", "HTTP/1.1 299 Odd", "HTTP/1.1 599 Odd", "HTTP/1.1 600 Odd", "HTTP/1.1 099 Odd",
            "HTTP/1.1 103 Hints", "HTTP/1.1  200 OK", "http/1.1 200 OK", "HTTP/1.1 2000 OK", "HTTP/2.0 200 OK",
        ]
        static let fields = [
            "Server: nginx", "X: 1", "x:2", "Date: Thu, 01 Jan 1970 00:00:00 GMT", "Connection: keep-alive",
            "Connection: close", "Set-Cookie: a=b; Path=/", "ETag: \"a b\"", "A-Very_Odd.Name!#$%&'*+^`|~: v",
            "Empty:", "Spaces:   a  b  ", "Tab:\tv", "Folded: a\r\n b", "Bad Name: v", "NoColon", ": v",
            "Upgrade: h2c", "Transfer-Encoding: chunked", "Transfer-Encoding: identity", "Keep-Alive: timeout=5",
            "Content-Encoding: gzip", "Latin: caf\u{E9}", "Null: a\u{0}b", "Trailer: A", "Content-Type: text/plain",
        ]
        static let lengths = [
            "Content-Length: 5", "Content-Length: 5", "Content-Length: 5", "content-length:5", "CONTENT-LENGTH: 0",
            "Content-Length: 05", "Content-Length: +5", "Content-Length: -1", "Content-Length: 5, 5",
            "Content-Length: 6", "Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: 99999999999999999999", "Content-Length: five", "Content-Length: ", "X-Length: 5",
        ]
        static let bodies = ["hello", "hello", "hello", "", "hel", "hello!", "5\r\nhello\r\n0\r\n\r\n"]
        static let odd: [UInt8] = [0, 9, 10, 13, 32, 34, 44, 58, 127, 128, 195, 255]
    }

    static func next(_ random: inout SplitMix) -> [UInt8] {
        var lines = [random.usually(Samples.status)]
        for _ in 0..<random.below(4) { lines.append(random.usually(Samples.fields)) }
        lines.insert(random.usually(Samples.lengths), at: 1 + random.below(lines.count))
        let end = random.below(12) == 0 ? "\n" : "\r\n"
        let head = lines.map { $0 + end }.joined() + end
        var bytes = Array((head + random.pick(Samples.bodies)).utf8)
        if random.below(6) == 0 { bytes[random.below(bytes.count)] = random.pick(Samples.odd) }
        if random.below(8) == 0 { bytes.remove(at: random.below(bytes.count)) }
        return bytes
    }
}

/// Random numbers that are the same in each run.
struct SplitMix {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: next() >> 33) % limit }
    mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }
    /// One of the first three in two cases of three.
    mutating func usually<Element>(_ list: [Element]) -> Element {
        below(3) == 0 ? pick(list) : list[below(min(3, list.count))]
    }
}
