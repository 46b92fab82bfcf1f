// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// Who asks, in a request of the command line.
struct AuthOptions: ParsableArguments {
    @Option(
        name: .long,
        help: """
            Send the token of this credential, refreshed if need be; to its own origins only. `outrider login NAME` \
            makes one.
            """)
    var oauth: String?

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: """
            name:password, sent when the server asks for it: by Digest, or under https by Basic. Without a colon the \
            password is asked for.
            """)
    var user: String?

    func validate() throws {
        if oauth != nil, user != nil { throw ValidationError("give only one of --oauth and --user") }
    }

    /// Whether a password is to be read from standard input.
    var asks: Bool { user.map { !$0.contains(":") } ?? false }

    /// Puts `auth` into the params of a request.
    func add(to params: inout JSONObject) throws(CommandFailure) {
        if let oauth { params["auth"] = .object(["oauth": .string(oauth)]) }
        guard let user else { return }
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let password = parts.count > 1 ? parts[1] : try Unseen.line("Password of \(parts[0]): ")
        params["auth"] = .object(["username": .string(parts[0]), "password": .string(password)])
    }
}
