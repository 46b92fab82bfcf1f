// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Where a download goes, and what is to be kept of it on the way.
package final class DownloadSpec: Sendable {
    package enum Place: Sendable, Equatable {
        /// A private file, that goes with its response.
        case temporary
        /// An absolute path.
        case path(String)
        /// A directory, and a name in it; without one, the server suggests it.
        case directory(String, name: String?)
    }

    /// When what a server has is not what has been kept.
    package enum WhenChanged: String, Sendable, CaseIterable {
        /// Begin again, from the first byte.
        case restart
        /// End with `resourceChanged`, and keep what there is.
        case fail
    }

    package struct Wishes: Sendable {
        package var place = Place.temporary
        /// Make the directory, and those above it.
        package var createsDirectories = false
        /// Put the file in the place of one that is there.
        package var replaces = false
        /// The client's code to ask where it goes, once it is all there.
        package var destinationCode: String?
        package var checksums: [Checksum] = []
        /// Compare what arrived with what the server's Repr-Digest and Content-Digest say.
        package var checksDigests = true
        /// Requests for parts of it at the same time; 1 for one for all.
        package var segments = 1
        /// Bytes a second; nil for as many as come.
        package var rateLimit: Int?
        /// Go on with what an interrupted download to the same place has left, and leave it when interrupted.
        package var resumes = false
        /// Send If-Range, too: some servers then forget Range.
        package var sendsCondition = false
        /// Nil: a server that does not know ranges is begun anew, one that has something else is a failure.
        package var whenChanged: WhenChanged?
        /// What to go on with; nil for nothing, or for what is found.
        package var journal: DownloadJournal?

        package init() {}
    }

    package let wishes: Wishes

    package init(_ wishes: Wishes) { self.wishes = wishes }
}
