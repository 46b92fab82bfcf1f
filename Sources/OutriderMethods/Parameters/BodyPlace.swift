// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The destination of a response body, as the request names it.
enum BodyPlace: String, Sendable, CaseIterable {
    case inline, stored, file, discard, stream

    /// Where the service keeps the body beside the stream.
    var destination: BodyDestination {
        switch self {
        case .inline: .inline
        case .stored: .stored
        case .file: .file
        case .discard, .stream: .discard
        }
    }
}
