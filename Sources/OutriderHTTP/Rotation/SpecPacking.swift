// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension CredentialSpec: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, name)
        writer.put(2, issuer)
        writer.put(3, clientID)
        writer.put(4, authentication)
        writer.put(5, endpoints)
        for word in scope { writer.put(6, word) }
        for resource in resources { writer.put(7, resource) }
        writer.put(8, grant.rawValue)
        for origin in origins { writer.put(9, origin) }
        writer.put(10, window)
        writer.put(11, refreshBefore)
        for status in refreshStatuses { writer.put(12, status.description) }
        writer.put(13, holds)
        writer.put(14, onFailure.rawValue)
        writer.put(15, persistence.rawValue)
        for parameter in parameters {
            writer.put(16, parameter.name)
            writer.put(17, parameter.value)
        }
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(
            name: try scanner.text(1).orFault(), clientID: try scanner.text(3).orFault(),
            endpoints: try scanner.value(5).orFault(), grant: try scanner.choice(8).orFault())
        issuer = try scanner.text(2)
        authentication = try scanner.value(4).orFault()
        scope = try scanner.texts(6)
        resources = try scanner.texts(7)
        origins = try scanner.urls(9)
        window = try scanner.value(10)
        refreshBefore = try scanner.real(11).orFault()
        refreshStatuses = []
        for text in try scanner.texts(12) { refreshStatuses.append(try Int(text).orFault()) }
        holds = try scanner.flag(13).orFault()
        onFailure = try scanner.choice(14).orFault()
        persistence = try scanner.choice(15).orFault()
        parameters = zip(try scanner.texts(16), try scanner.texts(17)).map { OAuthParameter($0, $1) }
    }

    /// The credential's identity: tokens of an identity never serve another.
    package var identity: [UInt8] {
        var writer = PackedWriter()
        writer.put(1, name)
        writer.put(2, issuer)
        writer.put(3, clientID)
        for resource in resources.sorted() { writer.put(7, resource) }
        return writer.bytes
    }
}

extension ClientAuthentication: Packed {
    package func pack(into writer: inout PackedWriter) {
        switch self {
        case .none: writer.put(1, "none")
        case .basic: writer.put(1, "basic")
        case .body: writer.put(1, "body")
        case .privateKeyJWT(let file, let algorithm, let keyID):
            writer.put(1, "privateKeyJWT")
            writer.put(2, file)
            writer.put(3, algorithm)
            writer.put(4, keyID)
        case .certificate(let file, let key):
            writer.put(1, "certificate")
            writer.put(2, file)
            writer.put(5, key)
        }
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        switch try scanner.text(1) {
        case "none": self = .none
        case "basic": self = .basic
        case "body": self = .body
        case "privateKeyJWT":
            self = .privateKeyJWT(
                file: try scanner.text(2).orFault(), algorithm: try scanner.text(3).orFault(),
                keyID: try scanner.text(4))
        case "certificate":
            self = .certificate(file: try scanner.text(2).orFault(), key: try scanner.text(5).orFault())
        default: throw PackedFault()
        }
    }
}

extension OAuthEndpoints: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, token)
        writer.put(2, authorization)
        writer.put(3, device)
        writer.put(4, revocation)
        writer.put(5, introspection)
        writer.put(6, keys)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(token: try scanner.url(1).orFault())
        authorization = try scanner.url(2)
        device = try scanner.url(3)
        revocation = try scanner.url(4)
        introspection = try scanner.url(5)
        keys = try scanner.url(6)
    }
}

extension RefreshWindow: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, interval)
        writer.put(2, maximumAttempts)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(interval: try scanner.real(1).orFault(), maximumAttempts: try scanner.integer(2).orFault())
    }
}
