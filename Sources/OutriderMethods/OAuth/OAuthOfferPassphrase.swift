// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// `callback.passphrase`: what a person has said, or nothing.
struct PassphraseDecision: JSONDecodable {
    var passphrase: Secret?

    /// Bytes.
    private static let longest = 1024

    init(json: JSONValue) throws(JSONComplaint) {
        if case .null = json { return }
        var fields = try JSONFields(json)
        passphrase = try fields.optional("passphrase") { (passphrase: Secret) in
            (1...Self.longest).contains(passphrase.count) ? nil : "must have 1 to \(Self.longest) bytes"
        }
        try fields.finish()
    }
}

/// Offers to reply for a person who knows the passphrase, or takes the offer back.
struct OAuthOfferPassphrase: Method {
    static let name = "oauth.offerPassphrase"

    struct Params: JSONDecodable {
        /// Nil to take it back.
        var callback: CallbackSpec?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            callback = try fields.optionalCallback()
            try fields.finish()
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> JSONNothing {
        let (prompt, owner) = (call.scope.service.passphrases, call.scope.owner)
        guard let callback = params.callback else {
            prompt.withdraw(owner)
            return JSONNothing()
        }
        let runner = CallbackRunner(call)
        prompt.offer(owner) { directory, failures in
            let names = CallbackSubject(callback: callback.name, request: nil, attempt: 0)
            let decision: PassphraseDecision? = try? await runner.run(
                .passphrase, callback, names, .passphrase(store: directory, failures: failures), events: InboxOutlet())
            return decision?.passphrase
        }
        return JSONNothing()
    }
}
