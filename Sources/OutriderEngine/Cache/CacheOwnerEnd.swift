// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

extension CacheOwner {
    /// Limit of the closed caches that learn of an end.
    private static let mostClosed = 1024

    /// Removes the entries of an owner: at once from the caches that are open in this process, and from all others when
    /// they are used next.
    ///
    /// - Parameters:
    ///   - owner: `oauth:NAME` or `jar:NAME`.
    ///   - root: the directory of named caches; nil for the usual one.
    package static func forget(_ owner: String, in root: String?, of budget: CacheBudget = .process) {
        var open: Set<String> = []
        for store in budget.holders {
            store.remove(tag: tag(owner, store.secret))
            if let path = store.path { open.insert(path) }
        }
        guard let root = root ?? CacheFiles.usualRoot else { return }
        BlockingThreads.files.run(for: .service, isOwed: true) { [open] in
            for files in CacheFiles.all(in: root).prefix(mostClosed) where !open.contains(files.directory) {
                guard let secret = files.secret else { continue }
                files.leaveRemoval(.purge(.tag(tag(owner, CacheSecret(secret)))))
            }
        }
    }
}
