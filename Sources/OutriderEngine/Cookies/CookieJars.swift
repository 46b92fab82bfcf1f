// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// The named jars of a user: each is opened once per process, and closed when the last session that names it ends.
package final class CookieJars: Sendable {
    private struct Entry {
        weak var jar: SharedJar?
        /// A jar whose directory cannot be made, or whose changes a full disk refuses: they are nowhere else.
        var kept: SharedJar?
    }

    /// The directory that holds a directory per jar; nil if the user has no home.
    private let root: String?
    package let suffixes: SuffixLists
    private let jars = Mutex<[String: Entry]>([:])
    private let keys = Mutex<HelperVault?>(nil)

    private static let mostOpen = 64
    private static let mostNames = 100

    init(root: String?, suffixes: String?) {
        self.root = root ?? JarFiles.usualRoot
        self.suffixes = SuffixLists(file: suffixes)
    }

    /// Sets the source of the key of sealed jars.
    package func use(_ keys: HelperVault) { self.keys.withLock { $0 = keys } }

    /// A jar in memory.
    ///
    /// - Parameter path: of a list of public suffixes in place of the service's list.
    package func make(suffixes path: String? = nil) async throws(JarFailure) -> SharedJar {
        let suffixes = suffixes
        let result = await withUnsafeContinuation { (continuation: UnsafeContinuation<PublicSuffixes?, Never>) in
            // the list is a file, and is read at its first use
            JarStore.thread.run(for: .service, isOwed: true) {
                continuation.resume(returning: path.map { SuffixLists.read($0) } ?? suffixes.current.list)
            }
        }
        guard let result else {
            throw JarFailure(.foreign, "\(path ?? "") is no list of public suffixes that can be read")
        }
        return SharedJar(result)
    }

    /// The jar of that name, from the disk or new. If the store cannot be written, the jar stays in memory.
    ///
    /// - Parameters:
    ///   - isSealed: values are sealed from now on.
    ///   - makes: makes a jar that is not on disk; else an empty jar in memory stands for it.
    package func named(
        _ name: String, isSealed: Bool = false, makes: Bool = true
    ) async throws(JarFailure) -> SharedJar {
        if let found = jars.withLock({ $0[name]?.jar }) {
            if isSealed { try await found.seal() }
            return found
        }
        guard let root else { throw JarFailure(.unwritable, "the user has no home directory: name one with --jars") }
        let result = await withUnsafeContinuation { continuation in
            // the thread opens jars in sequence, so that no jar is opened twice
            JarStore.thread.run(for: .service, isOwed: true) {
                continuation.resume(returning: self.opened(name, in: root, isSealed: isSealed, makes: makes))
            }
        }
        let jar = try result.get()
        await jar.refresh()
        return jar
    }

    private func opened(
        _ name: String, in root: String, isSealed: Bool, makes: Bool
    ) -> Result<SharedJar, JarFailure> {
        let (found, count) = jars.withLock { jars in
            jars = jars.filter { $0.value.jar != nil }
            for (name, entry) in jars where entry.kept.map({ !$0.isHomeless && $0.unwritten == nil }) ?? false {
                jars[name]?.kept = nil
            }
            return (jars[name]?.jar, jars.count)
        }
        if let found { return .success(found) }
        let names = DirectoryNames.all(in: root).filter { !$0.hasPrefix(".") }
        guard makes || names.contains(name) else { return .success(SharedJar(name: name, suffixes.current.list)) }
        guard count < Self.mostOpen else {
            return .failure(
                JarFailure(
                    .busy,
                    """
                    more than \(Self.mostOpen) jars are open, or wait for room on the disk; close a session that names \
                    one, or make room
                    """))
        }
        guard names.count < Self.mostNames || names.contains(name) else {
            return .failure(
                JarFailure(.unwritable, "\(root) holds \(Self.mostNames) jars, which is the most; remove one"))
        }
        let jar: SharedJar
        var kept: SharedJar?
        do throws(JarFailure) {
            let worker = try JarWorker(
                JarFiles(directory: "\(root)/\(name)"), isSealed: isSealed, keys: keys.withLock { $0 })
            jar = SharedJar(name: name, suffixes.current.list, store: JarStore(worker))
            if worker.lock == nil { kept = jar }
        } catch {
            return .failure(error)
        }
        jars.withLock { $0[name] = Entry(jar: jar, kept: kept) }
        jar.keep(by: { [weak self, weak jar] isUnwritten in self?.keep(isUnwritten ? jar : nil, name) })
        return .success(jar)
    }

    /// Keeps the jar until its changes are on the disk, though no session names it.
    private func keep(_ jar: SharedJar?, _ name: String) {
        // the end of a jar is behind the lock
        _ = jars.withLock { jars in
            defer { jars[name]?.kept = jar }
            return jars[name]?.kept
        }
    }

    /// Waits for jars that closed: each moves its log into its database, and tries rows again that a full disk kept back.
    package func settle() async {
        for name in jars.withLock({ Array($0.keys) }) { keep(nil, name) }
        // twice: work that is under way may have the last reference, whose end closes the jar behind what waits by then
        for _ in 0..<2 {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                JarStore.thread.run(for: .service, isOwed: true) { continuation.resume() }
            }
        }
    }

    /// The reason why the name is not allowed; nil if allowed.
    package static func fault(ofName name: String) -> String? { JarFiles.fault(ofName: name) }
}
