// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOPosix
import OutriderHTTP
import OutriderTransport
import Testing

/// An nginx of our own on a Unix socket, for one test.
private final class Nginx {
    static let program = "/usr/sbin/nginx"
    let directory: String
    private var child = pid_t()

    init(_ name: String) throws {
        directory = try TestCertificates.path(name)
        try #require(mkdir(directory, 0o755) == 0)
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(directory)/\($0);"
        }
        let configuration = """
            daemon off; master_process off; pid \(directory)/pid; error_log \(directory)/error.log;
            events {}
            http {
              access_log off; keepalive_requests 1000000; client_max_body_size 0; \(temporary.joined(separator: " "))
              server {
                listen unix:\(directory)/socket;
                location = /hello { return 200 hello; }
                location = /big { alias \(directory)/big; }
                location = /put { proxy_pass http://unix:\(directory)/inner:/; }
              }
              server { listen unix:\(directory)/inner; location / { return 200 "$content_length"; } }
            }
            """
        let file = open(directory + "/conf", O_WRONLY | O_CREAT, 0o600)
        try #require(write(file, configuration, configuration.utf8.count) == configuration.utf8.count)
        close(file)
        let words = [Self.program, "-e", directory + "/error.log", "-c", directory + "/conf"]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        try #require(posix_spawn(&child, Self.program, nil, nil, &arguments, environ) == 0)
    }

    deinit {
        // a child of a thread of ours may have every other signal blocked
        kill(child, SIGKILL)
        var status: Int32 = 0
        waitpid(child, &status, 0)
    }

    /// A file of so many zeros that takes no room on the disk.
    func makeBigFile(_ bytes: Int) throws -> String {
        let path = directory + "/big"
        let file = open(path, O_WRONLY | O_CREAT, 0o644)
        try #require(ftruncate(file, bytes) == 0)
        close(file)
        return path
    }

    func attempt(_ target: String, method: String = "GET", body: AttemptBody = .none) -> Attempt {
        var attempt = Attempt.local(80, target, method: method, body: body)
        attempt.url.socketPath = directory + "/socket"
        attempt.timeouts.total = 50
        return attempt
    }

    /// Returns when it responds.
    func ready(_ transport: HTTPTransport) async throws {
        for _ in 0..<1_000 {
            if let response = try? await transport.wholeResponse(attempt("/hello")), response.text == "hello" { return }
            try await testGroup.next().scheduleTask(in: .milliseconds(10)) {}.futureResult.get()
        }
        Issue.record("nginx does not respond")
    }
}

/// A server that others wrote, and bodies that do not fit into memory's share.
@Suite(.enabled(if: access(Nginx.program, X_OK) == 0), .timeLimit(.minutes(2)))
struct NginxTests {
    private let bytes = 400 << 20
    /// Other tests run beside these; still far less than one body.
    private let mostGrowth = 250 << 20

    @Test func `one connection carries many requests`() async throws {
        let nginx = try Nginx("nginx-many")
        let transport = makeTransport()
        try await nginx.ready(transport)
        let attempt = nginx.attempt("/hello")
        let reused = try await onLoop {
            var reused = 0
            for _ in 0..<200 {
                let response = try await transport.wholeResponse(attempt)
                if response.text == "hello", response.timeline.reused { reused += 1 }
            }
            return reused
        }
        #expect(reused == 200)
        #expect(await transport.counts() == PoolMachine.Counts(busy: 0, idle: 1, waiting: 0))
    }

    @Test func `a big body is read in little memory`() async throws {
        let nginx = try Nginx("nginx-down")
        _ = try nginx.makeBigFile(bytes)
        let transport = makeTransport()
        try await nginx.ready(transport)
        let before = try residentBytes()
        var most = before
        var got = 0
        let response = try await transport.send(nginx.attempt("/big"), observer: RecordingObserver())
        #expect(response.body.expectedBytes == Int64(bytes))
        while let piece = try await response.body.next() {
            got += piece.readableBytes
            if got % (16 << 20) < piece.readableBytes { most = max(most, try residentBytes()) }
        }
        #expect(got == bytes)
        #expect(most - before < mostGrowth)
    }

    @Test func `a big file is sent in little memory`() async throws {
        let nginx = try Nginx("nginx-up")
        let path = try nginx.makeBigFile(bytes)
        let transport = makeTransport()
        try await nginx.ready(transport)
        let before = try residentBytes()
        let observer = RecordingObserver()
        let attempt = nginx.attempt("/put", method: "PUT", body: .file(path: path, size: Int64(bytes)))
        let response = try await transport.wholeResponse(attempt, observer: observer)
        #expect(response.status == 200 && response.text == "\(bytes)")
        #expect(observer.heard.bodySent.last == Int64(bytes))
        #expect(try residentBytes() - before < mostGrowth)
    }
}
