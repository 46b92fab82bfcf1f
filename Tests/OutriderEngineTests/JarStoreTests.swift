// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@testable import OutriderEngine

@Suite struct JarStoreTests {
    /// Work on the thread of all jars, behind what waits there.
    private func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withUnsafeContinuation { continuation in
            JarStore.thread.run(for: .service, isOwed: true) { continuation.resume(returning: work()) }
        }
    }

    private func opened(_ directory: String) async throws -> JarStore {
        let worker = await onThread {
            Result { () throws(JarFailure) in
                try JarWorker(JarFiles(directory: directory), isSealed: false, keys: nil)
            }
        }
        return JarStore(try worker.get())
    }

    @Test(arguments: [(1032, true), (5898, true), (10, false), (8, false), (778, false)])
    func `a database that was removed during a commit is told from a disk that fails`(code: Int, isRemoval: Bool) {
        #expect(SQLiteFailure(code: CInt(code), errno: 2, "step").isRemoval == isRemoval)
    }

    @Test func `a deletion outlives a disk that refuses it, however many rows wait`() async throws {
        let place = try Stores()
        let directory = "\(place.root)/work"
        let old = Cookie(name: "old", value: "1", domain: "example.com")
        var store: JarStore? = try await opened(directory)
        await store?.write([.cookie(old)])?.value()
        let other = try SQLiteDatabase("\(directory)/jar.db")
        #expect(try other.integer("SELECT count(*) FROM cookie WHERE value IS NOT NULL") == 1)
        try other.run("CREATE TRIGGER refusal BEFORE INSERT ON cookie BEGIN SELECT RAISE(ABORT, 'full'); END")
        let gone = (0..<7000).map { JarRow.gone(Cookie(name: "c\($0)", value: "", domain: "example.com").identity) }
        await store?.write(gone + [.gone(old.identity)])?.value()
        #expect(store?.storeState.problem != nil)
        try other.run("DROP TRIGGER refusal")
        // the store is not in use on its thread any more, and writes its rows at its end
        await onThread {}
        store = nil
        await onThread {}
        #expect(try other.integer("SELECT count(*) FROM cookie WHERE value IS NOT NULL") == 0)
        #expect(try other.integer("SELECT count(*) FROM cookie") == 1, "other deletions have nothing to delete")
    }
}
