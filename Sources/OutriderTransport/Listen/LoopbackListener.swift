// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import NIOCore
import NIOPosix
package import OutriderHTTP
import Synchronization

/// Waits on this machine alone for the one request with which a browser comes back from a login; see LoopbackMachine.
package final class LoopbackListener: Sendable {
    /// The redirect URI.
    package let address: String
    private let channels: [any Channel]
    private let desk: Desk

    /// So often another port is tried where one is free on one address and taken on the other.
    private static let mostTries = 8

    /// Listens until it is closed. `arrived` hears of the answer, once, with what stood behind the question mark;
    /// `expects` says whether a query is the answer, and all others change nothing.
    ///
    /// Throws `config` if the port is taken.
    package static func open(
        _ wishes: LoopbackWishes, group: any EventLoopGroup, expects: @escaping @Sendable (String) -> Bool,
        arrived: @escaping @Sendable (String) -> Void
    ) async throws(OAuthFailure) -> LoopbackListener {
        let desk = Desk(expects, arrived)
        var complaint = ""
        for _ in 0..<(wishes.port == 0 ? mostTries : 1) {
            do {
                let first = try await bind(wishes.addresses[0], wishes.port, group, desk)
                let port = first.localAddress?.port ?? wishes.port
                let others = try await bindOthers(wishes, port, first, group, desk)
                return LoopbackListener([first] + others, wishes, port, desk)
            } catch {
                complaint = "\(error)"
            }
        }
        throw OAuthFailure(
            .config, "port_unavailable",
            "port \(wishes.port) of \(wishes.addresses.joined(separator: " and ")) cannot be listened on (\(complaint)): name "
                + "another one, or none")
    }

    /// A port that somebody else has on another address would send the browser to him: then it is not taken. A machine may
    /// have no such address at all.
    private static func bindOthers(
        _ wishes: LoopbackWishes, _ port: Int, _ first: any Channel, _ group: any EventLoopGroup, _ desk: Desk
    ) async throws -> [any Channel] {
        var others: [any Channel] = []
        for address in wishes.addresses.dropFirst() {
            do {
                others.append(try await bind(address, port, group, desk))
            } catch let error as IOError where error.errnoCode == EADDRINUSE || error.errnoCode == EACCES {
                for channel in [first] + others { channel.close(promise: nil) }
                throw error
            } catch {
                continue
            }
        }
        return others
    }

    private static func bind(
        _ address: String, _ port: Int, _ group: any EventLoopGroup, _ desk: Desk
    ) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(VisitorHandler(desk))
                }
            }
            .bind(host: address, port: port).get()
    }

    private init(_ channels: [any Channel], _ wishes: LoopbackWishes, _ port: Int, _ desk: Desk) {
        self.channels = channels
        self.desk = desk
        address = "http://\(wishes.writtenHost):\(port)\(wishes.path)"
        desk.open(LoopbackMachine(path: wishes.path, host: wishes.writtenHost, port: port))
    }

    /// Takes no more connections; those that are there get their answers.
    package func close() { for channel in channels { channel.close(promise: nil) } }

    deinit { close() }
}

/// What its connections share.
private final class Desk: Sendable {
    private struct State {
        /// Nil until it is known where we listen.
        var machine: LoopbackMachine?
        /// Oldest first.
        var visitors: [any Channel] = []
    }

    private let state = Mutex(State())
    private let expects: @Sendable (String) -> Bool
    private let arrived: @Sendable (String) -> Void

    /// A browser opens a few at once.
    private static let mostVisitors = 64

    init(_ expects: @escaping @Sendable (String) -> Bool, _ arrived: @escaping @Sendable (String) -> Void) {
        self.expects = expects
        self.arrived = arrived
    }

    func open(_ machine: LoopbackMachine) { state.withLock { $0.machine = machine } }

    /// One more visitor. Where there are too many the oldest gives way: it said nothing for longest, and visitors that say
    /// nothing must not keep the browser out.
    func enter(_ visitor: any Channel) {
        let oldest = state.withLock { state -> (any Channel)? in
            state.visitors.append(visitor)
            return state.visitors.count > Self.mostVisitors ? state.visitors.removeFirst() : nil
        }
        oldest?.close(promise: nil)
    }

    func leave(_ visitor: any Channel) { state.withLock { $0.visitors.removeAll { $0 === visitor } } }

    func answer(_ head: [UInt8]) -> LoopbackMachine.Answer? {
        state.withLock { $0.machine?.take(head: head, isExpected: expects) }
    }

    func deliver(_ query: String) { arrived(query) }
}

/// One connection: reads a head, answers, closes.
private final class VisitorHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let desk: Desk
    private var head: [UInt8] = []
    private var isAnswered = false
    private var alarm: Scheduled<Void>?

    /// How long it may take to say what it wants.
    private static let patience = TimeAmount.milliseconds(10_000)

    init(_ desk: Desk) { self.desk = desk }

    func channelActive(context: ChannelHandlerContext) {
        desk.enter(context.channel)
        let channel = context.channel
        alarm = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        alarm?.cancel()
        desk.leave(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isAnswered else { return }
        let start = max(0, head.count - 3)
        head += Array(buffer: unwrapInboundIn(data))
        if let end = Self.end(of: head, from: start), end <= LoopbackMachine.longestHead {
            return answer(Array(head[..<end]), context)
        }
        if head.count > LoopbackMachine.longestHead { answer([], context) }
    }

    private func answer(_ head: [UInt8], _ context: ChannelHandlerContext) {
        isAnswered = true
        self.head = []
        guard let answer = desk.answer(head) else { return context.close(promise: nil) }
        let (desk, query, channel) = (desk, answer.query, context.channel)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer.bytes))).whenComplete { _ in
            // the page is out before anything else happens
            channel.close(mode: .output, promise: nil)
            if let query { desk.deliver(query) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Behind the empty line.
    private static func end(of bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in start...(bytes.count - 4) where bytes[index...].starts(with: [13, 10, 13, 10]) { return index + 4 }
        return nil
    }
}
