// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import Crypto

/// The signature of a request to AWS, and to servers that speak the same protocol (Signature Version 4).
package struct AWSSignature {
    package var key: String
    package var secret: String
    package var region: String
    package var service: String

    package init(key: String, secret: String, region: String, service: String) {
        (self.key, self.secret, self.region, self.service) = (key, secret, region, service)
    }

    /// The word for a body that is not signed, which S3 takes.
    package static let unsigned = "UNSIGNED-PAYLOAD"

    /// Whether the hash of the body is sent as a field, and the path encoded once.
    package var isOfS3: Bool { service == "s3" }

    /// The fields to add to a request: the time, the hash of the body for S3, and the signature. A time and a hash that
    /// the request has already stay.
    ///
    /// - Parameters:
    ///   - fields: of the request. `X-Amz-` fields and the type of the body are signed.
    ///   - hash: of the body, in hexadecimal, or `unsigned`.
    ///   - now: seconds since 1970.
    package func fields(
        method: String, url: HTTPURL, fields: HTTPFields, hash: String, now: Int64
    ) -> [(name: String, value: String)] {
        let given = fields.first(Self.dateName) ?? CivilTime(seconds: now)?.basic ?? ""
        var added: [(name: String, value: String)] = []
        if fields.first(Self.dateName) == nil { added.append((Self.dateName, given)) }
        let hash = fields.first(Self.hashName) ?? hash
        if isOfS3, fields.first(Self.hashName) == nil { added.append((Self.hashName, hash)) }
        var signed = ["host": [fields.first("Host") ?? url.authority]]
        for (name, value) in fields.list.map({ ($0.name, $0.value) }) + added {
            let name = name.lowercased()
            if name.hasPrefix("x-amz-") || ["content-type", "content-md5"].contains(name) {
                signed[name, default: []].append(Self.plain(value))
            }
        }
        let names = signed.keys.sorted()
        let lines = names.map { "\($0):\((signed[$0] ?? []).joined(separator: ","))\n" }.joined()
        let list = names.joined(separator: ";")
        let target = url.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let request = [
            method, path(target[0]), Self.query(target.count > 1 ? target[1] : ""), lines, list, hash,
        ].joined(separator: "\n")
        let day = String(given.prefix(8))
        let scope = "\(day)/\(region)/\(service)/aws4_request"
        let text = [Self.algorithm, given, scope, DigestAlgorithm.sha256.hash(request)].joined(separator: "\n")
        var code = Array("AWS4\(secret)".utf8)
        for word in [day, region, service, "aws4_request", text] { code = Self.code(word, key: code) }
        let credential = "Credential=\(key)/\(scope), SignedHeaders=\(list), Signature=\(HexText.encode(code))"
        return added + [("Authorization", "\(Self.algorithm) \(credential)")]
    }

    private static let algorithm = "AWS4-HMAC-SHA256"
    package static let dateName = "X-Amz-Date"
    package static let hashName = "X-Amz-Content-Sha256"

    private static func code(_ text: String, key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: SymmetricKey(data: key)))
    }

    /// A value without spaces at its ends, and without spaces behind spaces.
    private static func plain(_ value: String) -> String {
        value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
    }

    /// The path as the server writes it: S3 encodes the decoded path, and other services encode the path as sent,
    /// without empty segments.
    private func path(_ sent: Substring) -> String {
        let segments = sent.split(separator: "/", omittingEmptySubsequences: !isOfS3).map { segment in
            isOfS3 ? Self.encoded(PercentEncoding.decode(segment.utf8)) : Self.encoded(Array(segment.utf8))
        }
        if isOfS3 { return segments.joined(separator: "/") }
        let end = segments.isEmpty || !sent.hasSuffix("/") ? "" : "/"
        return "/" + segments.joined(separator: "/") + end
    }

    /// The parameters, encoded and sorted.
    private static func query(_ sent: Substring) -> String {
        let pairs = sent.split(separator: "&").map { pair -> (name: String, value: String) in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { part in
                encoded(PercentEncoding.decode(part.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }))
            }
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
        return pairs.sorted { ($0.name, $0.value) < ($1.name, $1.value) }.map { "\($0.name)=\($0.value)" }
            .joined(separator: "&")
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        PercentEncoding.segment.append(bytes[...], to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}

extension CivilTime {
    /// The basic format of ISO 8601, such as `20150830T123600Z`.
    fileprivate var basic: String {
        // safe: years have four digits
        let date = String(year * 10_000 + month * 100 + day)
        let clock = String(1_000_000 + hour * 10_000 + minute * 100 + second).dropFirst()
        return String(repeating: "0", count: max(0, 8 - date.count)) + date + "T" + clock + "Z"
    }
}
