// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// The state of the file with a client's certificate: a request with another certificate in its place gets no response that
/// was stored for the first.
enum CertificateStamp {
    /// The part of a principal for the file; empty without a client certificate.
    static func text(of attempt: Attempt) -> String {
        guard !attempt.security.isPlain, let security = try? attempt.security.security(for: attempt.url),
            let path = security.settings.identity?.files.first
        else { return "" }
        return "certificate:\(FileStamps([path]).text)\n"
    }
}
