// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The environment of a service that a command starts. It serves every program of the user, for days; so it gets the settings
/// that it and its helpers read, and none of the secrets that the first caller happened to have.
enum ServiceEnvironment {
    private static let names: Set<String> = [
        "HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TZ", "LANG", "LANGUAGE",
        // where files of the user are, and how a browser is opened
        "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_DATA_DIRS",
        "XDG_CONFIG_DIRS", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY",
        "WAYLAND_DISPLAY", "XAUTHORITY", "BROWSER",
        // trust, proxies, and where shared libraries are
        "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
        "NO_PROXY", "REQUEST_METHOD", "LD_LIBRARY_PATH",
    ]
    private static let prefixes = ["LC_", "OUTRIDER_"]

    static func isPassedOn(_ name: some StringProtocol) -> Bool {
        // the cassette of one program is not for all
        if name == "OUTRIDER_REPLAY" { return false }
        return names.contains(String(name)) || prefixes.contains { name.hasPrefix($0) }
    }

    /// The variables of this process that are passed on, as `NAME=value`.
    static var reduced: [String] {
        var lines: [String] = []
        var next = environ
        while let line = next.pointee {
            let text = String(cString: line)
            if isPassedOn(text.prefix { $0 != "=" }) { lines.append(text) }
            next += 1
        }
        return lines
    }
}
