// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

@Suite struct NetrcTests {
    private static let netrc = Netrc(
        """
        # machine commented.example login no password no
        machine one.example login ada password s3cret
        machine ONE.example login bob password #hash
        machine two.example
            login "eve \\"x\\"" password "with space\\tand tab" account ignored
        macdef init
            machine macro.example login no password no

        machine empty.example login mute
        machine named.example password alone
        default login anonymous password me@example.com
        """)

    @Test(
        arguments: [
            ("one.example", nil, "ada", "s3cret"), ("One.Example", nil, "ada", "s3cret"),
            ("one.example", "bob", "bob", "#hash"), ("two.example", nil, "eve \"x\"", "with space\tand tab"),
            ("empty.example", nil, "mute", ""), ("named.example", "zoe", "zoe", "alone"),
            ("macro.example", nil, "anonymous", "me@example.com"),
            ("commented.example", nil, "anonymous", "me@example.com"),
        ] as [(String, String?, String, String)])
    func `a host has its own entry, or the default`(host: String, login: String?, user: String, password: String) {
        #expect(Self.netrc.credential(host: host, login: login) == UserCredential(user, password))
    }

    @Test func `keywords may be in any case, as for curl`() {
        let netrc = Netrc("MACHINE a Login ada PassWord #pw DEFAULT login eve password x")
        #expect(netrc.credential(host: "a") == UserCredential("ada", "#pw"))
        #expect(netrc.credential(host: "b") == UserCredential("eve", "x"))
    }

    @Test func `a user without an entry has no password`() {
        #expect(Self.netrc.credential(host: "one.example", login: "zoe") == nil)
        #expect(Netrc("machine a login b password c").credential(host: "other") == nil)
    }

    @Test(arguments: ["", "machine", "machine a login", "login a password b", "machine a password \"open", "macdef"])
    func `a file that ends too early is read as far as it goes`(text: String) {
        #expect(Netrc(text).credential(host: "other") == nil)
    }
}
