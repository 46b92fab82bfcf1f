// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOPosix
import OutriderJSON
import Synchronization
import Testing

struct TestFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// A plain client on two descriptors. Waits off the task pool, and so long only that a machine under load gets there.
final class TestClient: Sendable {
    private let input: Mutex<Int32>
    private let output: Mutex<Int32>
    private let held = Mutex<[UInt8]>([])
    private let isSocket: Bool

    /// Enough for all tests at once: each of them may be waiting in a read.
    private static let threads: NIOThreadPool = {
        let threads = NIOThreadPool(numberOfThreads: 64)
        threads.start()
        return threads
    }()

    init(input: Int32, output: Int32, isSocket: Bool = false) {
        self.input = Mutex(input)
        self.output = Mutex(output)
        self.isSocket = isSocket
    }

    convenience init(connectingTo path: String) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let connected = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard connected == 0 else { throw TestFailure("cannot connect to \(path): \(errno)") }
        self.init(input: descriptor, output: descriptor, isSocket: true)
    }

    deinit { close() }

    /// Nothing more will be sent.
    func endInput() {
        output.withLock { output in
            if isSocket { shutdown(output, Int32(SHUT_WR)) } else { Glibc.close(output) }
            output = -1
        }
    }

    func close() {
        let (reading, writing) = (input.withLock { swap(&$0, -1) }, output.withLock { swap(&$0, -1) })
        if reading >= 0 { Glibc.close(reading) }
        if writing >= 0, writing != reading { Glibc.close(writing) }
    }

    func send(_ text: String) async throws {
        let descriptor = output.withLock { $0 }
        try await Self.threads.runIfActive {
            let bytes = Array(text.utf8)
            var start = 0
            while start < bytes.count {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                guard poll(&wanted, 1, 60_000) > 0 else { throw TestFailure("cannot send") }
                let count = bytes.withUnsafeBytes {
                    Glibc.write(descriptor, $0.baseAddress.map { $0 + start }, min(bytes.count - start, 65536))
                }
                guard count > 0 else { throw TestFailure("cannot send: \(errno)") }
                start += count
            }
        }
    }

    func call(_ id: Int, _ method: String, _ params: String = "{}") async throws {
        try await send("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"method\":\"\(method)\",\"params\":\(params)}\n")
    }

    /// The next bytes; empty at the end.
    private func more(seconds: Double) async throws -> [UInt8] {
        let descriptor = input.withLock { $0 }
        return try await Self.threads.runIfActive {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, Int32(seconds * 1000)) > 0 else { throw TestFailure("nothing came") }
            var bytes = [UInt8](repeating: 0, count: 1 << 18)
            let count = read(descriptor, &bytes, bytes.count)
            return count > 0 ? Array(bytes[..<count]) : []
        }
    }

    /// The next line without its end; nil at the end of the stream.
    func line(seconds: Double = 60) async throws -> String? {
        var looked = 0
        while true {
            let start = looked
            let line = held.withLock { held -> String? in
                looked = held.count
                guard let end = held[min(start, held.count)...].firstIndex(of: 0x0A) else { return nil }
                defer { held.removeFirst(end + 1) }
                return String(decoding: held[..<end], as: UTF8.self)
            }
            if let line { return line }
            let bytes = try await more(seconds: seconds)
            if bytes.isEmpty { return nil }
            held.withLock { $0.append(contentsOf: bytes) }
        }
    }

    /// The next character.
    func next() async throws -> Character? {
        if held.withLock({ $0.isEmpty }) {
            let bytes = try await more(seconds: 60)
            held.withLock { $0.append(contentsOf: bytes) }
        }
        return held.withLock { $0.isEmpty ? nil : Character(Unicode.Scalar($0.removeFirst())) }
    }

    /// The next line as JSON.
    func message(seconds: Double = 60) async throws -> JSONValue {
        guard let line = try await line(seconds: seconds) else { throw TestFailure("the stream ended") }
        return try JSONParser.parse(Array(line.utf8))
    }

    /// Everything up to the end of the stream.
    func rest(seconds: Double = 60) async throws -> String {
        while true {
            let bytes = try await more(seconds: seconds)
            if bytes.isEmpty { return held.withLock { String(decoding: swap(&$0, []), as: UTF8.self) } }
            held.withLock { $0.append(contentsOf: bytes) }
        }
    }

    /// The result must be the call's own params.
    func isAlive() async throws -> Bool {
        try await call(424242, "test.echo", "{\"alive\":1}")
        while true {
            let message = try await message()
            guard message["id"] == .integer(424242) else { continue }
            return message["result"] == .object(["alive": .integer(1)])
        }
    }
}

private func swap<Value>(_ place: inout Value, _ new: Value) -> Value {
    defer { place = new }
    return place
}

extension JSONValue {
    subscript(_ name: String) -> JSONValue? { object?[name] }
    var errorCode: Int64? { self["error"]?["code"]?.integer }
}
