// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Trust, TLS and address of an attempt as options of curl. Settings without such an option are left out.
enum CurlSecurity {
    static func words(_ attempt: Attempt) -> [String] {
        var words: [String] = []
        if let target = attempt.security.target(for: attempt.url) {
            let place = target.applied(to: attempt.url)
            words += ["--connect-to", ShellText.quoted("\(shown(attempt.url)):\(shown(place))")]
        }
        if let length = attempt.addresses.length { words.append(length == 4 ? "-4" : "-6") }
        guard attempt.url.isSecure, let security = try? attempt.security.security(for: attempt.url) else {
            return words
        }
        return words + policy(security.policy) + settings(security.settings)
    }

    private static func shown(_ url: HTTPURL) -> String {
        url.host.utf8.contains(UInt8(ascii: ":")) ? "[\(url.host)]:\(url.port)" : "\(url.host):\(url.port)"
    }

    private static func policy(_ policy: TrustPolicy) -> [String] {
        switch policy {
        case .none: return ["-k"]
        case .publicKeys(let pins):
            let texts = pins.pins.map { "sha256//" + $0.description.dropFirst(7) }
            return ["--pinnedpubkey", ShellText.quoted(texts.joined(separator: ";"))]
        case .revocation(let revocation):
            return revocation.crlFiles.first.map { ["--crlfile", ShellText.quoted($0)] } ?? []
        case .all(let policies): return policies.flatMap(self.policy)
        case .default, .pinnedCertificates, .callback: return []
        }
    }

    private static func settings(_ settings: TLSSettings) -> [String] {
        var words: [String] = []
        if let file = settings.roots?.file { words += ["--cacert", ShellText.quoted(file)] }
        if let directory = settings.roots?.directory { words += ["--capath", ShellText.quoted(directory)] }
        if settings.minVersion == .v13 { words.append("--tlsv1.3") }
        if let most = settings.maxVersion { words += ["--tls-max", most.rawValue] }
        switch settings.identity?.source {
        case .pem(let certificate, let key)?:
            words +=
                ["--cert", ShellText.quoted(certificate)]
                + (key == certificate ? [] : ["--key", ShellText.quoted(key)])
        case .pkcs12(let file)?: words += ["--cert-type", "P12", "--cert", ShellText.quoted(file)]
        case nil: break
        }
        return words
    }
}
