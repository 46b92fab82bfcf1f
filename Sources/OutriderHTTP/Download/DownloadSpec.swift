// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The destination of a download, and how interruptions are handled.
package final class DownloadSpec: Sendable {
    package enum Place: Sendable, Equatable {
        /// A private file, deleted with its response.
        case temporary
        /// An absolute path.
        case path(String)
        /// A directory and a name; without a name, the server's suggestion.
        case directory(String, name: String?)
    }

    /// What to do if the server's version is not the one that was kept.
    package enum WhenChanged: String, Sendable, CaseIterable {
        /// Start over from the first byte.
        case restart
        /// End with `resourceChanged`, and keep the partial file.
        case fail
    }

    package struct Options: Sendable {
        package var place = Place.temporary
        /// Create the directory and its parents.
        package var createsDirectories = false
        /// Overwrite an existing file.
        package var replaces = false
        /// The client's callback that chooses the destination once the download is complete.
        package var destinationCode: String?
        package var checksums: [Checksum] = []
        /// Verify the server's Repr-Digest and Content-Digest.
        package var checksDigests = true
        /// Parallel range requests; 1 for a single request.
        package var segments = 1
        /// Bytes per second; nil for no limit.
        package var rateLimit: Int?
        /// Resume an interrupted download to the same destination, and leave a resumable file when interrupted.
        package var resumes = false
        /// Send If-Range, too: some servers then ignore Range.
        package var sendsCondition = false
        /// Nil: start over if the server does not support ranges, but fail if the resource has changed.
        package var whenChanged: WhenChanged?
        /// The journal to resume from; nil to start anew, or to look for a journal beside the destination.
        package var journal: DownloadJournal?

        package init() {}
    }

    package let options: Options

    package init(_ options: Options) { self.options = options }

    /// The origin that the caller requested, if the rest comes from the URL of another origin, to which a redirect led:
    /// the request is as after that redirect, without the caller's credentials.
    package func home(apart url: HTTPURL) -> HTTPURL? {
        guard let text = options.journal?.home, let home = try? HTTPURL(parsing: text) else { return nil }
        return home.isSameOrigin(as: url) ? nil : home
    }
}
