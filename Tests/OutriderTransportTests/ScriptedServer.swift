// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A server on loopback that plays bytes: for every request it reads it asks the script what to do.
final class ScriptedServer: Sendable {
    enum Step: Sendable {
        case send(String)
        case bytes(ByteBuffer)
        /// The same again and again until the other side goes away.
        case flood(ByteBuffer, times: Int)
        case pause(Double)
        case close
        /// The connection ends without TLS having said goodbye.
        case cut
        case reset
    }

    /// A request as it came: the head, and of the body what its length announced.
    struct Request: Sendable {
        var head: String
        var body: ByteBuffer
        /// From 0: the how manyth connection, the how manyth request on it.
        var connection: Int
        var number: Int

        var line: String { String(head.prefix { $0 != "\r\n" && $0 != "\r" && $0 != "\n" }) }
        var path: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
    }

    struct State {
        var requests: [Request] = []
        var connections = 0
    }

    let channel: any Channel
    let state: SharedState

    final class SharedState: Sendable {
        let mutex = Mutex(State())
    }

    /// - Parameters:
    ///   - path: of a Unix socket instead of a port.
    ///   - tls: what to present, for a server that speaks TLS.
    ///   - greeting: what is said before anything is asked.
    ///   - isDeaf: whether it never reads.
    ///   - readsBodies: whether the script is asked when the body is there, rather than at the end of the head.
    init(
        path: String? = nil, tls: NIOSSLContext? = nil, greeting: String = "", isDeaf: Bool = false,
        readsBodies: Bool = true,
        _ script: @escaping @Sendable (Request) -> [Step]
    ) async throws {
        let state = SharedState()
        self.state = state
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: !isDeaf)
            .childChannelInitializer { channel in
                let number = state.mutex.withLock { state in
                    state.connections += 1
                    return state.connections - 1
                }
                let player = Player(number, state, readsBodies: readsBodies, script)
                return channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(player)
                    if !greeting.isEmpty { channel.writeAndFlush(ByteBuffer(string: greeting), promise: nil) }
                }
            }
        if let path {
            channel = try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        } else {
            channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        }
    }

    var port: Int { channel.localAddress?.port ?? 0 }
    var requests: [Request] { state.mutex.withLock { $0.requests } }
    var connections: Int { state.mutex.withLock { $0.connections } }

    func close() async { try? await channel.close() }
}

private final class Player: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let number: Int
    private let state: ScriptedServer.SharedState
    private let readsBodies: Bool
    private let script: @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]
    private var buffer = ByteBuffer()
    private var head: (text: String, length: Int)?
    private var requests = 0
    private var steps: ArraySlice<ScriptedServer.Step> = []
    private var isPlaying = false

    init(
        _ number: Int, _ state: ScriptedServer.SharedState, readsBodies: Bool,
        _ script: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step]
    ) {
        self.number = number
        self.state = state
        self.readsBodies = readsBodies
        self.script = script
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // what follows a head is not looked at where bodies are not read
        if !readsBodies, requests > 0 { return }
        buffer.writeImmutableBuffer(Self.unwrapInboundIn(data))
        while let request = nextRequest() {
            state.mutex.withLock { $0.requests.append(request) }
            steps += script(request)
            if !isPlaying { play(context) }
        }
    }

    private func nextRequest() -> ScriptedServer.Request? {
        if head == nil {
            guard let end = endOfHead, let text = buffer.readString(length: end) else { return nil }
            buffer.moveReaderIndex(forwardBy: 4)
            let length = text.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            head = (text, length.flatMap { Int($0.dropFirst(15).filter(\.isNumber)) } ?? 0)
        }
        guard let (text, length) = head else { return nil }
        guard !readsBodies || buffer.readableBytes >= length else { return nil }
        head = nil
        requests += 1
        let body = buffer.readSlice(length: min(length, buffer.readableBytes)) ?? ByteBuffer()
        return ScriptedServer.Request(head: text, body: body, connection: number, number: requests - 1)
    }

    private var endOfHead: Int? {
        buffer.withUnsafeReadableBytes { bytes in
            var index = 3
            while index < bytes.count {
                if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A { return index - 3 }
                index += 1
            }
            return nil
        }
    }

    private func play(_ context: ChannelHandlerContext) {
        isPlaying = false
        guard let step = steps.popFirst() else { return }
        isPlaying = true
        let me = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let goOn: @Sendable (Result<Void, any Error>) -> Void = { _ in me.value.0.play(me.value.1) }
        switch step {
        case .send(let text):
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: text))).whenComplete(goOn)
        case .bytes(let bytes):
            context.writeAndFlush(Self.wrapOutboundOut(bytes)).whenComplete(goOn)
        case .flood(let bytes, let times):
            if times > 1 { steps.insert(.flood(bytes, times: times - 1), at: steps.startIndex) }
            context.writeAndFlush(Self.wrapOutboundOut(bytes)).whenComplete { result in
                // not from here: the write may have ended at once
                if case .success = result { return me.value.1.eventLoop.execute { me.value.0.play(me.value.1) } }
                me.value.0.steps = []
            }
        case .pause(let seconds):
            context.eventLoop.scheduleTask(in: .nanoseconds(Int64(seconds * 1e9))) { goOn(.success(())) }
        case .close:
            context.close(promise: nil)
        case .cut:
            Self.belowTLS(context).close(promise: nil)
        case .reset:
            let abortively = (context.channel as? any SocketOptionProvider)?.setSoLinger(
                linger(l_onoff: 1, l_linger: 0))
            abortively?.whenComplete { _ in Self.belowTLS(me.value.1).close(promise: nil) }
        }
    }

    private static func belowTLS(_ context: ChannelHandlerContext) -> ChannelHandlerContext {
        (try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)) ?? context
    }
}
