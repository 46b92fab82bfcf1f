// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An error code of HTTP/2 (RFC 9113 section 7).
package struct HTTP2ErrorCode: Sendable, Hashable, RawRepresentable, CustomStringConvertible {
    package var rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let noError = HTTP2ErrorCode(rawValue: 0)
    package static let protocolError = HTTP2ErrorCode(rawValue: 1)
    package static let internalError = HTTP2ErrorCode(rawValue: 2)
    package static let flowControlError = HTTP2ErrorCode(rawValue: 3)
    package static let settingsTimeout = HTTP2ErrorCode(rawValue: 4)
    package static let frameSizeError = HTTP2ErrorCode(rawValue: 6)
    package static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    package static let cancel = HTTP2ErrorCode(rawValue: 8)
    package static let compressionError = HTTP2ErrorCode(rawValue: 9)
    package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)
    package static let http11Required = HTTP2ErrorCode(rawValue: 13)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name in RFC 9113; the number of an unknown code.
    package var description: String {
        rawValue < 14 ? Self.names[Int(rawValue)] : "error \(rawValue)"  // safe: below 14
    }
}

/// An error reported by the peer or found by the machine, with a sentence if available.
package struct HTTP2Fault: Error, Sendable, Equatable {
    package var code: HTTP2ErrorCode
    /// Debug data of the peer's GOAWAY (at most 200 bytes), or the machine's own reason; may be empty.
    package var text: String
    /// Whether only a stream has ended, and not the connection.
    package var isOfStream = false

    package init(_ code: HTTP2ErrorCode, _ text: String = "") {
        self.code = code
        self.text = text
    }

    /// The same for a stream alone.
    package var ofStream: HTTP2Fault {
        var fault = self
        fault.isOfStream = true
        return fault
    }

    /// The server responds over HTTP/1.
    static let speaksHTTP1 = HTTP2Fault(.protocolError, "the server speaks HTTP/1")
    /// The first bytes of the server are text: an error page of HTTP/0.9, or a banner.
    static let sendsText = HTTP2Fault(.frameSizeError, "the server sends text")

    /// Whether the server does not speak HTTP/2 at all.
    var isOtherProtocol: Bool { self == .speaksHTTP1 || self == .sendsText }

    /// "ENHANCE_YOUR_CALM: too many pings".
    package var described: String { text.isEmpty ? code.description : "\(code): \(text)" }
}
