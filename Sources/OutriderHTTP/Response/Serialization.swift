// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderJSON

/// The body of a response in its final shape.
package struct SerializedBody: Sendable {
    package enum Shape: Sendable {
        case none
        case json(JSONText)
        case text(String, charset: String)
        /// The original bytes; the message writer encodes them.
        case base64
        /// Bytes that differ from the received ones after preprocessing.
        case data([UInt8])
    }

    package var shape: Shape
    /// Why the shape differs from the requested shape.
    package var note: String?
    /// Why the response failed, where the caller insisted on a shape.
    package var failure: HTTPFailure?
    /// The name of the selected case, if any.
    package var branch: String?
    /// The memory of a long value that a callback made.
    package var holder: (any BodyHolder)?

    package init(_ shape: Shape, note: String? = nil, failure: HTTPFailure? = nil) {
        self.shape = shape
        self.note = note
        self.failure = failure
    }
}

/// Decides the shape of a body: the requested shape, or the nearest shape without loss.
///
/// | requested | shape                                                                                           |
/// |-----------|-------------------------------------------------------------------------------------------------|
/// | `auto`    | by Content-Type: JSON, else text, else base64; each falls back to the next, with a note         |
/// | `json`    | JSON; else text or base64, a note, and failure 1704 (1700 when empty)                           |
/// | `text`    | text; else base64, a note, and failure 1703                                                     |
/// | `base64`  | base64                                                                                          |
/// | `none`    | nothing                                                                                         |
/// | `propertyList` | its value as JSON; else as `auto`, a note, and failure 1705 (1700 when empty)              |
///
/// An empty body is `none`. Text with U+0000 counts as not decodable, because clients lose or change U+0000.
package enum Serialization {
    /// - Parameters:
    ///   - contentType: the response's field, as received.
    ///   - emptyIsFine: the response had to be empty: to HEAD, or with status 204, 205 or 304.
    ///   - check: of the stored body that these bytes are; nil for a body from the network.
    package static func serialize(
        _ bytes: [UInt8], as spec: SerializeSpec, contentType: String?, emptyIsFine: Bool = false,
        check: JSONCheck? = nil
    ) -> SerializedBody {
        let type = contentType.flatMap(MediaType.init(parsing:))
        if bytes.isEmpty { return empty(spec, emptyIsFine) }
        switch spec.shape {
        case .none: return SerializedBody(.none)
        case .base64: return SerializedBody(.base64)
        case .text:
            guard let text = text(bytes, spec, type) else {
                let note = undecodable(bytes, spec, type)
                let encoding = FailureDetail.encoding(charset(spec, type) ?? Charset.utf8.name)
                return SerializedBody(
                    .base64, note: note,
                    failure: HTTPFailure(.stringSerializationFailed, note, sent: .sent, details: [encoding]))
            }
            return SerializedBody(text)
        case .json:
            return json(bytes, spec, type, check) { note in
                HTTPFailure(
                    .jsonSerializationFailed, "the body of the response is \(note)", sent: .sent,
                    underlying: .init(.json, 0, note))
            }
        case .propertyList: return propertyList(bytes, spec, type)
        case .auto:
            if type?.isJSON == true { return json(bytes, spec, type, check) { _ in nil } }
            guard type == nil || type?.isTextual == true else { return SerializedBody(.base64) }
            guard let text = text(bytes, spec, type) else {
                return SerializedBody(.base64, note: type == nil ? nil : undecodable(bytes, spec, type))
            }
            return SerializedBody(text)
        }
    }

    private static func empty(_ spec: SerializeSpec, _ emptyIsFine: Bool) -> SerializedBody {
        guard spec.shape == .json || spec.shape == .propertyList, !emptyIsFine else { return SerializedBody(.none) }
        let wanted = spec.shape == .json ? "JSON" : "a property list"
        return SerializedBody(
            .none,
            failure: HTTPFailure(
                .inputDataNilOrZeroLength, "the response is empty, and \(wanted) was asked for", sent: .sent))
    }

    private static func text(_ bytes: [UInt8], _ spec: SerializeSpec, _ type: MediaType?) -> SerializedBody.Shape? {
        let decoded = TextDecoding.decode(
            bytes, wanted: spec.encoding, declared: type?.charset, fallback: spec.extras?.fallback)
        guard var decoded, !holdsNul(&decoded.text) else { return nil }
        return .text(decoded.text, charset: decoded.charset.name)
    }

    /// By memchr, because bodies are long.
    private static func holdsNul(_ text: inout String) -> Bool {
        text.withUTF8 { bytes in
            bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
        }
    }

    /// The charset from the caller or from the response; nil if neither names a charset.
    private static func charset(_ spec: SerializeSpec, _ type: MediaType?) -> String? {
        if let wanted = spec.encoding { return wanted }
        guard let fallback = spec.extras?.fallback else { return type?.charset }
        return type?.charset.flatMap { Charset(label: $0) == nil ? nil : $0 } ?? fallback
    }

    private static func undecodable(_ bytes: [UInt8], _ spec: SerializeSpec, _ type: MediaType?) -> String {
        let label = charset(spec, type)
        if let label, Charset(label: label) == nil { return "the charset \(FieldRules.shown(label)) is not known" }
        let decoded = TextDecoding.decode(bytes, wanted: label)
        let charset = label.flatMap(Charset.init(label:)) ?? .utf8
        return decoded == nil ? "the body is not \(charset.name) text" : "the body is text that holds U+0000"
    }

    private static func json(
        _ bytes: [UInt8], _ spec: SerializeSpec, _ type: MediaType?, _ check: JSONCheck?,
        _ failure: (String) -> HTTPFailure?
    ) -> SerializedBody {
        // another encoding than the one of the check makes another text
        let check = spec.encoding == nil ? check : nil
        if check?.hasPassed(bytes) == true { return SerializedBody(.json(JSONText(written: bytes))) }
        do {
            let text = try JSONText(
                checking: utf8(bytes, wanted: spec.encoding, declared: type?.charset), limits: limits)
            check?.learn(bytes, text)
            return SerializedBody(.json(text))
        } catch {
            let note = "not JSON: \(error.reason)"
            let shape = text(bytes, spec, type) ?? .base64
            return SerializedBody(shape, note: note, failure: failure(note))
        }
    }

    private static func propertyList(_ bytes: [UInt8], _ spec: SerializeSpec, _ type: MediaType?) -> SerializedBody {
        do {
            return SerializedBody(.json(try PropertyListReading.json(bytes)))
        } catch {
            let note = "not a property list: \(error.reason)"
            return SerializedBody(
                text(bytes, spec, type) ?? .base64, note: note,
                failure: HTTPFailure(.decodingFailed, "the body of the response is \(note)", sent: .sent))
        }
    }

    /// JSON is UTF-8 (RFC 8259 section 8.1); other charsets are converted, and a byte order mark is removed.
    static func utf8(_ bytes: [UInt8], wanted: String?, declared: String?) -> [UInt8] {
        // the mark of UTF-32BE begins with a zero
        let plain = bytes.first.map { $0 < 0x80 && $0 != 0 } ?? true
        let charset = (wanted ?? declared).map(Charset.init(label:)) ?? .utf8
        if plain, charset == .utf8 { return bytes }
        return TextDecoding.decode(bytes, wanted: wanted, declared: declared).map { Array($0.text.utf8) } ?? bytes
    }

    /// The text is only passed through: the depth limit protects the client's parser.
    static let limits: JSONLimits = {
        var limits = JSONLimits()
        limits.tokens = 1 << 24
        limits.members = 1 << 24
        limits.hasLongIntegers = true
        return limits
    }()
}
