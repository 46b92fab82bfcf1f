// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// A TCP stream of a client: its reading half is a `ReadStream`, its writing half an `UploadStream`, and a request that
/// carries both.
///
///     open ──the peer ends──▶ reading over ──stream.finish──▶ over
///       └───stream.finish──▶ writing over ──the peer ends──────▲
final class TCPStream: StreamPartner, DuplexOwner {
    /// The facts that are known when the stream is open.
    struct Opening: Sendable {
        var timeline: Timeline
        var security: DuplexSecurity?
    }

    private struct Contents {
        var opening: Opening?
        var control: (any DuplexControl)?
        weak var stream: ReadStream?
        weak var exchange: Exchange?
        /// The client knows of the end of reading.
        var isReleased = false
        var isOver = false
        var pipe: (any RawPipe)?
        /// Reports the end of reading.
        var ending: Task<HTTPFailure?, Never>?
        /// Reports the end of writing.
        var writing: Task<Void, Never>?
    }

    let upload: UploadStream
    /// Whether the stream leads to a Unix socket, which has no name for a certificate.
    let isUnix: Bool
    private let hub: StreamFanout
    private let peer: any Peer
    private let contents = Mutex(Contents())

    init(to endpoint: HTTPURL, _ hub: StreamFanout, _ peer: any Peer) {
        upload = UploadStream(tcp: endpoint.socketPath ?? endpoint.authorityWithPort)
        isUnix = endpoint.socketPath != nil
        self.hub = hub
        self.peer = peer
    }

    /// Joins the halves. Before the exchange begins.
    func join(_ stream: ReadStream, _ exchange: Exchange) {
        contents.withLock { contents in
            contents.stream = stream
            contents.exchange = exchange
        }
        stream.join(self)
        exchange.whenEnded { [weak self] in self?.over() }
    }

    var opening: Opening? { contents.withLock { $0.opening } }

    /// Whether more may be written.
    var isWriting: Bool { upload.isOpen }

    /// The client knows of the end of reading. Returns whether the handle is still needed for writing.
    func keepsHandle() -> Bool {
        contents.withLock { contents in
            contents.isReleased = true
            return !contents.isOver
        }
    }

    // MARK: calls from the transport

    func opened(_ control: any DuplexControl, _ timeline: Timeline, _ security: DuplexSecurity?) {
        contents.withLock { contents in
            contents.control = control
            contents.opening = Opening(timeline: timeline, security: security)
        }
    }

    func readEnded() { _ = ending }

    /// Returns after the delivery of all bytes and of the end. Throws if the bytes are not wanted any more, or the task
    /// was cancelled.
    func untilReadEnded() async throws(HTTPFailure) {
        let ending = ending
        let failure = await withTaskCancellationHandler {
            await ending.value
        } onCancel: {
            ending.cancel()
        }
        if let failure { throw failure }
    }

    private var ending: Task<HTTPFailure?, Never> {
        contents.withLock { contents in
            if let ending = contents.ending { return ending }
            let hub = hub
            // Ends when all bytes were delivered, or with the stream.
            let ending = Task { () -> HTTPFailure? in
                do throws(HTTPFailure) {
                    try await hub.bodyEnded()
                } catch {
                    // the end of the request ends the streams
                    return error
                }
                // the end of the stream follows all that came before
                await self.contents.withLock { $0.writing }?.value
                await self.tell("readClosed", of: self.contents.withLock { $0.stream }) { !$0.owes }
                await hub.end(nil)
                return nil
            }
            contents.ending = ending
            return ending
        }
    }

    func writeEnded() {
        contents.withLock { contents in
            // the end of both halves follows, and forgets the stream
            let stream = contents.stream
            // Ends with the event.
            contents.writing = Task { await self.tell("writeClosed", of: stream) }
        }
    }

    // MARK: calls from the client

    /// Starts TLS after all bytes written so far.
    func startTLS(_ tls: DuplexTLS) async -> Result<DuplexSecurity, HTTPFailure> {
        let (control, stream) = contents.withLock { ($0.control, $0.stream) }
        guard let control, let stream else {
            return .failure(HTTPFailure(.tcpClosed, "the stream is closed", phase: .tls))
        }
        let (written, delivered) = (upload.written, stream.delivered)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                control.startTLS(tls, written: written, delivered: delivered) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            // a handshake cannot be undone
            close()
        }
        if case .success = result { await tell("secured", of: stream) }
        return result
    }

    func closeRead() { contents.withLock { $0.control }?.closeRead() }

    /// Ends both directions.
    func close() {
        contents.withLock { $0.exchange }?.end(
            with: HTTPFailure(.explicitlyCancelled, "the stream was closed", sent: .sent))
    }

    /// Sends the input of a second connection, as fast as the network takes the bytes, until its end.
    func feed(from pipe: any RawPipe) async {
        let isOpen = contents.withLock { contents in
            if !contents.isOver { contents.pipe = pipe }
            return !contents.isOver
        }
        guard isOpen else { return pipe.finish() }
        while true {
            switch await pipe.read() {
            case .bytes(let bytes):
                guard case .room? = try? await upload.write(bytes, wait: .seconds(86400)) else { return }
            case .end:
                _ = upload.finish()
                return
            case .gone:
                close()
                return pipe.abort()
            }
        }
    }

    private func over() {
        let (pipe, handle) = contents.withLock { contents in
            contents.isOver = true
            contents.control = nil
            defer { contents.pipe = nil }
            return (contents.pipe, contents.isReleased ? contents.stream : nil)
        }
        upload.drop()
        handle?.release()
        pipe?.finish()
    }

    /// Sends an event to the client of a push stream.
    private func tell(
        _ kind: String, of stream: ReadStream?, unless isOver: @escaping @Sendable (ReadStream) -> Bool = \.isClosed
    ) async {
        guard let stream, stream.isPushed, !isOver(stream) else { return }
        let event = SocketEvent(stream: stream.handle, sequence: stream.nextSequence(), kind: kind)
        try? await peer.notify(Event("event.socket", event), unless: { isOver(stream) })
    }
}

/// `event.socket`: the state of a connection behind a push stream.
struct SocketEvent: ObjectShape, Sendable {
    var stream: Handle<ReadStream>
    var sequence: Int
    var kind: String

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("stream", stream)
        writer.member("seq", sequence)
        writer.member("kind", kind)
    }
}

/// Feeds the bytes of a TCP stream to its reading half.
final class TCPOutlet: BodyOutlet {
    let outlet: StreamBodyConsumer
    private let connection: TCPStream

    init(_ hub: StreamFanout, _ connection: TCPStream) {
        outlet = StreamBodyConsumer(hub)
        self.connection = connection
    }

    var hasTaken: Bool { outlet.hasTaken }

    func begin(_ head: ExchangeHead, expecting bytes: Int64?) async throws(HTTPFailure) {
        try await outlet.begin(head, expecting: bytes)
    }

    func take(_ chunk: BodyChunk) async throws(HTTPFailure) { try await outlet.take(chunk) }

    func finish() async throws(HTTPFailure) { try await connection.untilReadEnded() }

    func over(_ outcome: ExchangeOutcome) async { await outlet.over(outcome) }

    func renounce(_ failure: HTTPFailure) { outlet.renounce(failure) }
}
