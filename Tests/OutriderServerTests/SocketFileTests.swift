// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import Testing

@testable import OutriderServer

struct SocketFileTests {
    private func mode(_ path: String) -> UInt32? {
        var info = stat()
        return lstat(path, &info) == 0 ? info.st_mode : nil
    }

    private func failure(_ place: SocketPath) -> StartFailure? {
        do throws(StartFailure) {
            let file = try SocketFile(place)
            close(file.descriptor)
            file.remove()
            return nil
        } catch {
            return error
        }
    }

    @Test func `the socket and a directory of ours are private, and the socket is removed`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/d/s.sock"
        let file = try SocketFile(SocketPath(path))
        #expect(mode("\(directory.path)/d").map { $0 & 0o777 } == 0o700)
        #expect(mode(path).map { $0 & 0o777 } == 0o600)
        #expect(mode(path + ".lock").map { $0 & 0o777 } == 0o600)
        close(file.descriptor)
        file.remove()
        #expect(mode(path) == nil)
    }

    @Test func `other users may connect to a socket that lets others in`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/s.sock"
        let file = try SocketFile(SocketPath(path), letsOthersIn: true)
        #expect(mode(path).map { $0 & 0o777 } == 0o666)
        #expect(mode(path + ".lock").map { $0 & 0o777 } == 0o600)
        close(file.descriptor)
        file.remove()
    }

    @Test func `a second service is refused, and named is the first`() async throws {
        let server = try await TestServer()
        let error = try #require(failure(SocketPath(server.path)))
        #expect(error.description.contains("process \(getpid()) "))
        #expect(error.exitStatus == StartFailure.alreadyRunning)
        #expect(try await server.client().isAlive())
        try await server.stop()
        #expect(mode(server.path) == nil)
    }

    @Test func `a service without a lock is not robbed of its socket either`() async throws {
        let server = try await TestServer()
        unlink(server.path + ".lock")
        let error = try #require(failure(SocketPath(server.path)))
        #expect(error.exitStatus == StartFailure.alreadyRunning)
        #expect(try await server.client().isAlive())
        try await server.stop()
    }

    @Test func `a socket without a listener is replaced`() async throws {
        let directory = try TemporaryDirectory()
        let first = try SocketFile(SocketPath("\(directory.path)/s.sock"))
        close(first.descriptor)
        // As after a kill: the lock is free, the file is there.
        unlink("\(directory.path)/s.sock.lock")
        #expect(mode("\(directory.path)/s.sock") != nil)
        let server = try await TestServer(in: directory)
        #expect(try await server.client().isAlive())
        try await server.stop()
    }

    @Test func `what is no socket is left alone`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/s.sock"
        close(open(path, O_WRONLY | O_CREAT, 0o600))
        let error = try #require(failure(SocketPath(path)))
        #expect(error.description.contains("no socket"))
        #expect(mode(path).map { $0 & S_IFMT } == S_IFREG)
    }

    @Test func `a socket of another service at the same path is not removed at the end`() async throws {
        let server = try await TestServer()
        // in one step: a service puts a socket that is gone back at once
        let other = server.path + ".other"
        close(open(other, O_WRONLY | O_CREAT, 0o600))
        #expect(rename(other, server.path) == 0)
        try await server.stop()
        #expect(mode(server.path).map { $0 & S_IFMT } == S_IFREG)
    }

    @Test func `a path that is too long is refused with the number`() throws {
        let error = try #require(failure(SocketPath("/tmp/" + String(repeating: "x", count: 103))))
        #expect(error.description.contains("107"))
        #expect(error.description.contains("108"))
    }

    @Test func `a directory of ours must be ours alone`() throws {
        let directory = try TemporaryDirectory()
        let inner = "\(directory.path)/d"
        var place = SocketPath("\(inner)/s.sock")
        place.ownsDirectory = true
        mkdir(inner, 0o755)
        chmod(inner, 0o755)
        #expect(failure(place)?.description.contains("mode 755") == true)
        chmod(inner, 0o700)
        #expect(failure(place) == nil)
        symlink(inner, "\(directory.path)/link")
        var link = SocketPath("\(directory.path)/link/s.sock")
        #expect(failure(link) == nil)
        link.ownsDirectory = true
        #expect(failure(link) != nil)
    }

    @Test func `a directory in which others may replace the socket is refused`() throws {
        let directory = try TemporaryDirectory()
        chmod(directory.path, 0o777)
        let place = SocketPath("\(directory.path)/s.sock")
        #expect(failure(place)?.description.contains("mode 777") == true)
        chmod(directory.path, 0o1777)
        #expect(failure(place) == nil)
        #expect(failure(SocketPath("\(directory.path)/no/such/s.sock")) != nil)
    }

    @Test func `of many services that start at once, one serves`() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/s.sock"
        let winners = await withTaskGroup(of: SocketFile?.self) { group in
            for _ in 0..<20 { group.addTask { try? SocketFile(SocketPath(path)) } }
            var winners: [SocketFile] = []
            for await file in group { if let file { winners.append(file) } }
            return winners
        }
        #expect(winners.count == 1)
        for file in winners {
            close(file.descriptor)
            file.remove()
        }
    }

    @Test func `the path is chosen from what the environment says`() {
        func choose(_ environment: [String: String], explicit: String? = nil) -> String {
            SocketPath.choose(explicit: explicit, environment: { environment[$0] }, user: 4_000_000_000).path
        }
        #expect(choose([:], explicit: "/a/b") == "/a/b")
        #expect(choose(["OUTRIDER_SOCKET": "/c"]) == "/c")
        #expect(choose(["XDG_RUNTIME_DIR": "/run/x"]) == "/run/x/outrider/outrider.sock")
        #expect(choose(["XDG_RUNTIME_DIR": "relative"]) == "/tmp/outrider-4000000000/outrider.sock")
        // su and sudo -E keep the directory of another user; that of root may be one for all
        #expect(choose(["XDG_RUNTIME_DIR": "/run"]) == "/run/outrider/outrider.sock")
        #expect(choose(["OUTRIDER_SOCKET": ""]) == "/tmp/outrider-4000000000/outrider.sock")
    }
}
