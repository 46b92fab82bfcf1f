// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Reads the private keys of clients on demand.
struct ProofSource {
    private static let mostBytes = 64 << 10

    /// For requests that a cassette plays: no key is read.
    var isMasked = false

    /// Nil for clients without a private key.
    func proof(for spec: CredentialSpec) throws(OAuthFailure) -> ClientProof? {
        guard case .privateKeyJWT(let path, _, _) = spec.authentication else { return nil }
        if isMasked { return .masked }
        do throws(HTTPFailure) {
            let bytes = try PosixFile(reading: path).read(at: 0, count: Self.mostBytes, path: path)
            return ClientProof(
                key: Secret(String(decoding: bytes, as: UTF8.self)), now: Clocks.now.wall,
                identifier: HexText.encode((0..<16).map { _ in UInt8.random(in: 0...255) }))
        } catch {
            throw OAuthFailure(.config, "no_private_key", error.message)
        }
    }
}
