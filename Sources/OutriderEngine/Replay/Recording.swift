// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// Writes an attempt down while it is carried by the network.
// proof: used on the loop of the attempt only.
final class Recording: @unchecked Sendable {
    /// Bytes of a body; a longer one ends the recording.
    private static let most = 64 << 20
    private static let mostChunks = 10_000

    private let tape: Tape
    private var entry: CassetteEntry
    private let login: (username: String, password: String)?
    private let began = ContinuousClock.now
    private var headAt: ContinuousClock.Instant?
    private var held: Int
    private var isOver = false
    private var inner: (any AttemptResponseBody)?
    private let isSocket: Bool
    private let decodes: Bool
    private var sentTap = FrameTap()
    private var receivedTap = FrameTap()

    init(_ tape: Tape, _ request: ReplayRequest, _ attempt: Attempt) {
        self.tape = tape
        entry = CassetteEntry(request)
        entry.started = WallTime.now.milliseconds
        login = (attempt.login?.credential).map { ($0.username, $0.password) }
        held = request.body.count
        isSocket = attempt.upgrade != nil
        decodes = attempt.decodesContent
        _ = tape.hold(held)
    }

    deinit { if !isOver { tape.letGo(held) } }

    private func milliseconds(since start: ContinuousClock.Instant) -> Double {
        start.duration(to: .now) / .milliseconds(1)
    }

    // MARK: what happens

    /// The head has come, or the failure in its place.
    func began(_ result: Result<AttemptResponse, HTTPFailure>) {
        guard !isOver else { return }
        switch result {
        case .failure(let failure):
            if failure.kind == .explicitlyCancelled { return drop() }
            entry.wait = milliseconds(since: began)
            end(failure)
        case .success(let response):
            entry.wait = milliseconds(since: began)
            headAt = .now
            entry.head = AttemptScript.Head(
                status: response.status, reason: response.reason, version: response.version, fields: response.fields)
            inner = response.body
            if isSocket, response.status == 101 { entry.messages = [] }
            entry.isCoded = !decodes && entry.hasCoding
        }
    }

    /// A piece of the body was handed over, or its end.
    func took(_ piece: Result<ByteBuffer?, HTTPFailure>) {
        guard !isOver else { return }
        switch piece {
        case .failure(let failure):
            if failure.kind == .explicitlyCancelled { cut() } else { end(failure) }
        case .success(nil):
            entry.trailers = inner?.trailers ?? []
            end(nil)
        case .success(let bytes?):
            guard hold(bytes.readableBytes) else { return }
            if entry.messages != nil { return note(receivedTap.feed(bytes.readableBytesView), isSent: false) }
            entry.body.append(contentsOf: bytes.readableBytesView)
            note(bytes.readableBytes)
        }
    }

    /// Bytes that were written to a WebSocket.
    func sent(_ bytes: [UInt8]) {
        guard !isOver, entry.messages != nil, hold(bytes.count) else { return }
        note(sentTap.feed(bytes), isSent: true)
    }

    /// The rest of the body is not wanted.
    func cut() {
        guard !isOver else { return }
        guard entry.head != nil else { return drop() }
        entry.isCut = !isComplete
        end(nil)
    }

    /// Whether the whole body was taken, or there is none, though its end was not asked for.
    private var isComplete: Bool {
        guard let head = entry.head, entry.messages == nil else { return false }
        if entry.request.method == "HEAD" || head.status == 204 || head.status == 304 { return true }
        return !head.fields.contains("Content-Encoding")
            && head.fields.first("Content-Length") == "\(entry.body.count)"
    }

    private func drop() {
        guard !isOver else { return }
        isOver = true
        tape.letGo(held)
    }

    private func hold(_ count: Int) -> Bool {
        held += count
        guard tape.hold(count), entry.body.count + count <= Self.most else {
            tape.tooLong(entry.request.title, Self.most)
            drop()
            return false
        }
        return true
    }

    private func note(_ count: Int) {
        guard let headAt else { return }
        if entry.chunks.count < Self.mostChunks {
            entry.chunks.append(.init(time: milliseconds(since: headAt), count: count))
        } else {
            entry.chunks[entry.chunks.count - 1].count += count
        }
    }

    private func note(_ found: [(opcode: UInt8, bytes: [UInt8])], isSent: Bool) {
        // an empty message takes room, too
        guard hold(found.count * 64) else { return }
        let time = Double(WallTime.now.milliseconds) / 1000
        for (opcode, bytes) in found where opcode < 9 {
            entry.messages?.append(ReplayMessage(isSent: isSent, opcode: opcode, bytes: bytes, time: time))
        }
    }

    /// Whether the borders of the pieces matter: a stream by its type, or a body that took its time.
    private var isStream: Bool {
        let type = entry.head?.fields.first("Content-Type").flatMap(MediaType.init(parsing:))
        let streams = ["event-stream", "x-ndjson", "ndjson", "jsonl", "x-jsonlines", "json-seq", "x-mixed-replace"]
        if let type, streams.contains(type.subtype) { return true }
        if type?.subtype == "json" || type?.subtype.hasSuffix("+json") == true { return false }
        return (entry.chunks.last?.time ?? 0) - (entry.chunks.first?.time ?? 0) >= 100
    }

    private func end(_ failure: HTTPFailure?) {
        guard !isOver else { return }
        isOver = true
        entry.failure = failure
        entry.total = milliseconds(since: began)
        if !isStream { entry.chunks = [] }
        tape.write(entry, login: login, held: held)
    }
}

/// Hears of the connection of a WebSocket that is recorded.
final class RecordedOwner: UpgradeOwner {
    private let owner: any UpgradeOwner
    private let recording: Recording

    init(_ owner: any UpgradeOwner, _ recording: Recording) {
        self.owner = owner
        self.recording = recording
    }

    func upgraded(_ link: any UpgradeLink) { owner.upgraded(RecordedLink(link, recording)) }
}

/// The sending side of a WebSocket that is recorded.
private final class RecordedLink: UpgradeLink {
    private let link: any UpgradeLink
    private let recording: Recording

    init(_ link: any UpgradeLink, _ recording: Recording) {
        self.link = link
        self.recording = recording
    }

    func onLoop(_ work: @escaping @Sendable () -> Void) { link.onLoop(work) }
    func soon(_ work: @escaping @Sendable () -> Void) { link.soon(work) }
    func finish(within seconds: Double) { link.finish(within: seconds) }
    func shortenReads() { link.shortenReads() }

    func write(_ bytes: [UInt8], _ completion: @escaping @Sendable (Bool) -> Void) {
        recording.sent(bytes)
        link.write(bytes, completion)
    }
}
