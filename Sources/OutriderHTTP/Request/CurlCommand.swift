// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// An attempt as a curl command line that a POSIX shell understands, for people to read and try.
///
/// Every value stands in single quotes, so nothing in it can reach the shell. The values of fields that hold secrets are
/// shown as `***`.
package enum CurlCommand {
    package static func text(_ attempt: Attempt, masked: Bool = true) -> String {
        var words = ["curl"]
        if attempt.method == "HEAD" {
            words.append("--head")
        } else if attempt.method != "GET" || attempt.body != .none {
            words += ["-X", quoted(attempt.method)]
        }
        for field in attempt.fields.list { words += ["-H", quoted(line(field, masked))] }
        if attempt.decodesContent, attempt.fields.contains("Accept-Encoding") { words.append("--compressed") }
        if case .roots(let file) = attempt.trust { words += ["--cacert", quoted(file)] }
        let (input, body) = body(attempt.body)
        words += body
        words += url(attempt.url)
        return (input.map { "\($0) | " } ?? "") + words.joined(separator: " ")
    }

    /// A string for a POSIX shell. Words that need no quotes get none.
    package static func quoted(_ text: String) -> String {
        let plain =
            !text.isEmpty && text.utf8.allSatisfy { PercentEncoding.segment.keeps($0) && $0 != UInt8(ascii: "~") }
        if plain { return text }
        let mark = UInt8(ascii: "'")
        var quoted = [mark]
        for byte in text.utf8 {
            if byte == mark { quoted += #"'\'"#.utf8 }
            quoted.append(byte)
        }
        return String(decoding: quoted + [mark], as: UTF8.self)
    }

    private static func line(_ field: HTTPFields.Field, _ masked: Bool) -> String {
        // curl takes "Name:" as the wish to leave the field out, and "Name;" for an empty one
        if field.value.isEmpty { return "\(field.name);" }
        return "\(field.name): \(masked && SecretFields.contains(field.name) ? SecretFields.mask : field.value)"
    }

    private static func url(_ url: HTTPURL) -> [String] {
        guard let socketPath = url.socketPath else {
            let globs = url.description.utf8.contains { "[]{}".utf8.contains($0) }
            return (globs ? ["-g"] : []) + [quoted(url.description)]
        }
        return ["--unix-socket", quoted(socketPath), quoted("\(url.scheme.rawValue)://localhost\(url.target)")]
    }

    /// Words for the body, and a command that gives it on standard input where it is no text.
    private static func body(_ body: AttemptBody) -> (input: String?, words: [String]) {
        switch body {
        case .none: return (nil, [])
        case .file(let path, _): return (nil, ["--data-binary", quoted("@\(path)")])
        case .bytes(let bytes):
            if bytes.count > maximumBody { return ("cat BODY", ["--data-binary", "@-"]) }
            if let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) {
                return (nil, ["--data-raw", quoted(text)])
            }
            let octal = bytes.map { byte in
                let digits = String(byte, radix: 8)
                return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
            }
            return ("printf '\(octal.joined())'", ["--data-binary", "@-"])
        }
    }

    /// A longer body would not fit into a command line; it is shown as the file `BODY`.
    private static let maximumBody = 16 << 10
}
