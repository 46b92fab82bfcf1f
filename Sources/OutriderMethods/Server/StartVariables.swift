// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderJSON

/// The variables of this process that affect trust, proxies and settings, without passwords. They come from the program
/// that started the service; other programs can compare their own.
package enum StartVariables {
    private static let names: Set = [
        "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY",
        "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "OUTRIDER_CACHES", "OUTRIDER_CONFIG", "OUTRIDER_CREDENTIALS", key,
        "OUTRIDER_JARS", "OUTRIDER_LOG", "OUTRIDER_LOG_FILE", "OUTRIDER_LOG_FORMAT", "OUTRIDER_LOOPS",
        "OUTRIDER_MEMORY", "OUTRIDER_NO_DEVICE_LOGIN", "OUTRIDER_PROXY", "OUTRIDER_REPLAY",
    ]
    private static let key = "OUTRIDER_CREDENTIAL_KEY"

    package static var current: JSONObject {
        var members: [JSONObject.Member] = []
        var next = environ
        while let line = next.pointee {
            let text = String(cString: line)
            let name = String(text.prefix { $0 != "=" })
            let value = text.dropFirst(name.count + 1)
            // an empty variable sets nothing
            if names.contains(name), !value.isEmpty {
                members.append(JSONObject.Member(name, .string(name == key ? kind(value) : masked(value))))
            }
            next += 1
        }
        return JSONObject(members: members.sorted { $0.name < $1.name })
    }

    /// The kind of a key, such as `command:***`: a command may hold a password.
    private static func kind(_ value: Substring) -> String {
        let kind = value.prefix { $0 != ":" }
        return kind.endIndex == value.endIndex ? String(value) : "\(kind):***"
    }

    /// `http://name:password@host` with `***` in place of the user and the password.
    private static func masked(_ value: Substring) -> String {
        guard let at = value.lastIndex(of: "@") else { return String(value) }
        let scheme = value[..<at].firstRange(of: "://").map { value[..<$0.upperBound] } ?? ""
        return "\(scheme)***\(value[at...])"
    }
}
