// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderMethods

extension CredentialsCommand {
    /// Stores a credential without the service: its secrets pass from standard input to a credential helper.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Reads a credential with its tokens from standard input, as JSON.",
            discussion: """
                  pass show work | outrider credentials import
                  jq '{name: "work", issuer, client_id, client_secret, refresh_token}' tokens.json |
                      outrider credentials import

                The input is an object with a name and the members of oauth.create (outrider describe oauth.create). The \
                names of the RFCs are taken, too: client_id, refresh_token, expires_in, token_endpoint, \
                token_endpoint_auth_method … An issuer that publishes its endpoints needs none here. A credential with a \
                refresh token needs no grant.

                The service does not see the secrets. An existing credential of that name, issuer and client keeps \
                absent members. Exit status: 0 the credential is stored; 1 not stored; 2 standard input is invalid.
                """)

        @OptionGroup var store: StoreOptions

        @OptionGroup var service: ServiceOptions

        func run() async throws {
            CredentialHelper.hide()
            var wanted = try Self.read(try StandardInput.whole(most: 1 << 18))
            if let issuer = wanted.wantsIssuer { try complete(&wanted, by: issuer) }
            let given = wanted
            let kept = try await CredentialsCommand.reporting { () async throws(OAuthFailure) in
                try await store.vault(trustRoots: environmentVariable("SSL_CERT_FILE"))
                    .store(given.spec, given.secrets, access: given.access)
            }
            try StandardOutput.line(List.line(kept).utf8)
        }

        /// Errors never quote the input.
        private static func read(_ bytes: [UInt8]) throws(CommandFailure) -> CredentialImport {
            let json: JSONValue
            do throws(JSONFailure) {
                json = try JSONParser.parse(bytes, limits: .small)
            } catch {
                throw CommandFailure(.usage, "standard input is no JSON: \(error.reason)")
            }
            do throws(JSONComplaint) {
                return try CredentialImport(json)
            } catch {
                let place = error.pointer == .root ? "" : "\(error.pointer): "
                throw CommandFailure(.usage, "standard input: \(place)\(error.message)")
            }
        }

        /// Adds the issuer's published metadata, requested through a service, which learns nothing else.
        private func complete(_ wanted: inout CredentialImport, by issuer: String) throws(CommandFailure) {
            var service = try service.connect(orPrivate: true)
            let found = try service.client.result("oauth.discover", ["issuer": .string(issuer)])
            do throws(OAuthFailure) {
                let metadata = try ServerMetadata(
                    JSONWriter.bytes(of: found["metadata"] ?? .null), issuer: found["issuer"]?.string ?? "")
                try wanted.complete(by: metadata)
            } catch {
                throw CommandFailure(.error, error.message)
            }
        }
    }
}
