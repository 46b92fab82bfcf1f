// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Settings of a connection: the client's, which never change, and the peer's (RFC 9113 section 6.5.2).
package struct HTTP2Settings: Sendable, Equatable {
    package struct Name: Sendable, Hashable, RawRepresentable {
        package var rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let headerTableSize = Name(rawValue: 1)
        package static let enablePush = Name(rawValue: 2)
        package static let maxConcurrentStreams = Name(rawValue: 3)
        package static let initialWindowSize = Name(rawValue: 4)
        package static let maxFrameSize = Name(rawValue: 5)
        package static let maxHeaderListSize = Name(rawValue: 6)
        package static let noRFC7540Priorities = Name(rawValue: 9)
    }

    /// Most entries of a frame; more end the connection.
    static let mostEntries = 32
    /// Most concurrent streams of a connection, even if the peer allows more.
    package static let mostStreams = 1000
    /// Streams that are assumed to be allowed until the peer's settings are here.
    static let assumedStreams = 100
    /// The initial receive window of a stream.
    static let streamWindow = 256 << 10
    /// The window of the connection.
    static let connectionWindow = 16 << 20
    /// The window of both before any setting (RFC 9113 section 6.9.2).
    static let defaultWindow = 65_535

    static let ours: [(Name, UInt32)] = [
        (.enablePush, 0), (.initialWindowSize, UInt32(truncatingIfNeeded: streamWindow)),
        (.maxHeaderListSize, UInt32(HTTP2FieldBlock.mostBytes)), (.noRFC7540Priorities, 1),
    ]

    /// SETTINGS_MAX_CONCURRENT_STREAMS, at most `mostStreams`.
    package private(set) var streams = HTTP2Settings.mostStreams
    /// SETTINGS_INITIAL_WINDOW_SIZE: 0 to 2^31-1.
    package private(set) var window = HTTP2Settings.defaultWindow
    /// SETTINGS_HEADER_TABLE_SIZE.
    package private(set) var headerTable = HPACKLimits.table

    /// Applies the payload of a SETTINGS frame. A value out of range is returned as a connection error.
    mutating func take(_ payload: UnsafeRawBufferPointer) -> HTTP2Fault? {
        guard payload.count % 6 == 0 else { return HTTP2Fault(.frameSizeError, "SETTINGS of a wrong length") }
        guard payload.count / 6 <= Self.mostEntries else {
            return HTTP2Fault(.enhanceYourCalm, "SETTINGS with more than \(Self.mostEntries) entries")
        }
        for offset in stride(from: 0, to: payload.count, by: 6) {
            let name = UInt16(payload[offset]) << 8 | UInt16(payload[offset + 1])
            if let fault = set(Name(rawValue: name), Int(truncatingIfNeeded: payload.number(at: offset + 2))) {
                return fault
            }
        }
        return nil
    }

    private mutating func set(_ name: Name, _ value: Int) -> HTTP2Fault? {
        switch name {
        case .headerTableSize: headerTable = min(value, HPACKLimits.table)
        case .enablePush:
            // only a client may have pushing enabled
            if value != 0 { return HTTP2Fault(.protocolError, "SETTINGS_ENABLE_PUSH that is not 0") }
        case .maxConcurrentStreams: streams = min(value, Self.mostStreams)
        case .initialWindowSize:
            guard value <= HTTP2Window.most else {
                return HTTP2Fault(.flowControlError, "SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1")
            }
            window = value
        case .maxFrameSize:
            guard (16_384...16_777_215).contains(value) else {
                return HTTP2Fault(.protocolError, "SETTINGS_MAX_FRAME_SIZE out of range")
            }
        default: break
        }
        return nil
    }
}
