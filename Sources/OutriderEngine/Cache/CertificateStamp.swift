// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// The state of the file with a client's certificate: a request with another certificate in its place gets no response that
/// was stored for the first.
enum CertificateStamp {
    /// The file with the client certificate of a request; nil without one.
    static func file(of attempt: Attempt) -> String? {
        guard !attempt.security.isPlain, let security = try? attempt.security.security(for: attempt.url) else {
            return nil
        }
        return security.settings.identity?.files.first
    }

    /// The part of a principal for the file, which is read away from the event loop.
    static func text(of file: String, for client: ClientKey) async throws(HTTPFailure) -> String {
        try await offLoop(for: client) { "certificate:\(FileStamps([file]).text)\n" }
    }
}
