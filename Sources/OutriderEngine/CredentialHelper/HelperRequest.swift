// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The order for a helper process, on its standard input; the helper replies on its standard output.
package struct HelperRequest: Sendable, Equatable {
    package enum Work: Sendable, Equatable {
        case store(CredentialSpec, CredentialSecrets, AccessToken?)
        /// Changes these settings to those of the spec, and the tokens if given; all else stays as stored.
        case change(CredentialSpec, [CredentialSpec.Setting], CredentialSecrets, AccessToken?)
        case read(String)
        case list
        case obtain(TokenRequest, name: String, newerThan: UInt64?)
        case authorizeDevice(String, scope: [String]?)
        /// Only if the tokens are of that generation or older; nil for any generation.
        case erase(String, spec: Bool, revoke: Bool, upTo: UInt64?)
        case introspect(String)
        /// With the passphrase of the store, until the machine stops.
        case unlock(Secret)
        /// Reseals the whole store with the key of another source; the passphrase is the new one.
        case rekey(KeySource, passphrase: Secret?)
    }

    package var work: Work
    package var place: CredentialPlace
    /// The birth of the record that the order is for; nil for any record of that name.
    package var birth: UInt64?
    /// Trust roots in PEM, in place of the system's.
    package var trustRoots: String?
    /// The proxy setting of the service; nil for none.
    package var proxy: String?
    /// Whether the helper reports its requests, without their secrets.
    package var isRecorded: Bool

    package init(
        _ work: Work, of birth: UInt64? = nil, in place: CredentialPlace, trustRoots: String? = nil,
        proxy: String? = nil, isRecorded: Bool = false
    ) {
        self.isRecorded = isRecorded
        self.birth = birth
        self.proxy = proxy
        self.work = work
        self.place = place
        self.trustRoots = trustRoots
    }
}

/// The directory of the records, and the source of their key.
package struct CredentialPlace: Sendable, Equatable {
    /// An absolute path.
    package var directory: String
    package var key: KeySource
}

/// The result of an order.
package enum HelperResponse: Sendable, Equatable {
    /// Empty if the credential does not exist; all credentials for a list.
    case snapshots([CredentialSnapshot])
    case bytes([UInt8])
    case failure(OAuthFailure)
    /// The credential is forgotten, but the server did not revoke its tokens.
    case unrevoked(OAuthFailure)
}

extension HelperRequest: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, place.directory)
        writer.put(2, place.key)
        writer.put(3, trustRoots)
        writer.put(17, proxy)
        writer.put(18, birth)
        if isRecorded { writer.put(21, true) }
        switch work {
        case .store(let spec, let secrets, let access):
            writer.put(4, "store")
            writer.put(6, spec)
            writer.put(7, secrets)
            writer.put(8, access)
        case .change(let spec, let settings, let secrets, let access):
            writer.put(4, "change")
            writer.put(6, spec)
            writer.put(7, secrets)
            writer.put(8, access)
            for setting in settings { writer.put(19, setting.rawValue) }
        case .read(let name): put(&writer, "read", name)
        case .list: writer.put(4, "list")
        case .obtain(let request, let name, let generation):
            put(&writer, "obtain", name)
            writer.put(9, request)
            writer.put(10, generation)
        case .authorizeDevice(let name, let scope):
            put(&writer, "device", name)
            writer.put(11, scope != nil)
            for word in scope ?? [] { writer.put(12, word) }
        case .erase(let name, let spec, let revoke, let generation):
            put(&writer, "erase", name)
            writer.put(13, spec)
            writer.put(14, revoke)
            writer.put(20, generation)
        case .introspect(let name): put(&writer, "introspect", name)
        case .unlock(let passphrase):
            writer.put(4, "unlock")
            writer.put(15, passphrase)
        case .rekey(let source, let passphrase):
            writer.put(4, "rekey")
            writer.put(15, passphrase)
            writer.put(16, source)
        }
    }

    private func put(_ writer: inout PackedWriter, _ work: String, _ name: String) {
        writer.put(4, work)
        writer.put(5, name)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        place = CredentialPlace(
            directory: try scanner.text(1).orFault(), key: try scanner.value(2).orFault())
        trustRoots = try scanner.text(3)
        proxy = try scanner.text(17)
        birth = try scanner.number(18)
        isRecorded = try scanner.flag(21) ?? false
        let name = try scanner.text(5)
        switch try scanner.text(4) {
        case "store":
            work = .store(
                try scanner.value(6).orFault(), try scanner.value(7).orFault(), try scanner.value(8))
        case "change":
            var settings: [CredentialSpec.Setting] = []
            for text in try scanner.texts(19) { settings.append(try CredentialSpec.Setting(rawValue: text).orFault()) }
            work = .change(
                try scanner.value(6).orFault(), settings, try scanner.value(7).orFault(), try scanner.value(8))
        case "read": work = .read(try name.orFault())
        case "list": work = .list
        case "obtain":
            work = .obtain(
                try scanner.value(9).orFault(), name: try name.orFault(), newerThan: try scanner.number(10))
        case "device":
            work = .authorizeDevice(
                try name.orFault(), scope: try scanner.flag(11).orFault() ? try scanner.texts(12) : nil)
        case "erase":
            work = .erase(
                try name.orFault(), spec: try scanner.flag(13).orFault(), revoke: try scanner.flag(14).orFault(),
                upTo: try scanner.number(20))
        case "introspect": work = .introspect(try name.orFault())
        case "rekey": work = .rekey(try scanner.value(16).orFault(), passphrase: try scanner.secret(15))
        case "unlock": work = .unlock(try scanner.secret(15).orFault())
        default: throw PackedFault()
        }
    }
}

extension HelperResponse: Packed {
    package func pack(into writer: inout PackedWriter) {
        switch self {
        case .snapshots(let snapshots): for snapshot in snapshots { writer.put(1, snapshot) }
        case .bytes(let bytes): writer.put(2, bytes: bytes)
        case .failure(let failure): writer.put(3, failure)
        case .unrevoked(let failure):
            writer.put(3, failure)
            writer.put(5, true)
        }
        // the last field: if missing, the helper was stopped while writing
        writer.put(4, true)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        guard try scanner.flag(4) == true else { throw PackedFault() }
        if let failure = try scanner.value(3, OAuthFailure.self) {
            self = try scanner.flag(5) == true ? .unrevoked(failure) : .failure(failure)
        } else if let bytes = scanner.bytes(2) {
            self = .bytes(bytes)
        } else {
            self = .snapshots(try scanner.list(1))
        }
    }
}
