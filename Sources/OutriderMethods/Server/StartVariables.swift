// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderJSON

/// The variables of this process that affect trust, proxies and settings, without passwords. They come from the program
/// that started the service; other programs can compare their own.
package enum StartVariables {
    private static let names: Set = [
        "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY", "NO_PROXY",
    ]
    /// Variables that only clients read.
    private static let others: Set = ["OUTRIDER_SOCKET", "OUTRIDER_PEER_UID", "OUTRIDER_REPLAY", "OUTRIDER_STARTED"]

    package static var current: JSONObject {
        var members: [JSONObject.Member] = []
        var next = environ
        while let line = next.pointee {
            let text = String(cString: line)
            let name = String(text.prefix { $0 != "=" })
            if names.contains(name) || name.hasPrefix("OUTRIDER_") && !others.contains(name) {
                members.append(JSONObject.Member(name, .string(masked(text.dropFirst(name.count + 1)))))
            }
            next += 1
        }
        return JSONObject(members: members.sorted { $0.name < $1.name })
    }

    /// `http://name:password@host` with `***` in place of the user and the password.
    private static func masked(_ value: Substring) -> String {
        guard let at = value.lastIndex(of: "@") else { return String(value) }
        let scheme = value[..<at].firstRange(of: "://").map { value[..<$0.upperBound] } ?? ""
        return "\(scheme)***\(value[at...])"
    }
}
