// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Cookie files that people name, read and written on threads for files.
package enum CookieFile {
    package static func read(_ path: String, limit: Int, for quota: BodyQuota) async throws(HTTPFailure) -> [UInt8] {
        try await offLoop(for: quota.client) { () throws(HTTPFailure) in try DocumentFile.read(path, limit: limit) }
    }

    /// Writes the file atomically, with mode 0600.
    package static func write(
        _ bytes: [UInt8], to path: String, replace: Bool, for quota: BodyQuota
    ) async throws(HTTPFailure) {
        try await offLoop(for: quota.client) { () throws(HTTPFailure) in
            var rest: [UInt8]? = bytes
            try AtomicFile.write(to: path, replace: replace) {
                defer { rest = nil }
                return rest
            }
        }
    }
}
