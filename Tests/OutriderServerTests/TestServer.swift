// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderRPC
import Synchronization
import Testing

@testable import OutriderServer

/// A directory that goes with the test.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/outrider-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw TestFailure("no directory") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        for name in ["s.sock", "s.sock.lock", "in", "out", "d/s.sock", "d/s.sock.lock", "link"] {
            unlink("\(path)/\(name)")
        }
        rmdir("\(path)/d")
        rmdir(path)
    }
}

/// A service of the test's own, in this process.
final class TestServer: Sendable {
    let server: Server<TestScope>
    let record = Record()
    let directory: TemporaryDirectory
    private let running: Task<Int32, any Error>

    var path: String { "\(directory.path)/s.sock" }

    /// Two, which all services share: a client may be on another loop than the listener.
    private static let shared = ServiceLoops(.fixed(2))

    static var settings: ServerSettings {
        var settings = ServerSettings(version: "0")
        settings.handlesSignals = false
        return settings
    }

    /// Serves when this returns.
    ///
    /// - Parameter loops: of its own for a test whose service must not wait for the work of others.
    init(
        _ settings: ServerSettings = TestServer.settings, in directory: TemporaryDirectory? = nil,
        on listening: [Listening]? = nil, loops: ServiceLoops? = nil
    ) async throws {
        let directory = try directory ?? TemporaryDirectory()
        self.directory = directory
        let record = record
        let server = Server(table: testMethods, settings: settings, loops: loops ?? Self.shared) {
            TestScope(record, $1)
        }
        self.server = server
        let places = listening ?? [.socket(SocketPath("\(directory.path)/s.sock"))]
        let (ready, say) = AsyncStream<Void>.makeStream()
        running = Task {
            defer { say.finish() }
            return try await server.run(places) { say.yield() }
        }
        for await _ in ready { return }
        _ = try await running.value
    }

    func client() throws -> TestClient { try TestClient(connectingTo: path) }

    /// Ends it; the result is the exit status.
    @discardableResult
    func stop() async throws -> Int32 {
        server.stop(grace: .zero)
        return try await running.value
    }

    /// The exit status, once it ends by itself.
    func status() async throws -> Int32 { try await running.value }

    /// Waits until the connections' record is as expected; false after half a minute.
    func reaches(_ condition: (Record.Counts) -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < end {
            if condition(record.now) { return true }
            try await Task.sleep(for: .milliseconds(5))
        }
        return false
    }
}

/// Two pipes, and the service on them as on stdin and stdout.
struct StdioServer {
    let server: TestServer
    let client: TestClient

    init(_ settings: ServerSettings = TestServer.settings) async throws {
        var (toServer, fromServer): ([Int32], [Int32]) = ([0, 0], [0, 0])
        guard pipe(&toServer) == 0, pipe(&fromServer) == 0 else { throw TestFailure("no pipes") }
        server = try await TestServer(settings, on: [.descriptors(input: toServer[0], output: fromServer[1])])
        client = TestClient(input: fromServer[0], output: toServer[1])
        outputOfServer = fromServer[1]
    }

    let outputOfServer: Int32

    /// The client sees the end only when the server's end is closed, as a process that ends does.
    func closeOutput() { close(outputOfServer) }
}
