// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The client's offer of permessage-deflate (RFC 7692 section 7.1), against which the response is checked.
package struct DeflateOffer: Sendable, Equatable {
    /// The largest window of the client's compressor, as a power of two: 9 to 15. Default 12.
    package var window = 12
    /// Whether messages may refer to earlier messages. Default: true.
    package var takeover = true
    /// Shorter messages are sent as they are, in bytes. Default 256.
    package var threshold = 256

    package init() {}

    static let name = "permessage-deflate"

    /// The value of Sec-WebSocket-Extensions.
    package var field: String {
        let base = "\(Self.name); client_max_window_bits"
        return takeover ? base : base + "; client_no_context_takeover; server_no_context_takeover"
    }

    /// Reads a response's Sec-WebSocket-Extensions; nil without agreement. Throws the fault of the value.
    ///
    /// - Parameter offer: nil without an offer.
    package static func agreement(
        _ value: String, to offer: DeflateOffer?
    ) throws(WebSocketFault) -> DeflateAgreement? {
        let extensions = split(value, at: UInt8(ascii: ",")).filter { !$0.isEmpty }
        guard let first = extensions.first else { return nil }
        guard extensions.count == 1 else { throw .broken("the server agreed to several extensions") }
        let parts = split(first, at: UInt8(ascii: ";"))
        guard let offer, parts.first == Self.name else {
            throw .broken("the server agreed to an extension that was not offered")
        }
        var agreement = DeflateAgreement(offer)
        var seen: Set<String> = []
        for part in parts.dropFirst() {
            let (name, value) = parameter(part)
            guard seen.insert(name).inserted else {
                throw .broken("\(shown(name)) stands twice in Sec-WebSocket-Extensions")
            }
            try agreement.take(name, value)
        }
        return agreement
    }

    static func shown(_ text: String) -> String { String(text.prefix(40)) }

    private static func parameter(_ text: String) -> (String, String?) {
        guard let equals = text.firstIndex(of: "=") else { return (text.lowercased(), nil) }
        let name = String(trimmed(Array(text[..<equals].utf8))).lowercased()
        var value = String(trimmed(Array(text[text.index(after: equals)...].utf8)))
        if value.count >= 2, value.first == "\"", value.last == "\"" { value = String(value.dropFirst().dropLast()) }
        return (name, value)
    }

    /// Splits at a separator outside of quotes, and trims the parts.
    private static func split(_ text: String, at separator: UInt8) -> [String] {
        var parts: [String] = []
        var part: [UInt8] = []
        var isQuoted = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == separator, !isQuoted {
                parts.append(trimmed(part))
                part = []
            } else {
                part.append(byte)
            }
        }
        parts.append(trimmed(part))
        return parts
    }

    private static func trimmed(_ bytes: [UInt8]) -> String {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let inner = bytes.drop(while: isBlank).reversed().drop(while: isBlank).reversed()
        return String(decoding: inner, as: UTF8.self)
    }
}

/// The permessage-deflate that both sides use.
package struct DeflateAgreement: Sendable, Equatable {
    /// The window of the client's compressor: 8 to 15, and at most the offer's. zlib cannot make raw windows of 8: then
    /// nothing is compressed.
    package var clientWindow: Int
    /// Whether the compressor keeps its window between messages.
    package var clientTakeover: Bool
    /// Whether the server does.
    package var serverTakeover = true
    /// The window of the server's compressor.
    package var serverWindow = 15
    package var threshold: Int

    init(_ offer: DeflateOffer) {
        clientWindow = offer.window
        clientTakeover = offer.takeover
        threshold = offer.threshold
    }

    fileprivate mutating func take(_ name: String, _ value: String?) throws(WebSocketFault) {
        switch (name, value) {
        case ("server_no_context_takeover", nil): serverTakeover = false
        case ("client_no_context_takeover", nil): clientTakeover = false
        case ("server_max_window_bits", .some(let value)): serverWindow = try Self.bits(value, of: name)
        case ("client_max_window_bits", .some(let value)):
            clientWindow = min(clientWindow, try Self.bits(value, of: name))
        default: throw .broken("Sec-WebSocket-Extensions holds a wrong parameter: \(DeflateOffer.shown(name))")
        }
    }

    private static func bits(_ text: String, of name: String) throws(WebSocketFault) -> Int {
        switch text {
        case "8", "9", "10", "11", "12", "13", "14", "15": return Int(text) ?? 15
        default: throw .broken("\(name) in Sec-WebSocket-Extensions is not 8 to 15")
        }
    }
}
