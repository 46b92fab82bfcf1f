// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// Hosts that are reached over TLS only, remembered for a session, or in a file that sessions share.
package final class StrictTransportMemory: StrictTransport {
    private struct State {
        var store: HSTSStore
        var isWriting = false
        var mustWrite = false
        var problem: String?
    }

    /// Nil for a memory that ends with its session.
    package let path: String?
    private let state: Mutex<State>

    /// Bytes.
    private static let largest = 4 << 20

    package init() {
        path = nil
        state = Mutex(State(store: HSTSStore()))
    }

    fileprivate init(_ path: String, _ store: HSTSStore) {
        self.path = path
        state = Mutex(State(store: store))
    }

    /// Blocks during the read. A file that does not exist is made with the first host.
    fileprivate static func read(_ path: String) throws(HTTPFailure) -> HSTSStore {
        do throws(HTTPFailure) {
            let bytes = try DocumentFile.read(path, limit: largest)
            return HSTSStore(parsing: String(decoding: bytes, as: UTF8.self))
        } catch {
            // ENOENT
            if error.underlying?.code == 2 { return HSTSStore() }
            throw error
        }
    }

    private static var now: Int64 { Int64(WallTime.now.seconds) }

    /// The reason why the last write failed; nil after a write.
    package var problem: String? { state.withLock { $0.problem } }

    package func upgraded(_ url: HTTPURL) -> HTTPURL? {
        if url.isSecure { return nil }
        return state.withLock { $0.store.upgraded(url, now: Self.now) }
    }

    package func learn(_ field: String, from url: HTTPURL) {
        let mustWrite = state.withLock { state in
            guard state.store.learn(field, from: url, now: Self.now), path != nil else { return false }
            state.mustWrite = true
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustWrite { write() }
    }

    /// Writes run in sequence; each write includes the changes since the last.
    private func write() {
        guard let path else { return }
        BlockingThreads.files.run(for: .service, isOwed: true) { [self] in
            while true {
                let text = state.withLock { state -> String? in
                    state.isWriting = state.mustWrite
                    state.mustWrite = false
                    return state.isWriting ? state.store.text(now: Self.now) : nil
                }
                guard let text else { return }
                var rest: [UInt8]? = Array(text.utf8)
                var problem: String?
                do throws(HTTPFailure) {
                    try AtomicFile.write(to: path, replace: true) {
                        defer { rest = nil }
                        return rest
                    }
                } catch {
                    problem = error.message
                }
                state.withLock { $0.problem = problem }
            }
        }
    }
}

/// The files of all sessions: a memory per path, so that sessions do not overwrite each other's hosts.
package final class StrictTransportFiles: Sendable {
    private struct Weak: Sendable {
        weak var memory: StrictTransportMemory?
    }

    private let memories = Mutex<[ByteText: Weak]>([:])

    /// Throws the errors of reading a file.
    package func memory(at path: String, for client: ClientKey) async throws(HTTPFailure) -> StrictTransportMemory {
        if let known = memories.withLock({ $0[ByteText(path)]?.memory }) { return known }
        let store = try await offLoop(for: client) { () throws(HTTPFailure) in try StrictTransportMemory.read(path) }
        return memories.withLock { memories in
            if let known = memories[ByteText(path)]?.memory { return known }
            memories = memories.filter { $0.value.memory != nil }
            let memory = StrictTransportMemory(path, store)
            memories[ByteText(path)] = Weak(memory: memory)
            return memory
        }
    }
}
