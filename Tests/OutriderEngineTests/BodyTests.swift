// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderEngine
import OutriderHTTP
import Synchronization
import Testing

/// Where bodies go, and what becomes of them.
struct BodyTests {
    private static func kept(_ outcome: ExchangeOutcome?) throws -> KeptBody {
        guard case .kept(let body) = outcome?.body else { throw Wrong() }
        return body
    }

    @Test func `a body longer than maxInline is kept instead`() async throws {
        let stage = Stage(.init(chunks: [[1, 2, 3], [4, 5]]))
        let body = try Self.kept(await stage.outcome(.inline, maxInline: 4))
        #expect(body.size == 5)
        #expect(body.path == nil)
        #expect(try await body.read(at: 1, count: 3) == [2, 3, 4])
        #expect(try await body.read(at: 4, count: 100) == [5])
        #expect(try await body.read(at: 500, count: 1) == [])
        #expect(stage.quota.held == (5, 0))
        body.release()
        #expect(stage.quota.held == (0, 0))
        await #expect(throws: HTTPFailure.self) { try await body.read(at: 0, count: 1) }
    }

    @Test func `a discarded body is only counted`() async throws {
        let stage = Stage(.init(chunks: [[1, 2, 3], [4, 5]]))
        let outcome = try #require(await stage.outcome(.discard))
        guard case ExchangeOutcome.Body.none = outcome.body else { throw Wrong() }
        #expect(outcome.bodyBytes == 5)
    }

    @Test func `what does not fit into memory goes to a private file`() async throws {
        try await withDirectory { directory in
            let chunk = [UInt8](repeating: 9, count: 100_000)
            let stage = Stage(.init(chunks: [chunk, chunk, chunk, chunk]), in: directory, memory: 150_000)
            let body = try Self.kept(await stage.outcome(.stored))
            let path = try #require(body.path)
            #expect(body.size == 400_000)
            #expect(try await body.read(at: 399_999, count: 9) == [9])
            #expect(stage.quota.held == (0, 400_000))
            #expect(mode(of: path) == 0o600)
            #expect(mode(of: String(path[..<(try #require(path.lastIndex(of: "/")))])) == 0o700)
            await body.released()
            #expect(access(path, F_OK) != 0)
            #expect(stage.quota.held == (0, 0))
            stage.engine.close()
        }
    }

    @Test func `a body for a file goes there, however short`() async throws {
        try await withDirectory { directory in
            let stage = Stage(.init(chunks: [[1]]), in: directory)
            let body = try Self.kept(await stage.outcome(.file))
            #expect(body.path?.hasPrefix(directory) == true)
            #expect(try await body.read(at: 0, count: 10) == [1])
            stage.engine.close()
        }
    }

    @Test func `more than the files may hold is a failure that keeps what there is`() async throws {
        try await withDirectory { directory in
            let chunk = [UInt8](repeating: 9, count: 300_000)
            let stage = Stage(.init(chunks: [chunk, chunk, chunk]), in: directory, memory: 10, files: 700_000)
            let outcome = try #require(await stage.outcome(.stored))
            #expect(outcome.failure?.kind == .limitExceeded)
            #expect(outcome.isTruncated)
            #expect(stage.transport.abandoned.load(ordering: .relaxed) == 1)
            stage.engine.close()
        }
    }

    @Test func `results that stay are counted, short as they are`() async throws {
        let stage = Stage(.init(chunks: [[1, 2, 3]]))
        var outcome = await stage.outcome(keepsBody: true)
        guard case .memory([1, 2, 3], .some) = outcome?.body else { throw Wrong() }
        #expect(stage.quota.held == (3, 0))
        outcome = nil
        // the loop lets go of its own reference a moment later
        for _ in 0..<500 where stage.quota.held != (0, 0) { try await Task.sleep(for: .milliseconds(10)) }
        #expect(stage.quota.held == (0, 0))
    }

    @Test func `a saved body appears whole, for its owner only, and never over another file`() async throws {
        try await withDirectory { directory in
            let stage = Stage(.init(chunks: [[1, 2, 3]]))
            let body = try Self.kept(await stage.outcome(.stored))
            let path = "\(directory)/saved"
            try await body.save(to: path, replace: false)
            #expect(contents(of: path) == [1, 2, 3])
            #expect(mode(of: path) == 0o600)
            let refusal = await #expect(throws: HTTPFailure.self) { try await body.save(to: path, replace: false) }
            #expect(refusal?.kind == .destinationExists)
            #expect(refusal?.pointer == "/path")
            try await body.save(to: path, replace: true)
            #expect(names(in: directory) == ["saved"])
        }
    }

    @Test(arguments: ["relative", "/nowhere/at/all/x", "/", "/tmp/a\u{0}b"])
    func `a path that cannot be written is refused`(path: String) async throws {
        let stage = Stage(.init(chunks: [[1]]))
        let body = try Self.kept(await stage.outcome(.stored))
        let refusal = await #expect(throws: HTTPFailure.self) { try await body.save(to: path, replace: true) }
        #expect(refusal?.kind == (path == "/" ? .destinationUnsafe : .fileWriteFailed))
        #expect(refusal?.pointer == "/path")
    }

    @Test func `the next start sweeps what a killed service left, and nothing else`() async throws {
        try await withDirectory { directory in
            let living = Stage(.init(chunks: [[1]]), in: directory)
            let body = try Self.kept(await living.outcome(.file))
            let parent = "\(directory)/outrider-\(getuid())"
            let orphan = "\(parent)/bodies-1-1"
            #expect(mkdir(orphan, 0o700) == 0)
            for path in ["\(orphan).lock", "\(orphan)/1", "\(parent)/stranger"] {
                close(open(path, O_CREAT | O_WRONLY, mode_t(0o600)))
            }
            living.engine.sweep()
            #expect(access(orphan, F_OK) != 0)
            #expect(access("\(orphan).lock", F_OK) != 0)
            #expect(access("\(parent)/stranger", F_OK) == 0)
            #expect(try await body.read(at: 0, count: 1) == [1])
            living.engine.close()
            #expect(names(in: parent) == ["stranger"])
        }
    }

    @Test func `a directory that others can write to is not used`() async throws {
        try await withDirectory { directory in
            let parent = "\(directory)/outrider-\(getuid())"
            #expect(mkdir(parent, 0o700) == 0)
            #expect(chmod(parent, 0o777) == 0)
            let stage = Stage(.init(chunks: [[1]]), in: directory)
            let outcome = try #require(await stage.outcome(.file))
            #expect(outcome.failure?.kind == .fileWriteFailed)
        }
    }
}

/// A directory for one test.
func withDirectory(_ test: (String) async throws -> Void) async throws {
    var template = Array("/tmp/outrider-test-XXXXXX".utf8CString)
    let made = mkdtemp(&template)
    let directory = String(cString: try #require(made))
    defer { remove(directory) }
    try await test(directory)
}

private func remove(_ path: String) {
    for name in names(in: path) { remove("\(path)/\(name)") }
    if rmdir(path) != 0 { unlink(path) }
}

func names(in directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
}

private func mode(of path: String) -> UInt32 {
    var info = stat()
    return lstat(path, &info) == 0 ? info.st_mode & 0o777 : 0
}

private func contents(of path: String) -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1000)
    let count = read(descriptor, &bytes, bytes.count)
    return Array(bytes.prefix(max(0, count)))
}
