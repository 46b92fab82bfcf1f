// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

@testable import OutriderHTTP

/// A machine and the peer that a test plays: frames in, events and frames out.
final class HTTP2Bench {
    var machine: HTTP2Machine
    let reserve: HTTP2WindowReserve
    var encoder = HPACKEncoder()
    var writer = HTTP2FrameWriter()
    var now = 0.0
    /// Everything that was handed out, in order.
    private(set) var events: [HTTP2Event] = []
    private(set) var bodies: [UInt32: [UInt8]] = [:]
    /// Whether bodies and past events are kept: random frames need neither.
    var remembers = true

    init(reserve: HTTP2WindowReserve = HTTP2WindowReserve(), settings: [(HTTP2Settings.Name, UInt32)] = []) {
        self.reserve = reserve
        machine = HTTP2Machine(reserve: reserve, now: 0)
        _ = sent()
        writer.settings(settings)
        writer.settingsAck()
        flow()
        _ = sent()
        events = []
    }

    var isClosed: Bool { machine.isClosed }
    var openStreams: Int { machine.openStreams }
    var capacity: Int { machine.capacity }

    func nextData() -> HTTP2DataTurn? { machine.nextData() }

    static let url = HTTPURL(scheme: .https, host: "a.test", port: 443, target: "/x")

    @discardableResult
    func begin(_ method: String = "GET", hasBody: Bool = false, priority: RequestPriority = .normal) -> HTTP2StreamID? {
        let attempt = Attempt(method: method, url: Self.url, fields: [])
        return try? machine.begin(HTTP2Request(attempt, hasBody: hasBody, priority: priority), now: now)
    }

    // MARK: what the peer sends

    func head(_ stream: UInt32, _ fields: [(String, String)], end: Bool = false) {
        let start = writer.beginHeaders(stream: stream, endStream: end)
        encoder.begin(&writer.output)
        for (name, value) in fields { encoder.field(name, value, &writer.output) }
        writer.endHeaders(start, stream: stream, endStream: end)
    }

    func data(_ stream: UInt32, _ bytes: [UInt8], end: Bool = false) {
        writer.head(.data, length: bytes.count, flags: end ? 1 : 0, stream: stream)
        bytes.withUnsafeBytes { writer.output.append($0) }
    }

    func raw(_ kind: HTTP2FrameKind, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) {
        writer.head(kind, length: payload.count, flags: flags, stream: stream)
        payload.withUnsafeBytes { writer.output.append($0) }
    }

    /// Gives the machine what was written, in one piece or in several.
    func flow(cut: Int = .max) {
        let bytes = writer.take { Array($0) }
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = start + min(cut, bytes.count - start)
                while start < end {
                    let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                    start += machine.received(piece, now: now)
                    while let event = machine.nextEvent() {
                        events.append(event)
                        guard remembers, case .body(let id, let range) = event else { continue }
                        bodies[id.number, default: []] += piece[range]
                    }
                }
            }
        }
        while let event = machine.nextEvent() { events.append(event) }
    }

    /// The events since the last call, the DATA without its places.
    func took() -> [HTTP2Event] {
        while let event = machine.nextEvent() { events.append(event) }
        defer { events = [] }
        return events
    }

    /// The frames that the machine has written, without the preface.
    func sent() -> [(head: HTTP2FrameHead, payload: [UInt8])] {
        let acks = machine.unsentAcks
        var bytes = machine.takeOutput { Array($0) }
        machine.written(acks)
        if bytes.starts(with: Array("PRI".utf8)) { bytes.removeFirst(24) }
        var frames: [(head: HTTP2FrameHead, payload: [UInt8])] = []
        while bytes.count >= 9 {
            let head = bytes.withUnsafeBytes { HTTP2FrameHead($0[..<9]) }
            // the caller writes the bytes of DATA
            let length = head.kind == .data ? 0 : head.length
            frames.append((head, Array(bytes[9..<9 + length])))
            bytes.removeFirst(9 + length)
        }
        return frames
    }

    func kinds() -> [HTTP2FrameKind] { sent().map(\.head.kind) }
}

extension [HTTP2Event] {
    /// How a stream ended, if it broke.
    var broke: HTTP2StreamEnd? {
        for case .broke(_, let end) in self { return end }
        return nil
    }

    var failure: HTTPFailure? { if case .failed(let failure) = broke { failure } else { nil } }

    var closed: HTTP2Fault? {
        for case .close(let fault) in self { return fault }
        return nil
    }

    var ended: Int { count { if case .ended = $0 { true } else { false } } }
}
