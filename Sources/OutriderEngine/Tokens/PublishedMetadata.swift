// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The metadata of an authorization server, and their URL.
package struct PublishedMetadata: Sendable {
    package var metadata: ServerMetadata
    package var place: HTTPURL
}

/// The metadata of up to 64 issuers, each for a day.
final class MetadataMemory: Sendable {
    private struct Known {
        var found: PublishedMetadata
        var at: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(86_400)
    private static let most = 64

    private let known = Mutex<[String: Known]>([:])

    /// Nil if unknown, or too old.
    func metadata(of issuer: String) -> PublishedMetadata? {
        known.withLock { known in
            guard let one = known[issuer], ContinuousClock.now - one.at < Self.lifetime else { return nil }
            return one.found
        }
    }

    /// Forgets the oldest issuer if there are too many.
    func remember(_ found: PublishedMetadata) {
        known.withLock { known in
            if known.count >= Self.most, let oldest = known.min(by: { $0.value.at < $1.value.at }) {
                known[oldest.key] = nil
            }
            known[found.metadata.issuer] = Known(found: found, at: .now)
        }
    }
}
