// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// The named jars of a user: each is opened once per process, and closed when the last session that names it ends.
package final class CookieJars: Sendable {
    private struct Entry {
        weak var jar: SharedJar?
    }

    /// The directory that holds a directory per jar; nil if the user has no home.
    private let root: String?
    package let suffixes: SuffixLists
    private let jars = Mutex<[String: Entry]>([:])

    private static let mostOpen = 64
    private static let mostNames = 100

    init(root: String?, suffixes: String?) {
        self.root = root ?? JarFiles.usualRoot
        self.suffixes = SuffixLists(file: suffixes)
    }

    /// A jar in memory.
    package func make() -> SharedJar { SharedJar(suffixes.current.list) }

    /// The jar of that name, from the disk or new. A store that cannot be written is no failure: its jar stays in memory.
    package func named(_ name: String) async throws(JarFailure) -> SharedJar {
        if let found = jars.withLock({ $0[name]?.jar }) { return found }
        guard let root else { throw JarFailure(.unwritable, "the user has no home directory: name one with --jars") }
        let result = await withUnsafeContinuation { continuation in
            // the thread opens one after the other, so that no jar is opened twice
            JarStore.thread.run(for: .service, isOwed: true) {
                continuation.resume(returning: self.opened(name, in: root))
            }
        }
        let jar = try result.get()
        await jar.refresh()
        return jar
    }

    private func opened(_ name: String, in root: String) -> Result<SharedJar, JarFailure> {
        let (found, count) = jars.withLock { jars in
            jars = jars.filter { $0.value.jar != nil }
            return (jars[name]?.jar, jars.count)
        }
        if let found { return .success(found) }
        guard count < Self.mostOpen else {
            return .failure(
                JarFailure(.busy, "more than \(Self.mostOpen) jars are open; close a session that names one"))
        }
        let names = JarFiles.names(in: root).filter { !$0.hasPrefix(".") }
        guard names.count < Self.mostNames || names.contains(name) else {
            return .failure(
                JarFailure(.unwritable, "\(root) holds \(Self.mostNames) jars, which is the most; remove one"))
        }
        let jar: SharedJar
        do throws(JarFailure) {
            let worker = try JarWorker(JarFiles(directory: "\(root)/\(name)"))
            jar = SharedJar(name: name, suffixes.current.list, store: JarStore(worker))
        } catch {
            guard error.reason == .unwritable || error.reason == .busy else { return .failure(error) }
            jar = SharedJar(name: name, suffixes.current.list, problem: error.message)
        }
        jars.withLock { $0[name] = Entry(jar: jar) }
        return .success(jar)
    }

    /// The names of all jars on disk.
    package func names() -> [String] {
        guard let root else { return [] }
        return JarFiles.names(in: root).filter { JarFiles.fault(ofName: $0) == nil }.sorted()
    }

    /// Why a jar may not be called that; nil if it may.
    package static func fault(ofName name: String) -> String? { JarFiles.fault(ofName: name) }
}
