// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Paths of URLs (RFC 3986 section 5.2, WHATWG URL section 4.4).
enum URLPath {
    /// Resolves `.` and `..`, also where their dots are written `%2e`; the result begins with a slash.
    static func withoutDots(_ path: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        guard mayHaveDots(path) else { return path.first == slash ? path : [slash] + path }
        var segments = path.split(separator: slash, omittingEmptySubsequences: false)
        if path.first == slash { segments.removeFirst() }
        var kept: [ArraySlice<UInt8>] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch dots(segment) {
            case 1: if isLast { kept.append([]) }
            case 2:
                _ = kept.popLast()
                if isLast { kept.append([]) }
            default: kept.append(segment)
            }
        }
        var result: [UInt8] = []
        result.reserveCapacity(path.count + 1)
        for segment in kept {
            result.append(slash)
            result.append(contentsOf: segment)
        }
        return result.isEmpty ? [slash] : result
    }

    /// Whether a segment begins like a dot segment.
    private static func mayHaveDots(_ path: [UInt8]) -> Bool {
        var previous = UInt8(ascii: "/")
        for byte in path {
            if previous == UInt8(ascii: "/"), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            previous = byte
        }
        return false
    }

    /// 1 for a segment equivalent to `.`, 2 for `..`, 0 for others.
    private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
        guard segment.count <= 6 else { return 0 }
        let plain = PercentEncoding.decode(segment)
        if plain == [UInt8(ascii: ".")] { return 1 }
        return plain == [UInt8(ascii: "."), UInt8(ascii: ".")] ? 2 : 0
    }
}
