// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension CredentialSecrets: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, clientSecret)
        writer.put(2, refreshToken)
        writer.put(3, assertion)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(
            clientSecret: try scanner.secret(1), refreshToken: try scanner.secret(2), assertion: try scanner.secret(3))
    }
}

extension ClockPair: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, wall)
        writer.put(2, boot)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(wall: try scanner.real(1).orFault(), boot: try scanner.real(2).orFault())
    }
}

extension AccessToken: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, token)
        writer.put(2, type)
        writer.put(3, obtained)
        writer.put(4, expires)
        writer.put(5, scope != nil)
        for word in scope ?? [] { writer.put(6, word) }
        for word in missingScope { writer.put(7, word) }
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(
            try scanner.secret(1).orFault(), type: try scanner.text(2).orFault(),
            obtained: try scanner.value(3).orFault(), expires: try scanner.value(4),
            scope: try scanner.flag(5).orFault() ? try scanner.texts(6) : nil, missingScope: try scanner.texts(7))
    }
}

extension OAuthFailure: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, kind.rawValue)
        writer.put(2, reason)
        writer.put(3, message)
        writer.put(4, retryAfter)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(
            try scanner.choice(1).orFault(), try scanner.text(2).orFault(), try scanner.text(3).orFault(),
            retryAfter: try scanner.real(4))
    }
}

extension CredentialSnapshot: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, spec)
        switch state {
        case .empty: writer.put(2, "empty")
        case .ready: writer.put(2, "ready")
        case .unsaved: writer.put(2, "unsaved")
        case .needsLogin(let failure): writer.put(3, failure)
        }
        writer.put(4, generation)
        writer.put(5, access)
        writer.put(6, hasRefreshToken)
        writer.put(7, lastRefresh)
        writer.put(8, birth)
        writer.put(11, login)
        guard case .written(let inode, let nanoseconds) = mark else { return }
        writer.put(9, inode)
        writer.put(10, nanoseconds)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        let state: State
        switch try scanner.text(2) {
        case "empty": state = .empty
        case "ready": state = .ready
        case "unsaved": state = .unsaved
        case nil: state = .needsLogin(try scanner.value(3).orFault())
        default: throw PackedFault()
        }
        self.init(try scanner.value(1).orFault(), state: state, generation: try scanner.number(4).orFault())
        access = try scanner.value(5)
        hasRefreshToken = try scanner.flag(6).orFault()
        lastRefresh = try scanner.value(7)
        birth = try scanner.number(8) ?? 0
        login = try scanner.number(11) ?? 0
        guard let inode = try scanner.number(9), let nanoseconds = try scanner.number(10) else { return }
        mark = .written(inode: inode, nanoseconds: nanoseconds)
    }
}

extension TokenRequest: Packed {
    package func pack(into writer: inout PackedWriter) {
        switch self {
        case .refresh: writer.put(1, "refresh")
        case .clientCredentials: writer.put(1, "clientCredentials")
        case .jwtBearer: writer.put(1, "jwtBearer")
        case .deviceCode(let code, let scope):
            writer.put(1, "deviceCode")
            writer.put(2, code)
            for word in scope { writer.put(7, word) }
        case .authorizationCode(let code, let verifier, let redirect, let nonce, let keys, let scope):
            writer.put(1, "authorizationCode")
            writer.put(2, code)
            writer.put(3, verifier)
            writer.put(4, redirect)
            writer.put(5, nonce)
            writer.put(6, keys)
            for word in scope { writer.put(7, word) }
        }
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        switch try scanner.text(1) {
        case "refresh": self = .refresh
        case "clientCredentials": self = .clientCredentials
        case "jwtBearer": self = .jwtBearer
        case "deviceCode": self = .deviceCode(try scanner.secret(2).orFault(), scope: try scanner.texts(7))
        case "authorizationCode":
            self = .authorizationCode(
                code: try scanner.secret(2).orFault(), verifier: try scanner.secret(3).orFault(),
                redirect: try scanner.text(4).orFault(), nonce: try scanner.text(5), keys: try scanner.text(6),
                scope: try scanner.texts(7))
        default: throw PackedFault()
        }
    }
}
