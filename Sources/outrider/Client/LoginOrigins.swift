// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// Where the token of a new credential may be sent. Without an origin, every request with the token would be refused.
enum LoginOrigins {
    /// `--origin` and the origin of `--call`, else the origins of `--resource` too, else the input of a person.
    static func of(
        _ named: [String], api: String?, resources: [String]
    ) throws(CommandFailure) -> [String] {
        var origins = named
        if let api {
            guard let url = try? HTTPURL(parsing: ShellURL.complete(api)) else {
                throw CommandFailure(.usage, "\(FieldRules.shown(api)) is no URL")
            }
            if !origins.contains(url.origin) { origins.append(url.origin) }
        }
        if !named.isEmpty { return origins }
        // a resource may be any absolute URI, such as urn:x (RFC 8707 section 2)
        for url in resources.compactMap({ try? HTTPURL(parsing: ShellURL.complete($0)) })
        where !origins.contains(url.origin) {
            origins.append(url.origin)
        }
        if !origins.isEmpty { return origins }
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw CommandFailure(
                .usage,
                "no request could use this login: say where its token may be sent, with --origin https://api.example or "
                    + "--call URL (--no-origin for `outrider token` alone)")
        }
        StandardError.write("Where may the token be sent, such as https://api.example? ")
        let line = (readLine() ?? "").trimmed
        guard let url = try? HTTPURL(parsing: ShellURL.complete(line)), !line.isEmpty else {
            throw CommandFailure(.usage, "\(FieldRules.shown(line)) is no URL of an API")
        }
        return [url.origin]
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
