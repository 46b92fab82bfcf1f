// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import NIOCore
import NIOPosix
package import OutriderHTTP
import Synchronization

/// Waits, on this machine only, for the single request with which a browser returns from a login; see LoopbackMachine.
package final class LoopbackListener: Sendable {
    /// The redirect URI.
    package let address: String
    private let channels: [any Channel]
    private let receiver: RedirectReceiver

    /// Number of tries with other ports, if a port is free on one address but taken on another.
    private static let mostTries = 8

    /// Listens until closed. `expects` decides whether a query is the expected response; `arrived` gets that query,
    /// once. Other queries have no effect.
    ///
    /// Throws `config` if the port is taken.
    package static func open(
        _ wishes: LoopbackWishes, group: any EventLoopGroup, expects: @escaping @Sendable (String) -> Bool,
        arrived: @escaping @Sendable (String) -> Void
    ) async throws(OAuthFailure) -> LoopbackListener {
        let receiver = RedirectReceiver(expects, arrived)
        var complaint = ""
        for _ in 0..<(wishes.port == 0 ? mostTries : 1) {
            do {
                let first = try await bind(wishes.addresses[0], wishes.port, group, receiver)
                let port = first.localAddress?.port ?? wishes.port
                let others = try await bindOthers(wishes, port, first, group, receiver)
                return LoopbackListener([first] + others, wishes, port, receiver)
            } catch {
                complaint = "\(error)"
            }
        }
        throw OAuthFailure(
            .config, "port_unavailable",
            "port \(wishes.port) of \(wishes.addresses.joined(separator: " and ")) cannot be listened on (\(complaint)): name "
                + "another one, or none")
    }

    /// Listens on the port at the other addresses. If another program has the port at any of them the port is not used,
    /// because the browser might reach that program. Addresses that the machine does not have are skipped.
    private static func bindOthers(
        _ wishes: LoopbackWishes, _ port: Int, _ first: any Channel, _ group: any EventLoopGroup,
        _ receiver: RedirectReceiver
    ) async throws -> [any Channel] {
        var others: [any Channel] = []
        for address in wishes.addresses.dropFirst() {
            do {
                others.append(try await bind(address, port, group, receiver))
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
        _ address: String, _ port: Int, _ group: any EventLoopGroup, _ receiver: RedirectReceiver
    ) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(VisitorHandler(receiver))
                }
            }
            .bind(host: address, port: port).get()
    }

    private init(_ channels: [any Channel], _ wishes: LoopbackWishes, _ port: Int, _ receiver: RedirectReceiver) {
        self.channels = channels
        self.receiver = receiver
        address = "http://\(wishes.writtenHost):\(port)\(wishes.path)"
        receiver.open(LoopbackMachine(path: wishes.path, host: wishes.writtenHost, port: port))
    }

    /// Accepts no more connections; open connections still get their responses.
    package func close() { for channel in channels { channel.close(promise: nil) } }

    deinit { close() }
}

/// The state that all connections share.
private final class RedirectReceiver: Sendable {
    private struct State {
        /// Nil until the port is known.
        var machine: LoopbackMachine?
        /// Oldest first.
        var visitors: [any Channel] = []
    }

    private let state = Mutex(State())
    private let expects: @Sendable (String) -> Bool
    private let arrived: @Sendable (String) -> Void

    /// A browser opens several at once.
    private static let mostVisitors = 64

    init(_ expects: @escaping @Sendable (String) -> Bool, _ arrived: @escaping @Sendable (String) -> Void) {
        self.expects = expects
        self.arrived = arrived
    }

    func open(_ machine: LoopbackMachine) { state.withLock { $0.machine = machine } }

    /// Adds a visitor. Above the limit the oldest visitor gives way, so that silent visitors cannot lock the browser
    /// out.
    func enter(_ visitor: any Channel) {
        let oldest = state.withLock { state -> (any Channel)? in
            state.visitors.append(visitor)
            return state.visitors.count > Self.mostVisitors ? state.visitors.removeFirst() : nil
        }
        oldest?.close(promise: nil)
    }

    func leave(_ visitor: any Channel) { state.withLock { $0.visitors.removeAll { $0 === visitor } } }

    func respond(_ head: [UInt8]) -> LoopbackMachine.Outcome? {
        state.withLock { $0.machine?.take(head: head, isExpected: expects) }
    }

    func deliver(_ query: String) { arrived(query) }
}

/// A connection: reads a head, responds, closes.
private final class VisitorHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let receiver: RedirectReceiver
    private var head: [UInt8] = []
    private var hasResponded = false
    private var alarm: Scheduled<Void>?

    /// Time limit for the head of the request.
    private static let patience = TimeAmount.milliseconds(10_000)

    init(_ receiver: RedirectReceiver) { self.receiver = receiver }

    func channelActive(context: ChannelHandlerContext) {
        receiver.enter(context.channel)
        let channel = context.channel
        alarm = context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        alarm?.cancel()
        receiver.leave(context.channel)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasResponded else { return }
        let start = max(0, head.count - 3)
        head += Array(buffer: unwrapInboundIn(data))
        if let end = Self.end(of: head, from: start), end <= LoopbackMachine.longestHead {
            return respond(Array(head[..<end]), context)
        }
        if head.count > LoopbackMachine.longestHead { respond([], context) }
    }

    private func respond(_ head: [UInt8], _ context: ChannelHandlerContext) {
        hasResponded = true
        self.head = []
        guard let response = receiver.respond(head) else { return context.close(promise: nil) }
        let (receiver, query, channel) = (receiver, response.query, context.channel)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: response.bytes))).whenComplete { _ in
            // the page is sent before any other effect
            channel.close(mode: .output, promise: nil)
            if let query { receiver.deliver(query) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// The position after the empty line.
    private static func end(of bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= 4 else { return nil }
        for index in start...(bytes.count - 4) where bytes[index...].starts(with: [13, 10, 13, 10]) { return index + 4 }
        return nil
    }
}
