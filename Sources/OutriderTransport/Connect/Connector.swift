// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOPosix
import OutriderHTTP

/// Connects to the first address that accepts, with a head start for earlier addresses (RFC 8305): the next attempt
/// starts after a failure, or 250 ms later; all others are closed after the first success. A Unix socket whose queue is
/// full is tried until it accepts, as by programs that block.
///
/// Has no deadline of its own: the caller calls `cancel`.
// proof: every method runs on `loop`, and asserts it; other threads only carry the reference.
final class Connector: @unchecked Sendable {
    /// How long an address may delay the next (RFC 8305 section 5).
    static let headStart = TimeAmount.milliseconds(250)

    /// A silent peer is asked for a sign of life after a minute, and is gone after four questions in another minute.
    private static let keepAlive: [(NIOBSDSocket.Option, ChannelOptions.Types.SocketOption.Value)] = [
        (.init(rawValue: TCP_KEEPIDLE), 60), (.init(rawValue: TCP_KEEPINTVL), 15), (.init(rawValue: TCP_KEEPCNT), 4),
    ]

    private let loop: any EventLoop
    private var left: ArraySlice<SocketAddress>
    private var trying: [any Channel] = []
    private var underWay = 0
    private var failures: [HTTPFailure] = []
    private var stagger: Scheduled<Void>?
    /// The next wait for a place in the queue of a Unix socket.
    private var pause = TimeAmount.milliseconds(2)
    private static let longestPause = TimeAmount.milliseconds(100)
    private var completion: ((Result<any Channel, HTTPFailure>) -> Void)?
    private let abstract: String?

    /// - Parameter abstract: the name of a socket in the abstract namespace, in place of its address.
    init(to addresses: [SocketAddress], on loop: any EventLoop, abstract: String? = nil) {
        self.loop = loop
        self.abstract = abstract
        left = Self.interleaved(addresses)[...]
    }

    /// Calls back once, on the loop, unless cancelled before. The channel does not read by itself.
    func start(_ completion: @escaping (Result<any Channel, HTTPFailure>) -> Void) {
        loop.assertInEventLoop()
        self.completion = completion
        tryNext()
    }

    /// Cancels without calling back.
    func cancel() {
        loop.assertInEventLoop()
        completion = nil
        end(except: nil)
    }

    private func tryNext() {
        stagger?.cancel()
        guard completion != nil, let address = left.popFirst() else { return }
        underWay += 1
        connect(to: address).hop(to: loop).assumeIsolated().whenComplete { result in
            self.underWay -= 1
            switch result {
            case .success(let channel): self.connected(channel)
            case .failure(let error as IOError) where error.errnoCode == EAGAIN && address.protocol == .unix:
                self.tryAgain(address)
            case .failure(let error):
                self.failed(
                    FailureBridge.connecting(
                        error, to: address, isOffline: !NetworkPath.isAvailable,
                        hasOwnAddress: NetworkPath.hasAddress(towards: address)))
            }
        }
        guard completion != nil, !left.isEmpty else { return }
        // an attempt that failed at once has begun the next already
        stagger?.cancel()
        stagger = loop.assumeIsolated().scheduleTask(in: Self.headStart) { self.tryNext() }
    }

    /// The queue of the listener is full, and the kernel does not tell when a place is free.
    private func tryAgain(_ address: SocketAddress) {
        guard completion != nil else { return }
        trying = []
        stagger = loop.assumeIsolated().scheduleTask(in: pause) {
            self.left = [address]
            self.tryNext()
        }
        pause = min(pause * 2, Self.longestPause)
    }

    private func connect(to address: SocketAddress) -> EventLoopFuture<any Channel> {
        var bootstrap = ClientBootstrap(group: loop)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: ReadBufferSizing.usualReads)
            // the attempt sets its own limit, shorter or longer
            .connectTimeout(.hours(1))
            .channelInitializer { channel in
                self.trying.append(channel)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
        if address.protocol != .unix {
            bootstrap = bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelOption(.socketOption(.so_keepalive), value: 1)
            for (option, value) in Self.keepAlive {
                bootstrap = bootstrap.channelOption(.tcpOption(option), value: value)
            }
        }
        guard let abstract else { return bootstrap.connect(to: address) }
        do {
            return bootstrap.withConnectedSocket(try AbstractSocket.connect(to: abstract))
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    private func connected(_ channel: any Channel) {
        guard let completion else { return channel.close(promise: nil) }
        self.completion = nil
        end(except: channel)
        completion(.success(channel))
    }

    private func failed(_ failure: HTTPFailure) {
        failures.append(failure)
        guard let completion else { return }
        if !left.isEmpty { return tryNext() }
        guard underWay == 0 else { return }
        self.completion = nil
        end(except: nil)
        completion(.failure(Self.worst(of: failures)))
    }

    private func end(except winner: (any Channel)?) {
        stagger?.cancel()
        left = []
        let losers = trying
        trying = []
        for channel in losers where channel !== winner { channel.close(promise: nil) }
    }

    /// A refusal is the most informative failure: the host exists.
    private static func worst(of failures: [HTTPFailure]) -> HTTPFailure {
        failures.first { $0.kind == .connectionRefused } ?? failures.first
            ?? HTTPFailure(.unreachable, "the host has no address", phase: .connect)
    }

    /// Alternates the address families, beginning with that of the first address (RFC 8305 section 4).
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        let same = addresses.filter { $0.protocol == first.protocol }
        let other = addresses.filter { $0.protocol != first.protocol }
        var mixed: [SocketAddress] = []
        for index in 0..<max(same.count, other.count) {
            if index < same.count { mixed.append(same[index]) }
            if index < other.count { mixed.append(other[index]) }
        }
        return mixed
    }
}

extension SocketAddress {
    /// The 4 or 16 bytes of the address; nil for a Unix socket.
    var networkBytes: [UInt8]? {
        switch self {
        case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address): withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
        case .unixDomainSocket: nil
        }
    }

    /// The same, but nil for the loopback, too.
    var outwardBytes: [UInt8]? { networkBytes.flatMap { Self.isLoopback($0) ? nil : $0 } }

    static func isLoopback(_ bytes: [UInt8]) -> Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
    }

    /// "127.0.0.1:80", "[::1]:80" or the path of a socket.
    var plain: String {
        switch self {
        case .v4: "\(ipAddress ?? "?"):\(port ?? 0)"
        case .v6: "[\(ipAddress ?? "?")]:\(port ?? 0)"
        case .unixDomainSocket: pathname ?? "?"
        }
    }
}
