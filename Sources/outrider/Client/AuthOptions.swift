// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderHTTP
import OutriderJSON

/// The credentials of a request of the command line.
struct AuthOptions: ParsableArguments {
    @Option(
        name: .long,
        help: """
            Send the token of this credential, refreshed if due, to its own origins only. `outrider login NAME` \
            creates a credential.
            """)
    var oauth: String?

    @Option(
        name: [.customShort("u"), .customLong("user")],
        help: """
            The user; the password is typed unseen, or taken from --netrc, and sent when the server asks: by \
            Digest, or under https by Basic. Other users may see name:password for a moment.
            """)
    var user: String?

    @Flag(name: .long, help: "Send the password of -u or --netrc with the first request, by Basic, as curl does.")
    var basic = false

    @Flag(name: .long, help: "Prove the password of -u or --netrc by Digest alone, so that no server gets it.")
    var digest = false

    @Flag(
        name: [.customShort("n"), .long],
        help: "Take user and password of the host from ~/.netrc, or the file that $NETRC names.")
    var netrc = false

    @Option(name: .customLong("netrc-file"), help: "The same from this file.", completion: .file())
    var netrcFile: String?

    @Option(
        name: .customLong("oauth2-bearer"),
        help: "Send this token (Authorization: Bearer). Other users may see the token for a moment; -H @file hides it.")
    var bearer: String?

    @Option(
        name: .customLong("aws-sigv4"),
        help: "Sign the request for AWS with -u KEY:SECRET or --netrc: aws:amz:REGION:SERVICE. No password is sent.")
    var awsScope: String?

    /// A whole `Auth` for want of an option; of `outrider run`.
    var rawAuth: JSONObject?

    /// `basic` with the first request, or `digest` and nothing else when the server asks; nil for any scheme that the
    /// server asks for.
    var scheme: String?

    private enum CodingKeys: String, CodingKey {
        case oauth, user, basic, digest, netrc, netrcFile, bearer, awsScope
    }

    func validate() throws {
        let isNetrc = netrc || netrcFile != nil
        if oauth != nil, user != nil || isNetrc {
            throw ValidationError("give only one of --oauth, --user and --netrc")
        }
        if bearer != nil, oauth != nil || user != nil || isNetrc {
            throw ValidationError("give only one of --oauth2-bearer, --oauth, --user and --netrc")
        }
        if bearer == "" { throw ValidationError("--oauth2-bearer is empty: give the token") }
        if basic, digest { throw ValidationError("give only one of --basic and --digest") }
        if basic || digest, user == nil, !isNetrc {
            throw ValidationError("--basic and --digest go with -u NAME or --netrc")
        }
        if let awsScope {
            if AWSScope(awsScope) == nil { throw ValidationError("--aws-sigv4 must be aws:amz:REGION:SERVICE") }
            if basic || digest { throw ValidationError("give only one of --aws-sigv4, --basic and --digest") }
            if !isNetrc, user?.halves(at: ":") == nil {
                throw ValidationError("--aws-sigv4 goes with -u KEY:SECRET, which a file of -K hides, or --netrc")
            }
        }
        if isNetrc, user?.halves(at: ":") != nil {
            throw ValidationError("--user has a password already: leave out --netrc")
        }
    }

    /// Whether the credential differs from host to host.
    var isByHost: Bool { netrc || netrcFile != nil || awsScope != nil }

    /// Whether a password is to be read from standard input.
    var asks: Bool { !netrc && netrcFile == nil && user.map { $0.halves(at: ":") == nil } ?? false }

    /// Puts `auth` into the params of a request, or the fields of a signature. Body and fields are there.
    func add(to params: inout JSONObject) throws(CommandFailure) {
        try addCredential(to: &params)
        if params["auth"] != nil { try refuseField(in: params, besides: option) }
    }

    private var option: String {
        if oauth != nil { return "--oauth" }
        if bearer != nil { return "--oauth2-bearer" }
        if netrc || netrcFile != nil { return "--netrc" }
        return user == nil ? "a credential" : "-u"
    }

    private func refuseField(in params: JSONObject, besides option: String) throws(CommandFailure) {
        let names = (params["headers"]?.array ?? []).compactMap { $0.object?["name"]?.string }
        if !names.contains(where: { HTTPFields.same($0, "Authorization") }) { return }
        throw CommandFailure(.usage, "\(option) and a field Authorization say the same: leave one of them out")
    }

    private func addCredential(to params: inout JSONObject) throws(CommandFailure) {
        if let oauth { params["auth"] = .object(["oauth": .string(oauth)]) }
        if let bearer { return params["auth"] = .object(["bearer": .string(bearer)]) }
        if netrc || netrcFile != nil { return try addNetrc(to: &params) }
        guard let user else {
            if let rawAuth, oauth == nil { params["auth"] = .object(rawAuth) }
            return
        }
        guard let (name, password) = user.halves(at: ":") else {
            return try add(user, HiddenPrompt.line("Password of \(user): "), to: &params)
        }
        try add(name, password, to: &params)
    }

    private func add(_ username: String, _ password: String, to params: inout JSONObject) throws(CommandFailure) {
        if let scope = awsScope.flatMap(AWSScope.init) {
            try refuseField(in: params, besides: "--aws-sigv4")
            return try scope.sign(&params, key: username, secret: password)
        }
        let credential = JSONValue.object(["username": .string(username), "password": .string(password)])
        let scheme = scheme ?? (basic ? "basic" : digest ? "digest" : nil)
        params["auth"] = scheme.map { JSONValue.object([$0: credential]) } ?? credential
    }

    /// A host without an entry is asked without a credential, unless a user is named.
    private func addNetrc(to params: inout JSONObject) throws(CommandFailure) {
        let home = environmentVariable("HOME").map { "\($0)/.netrc" }
        guard let path = netrcFile ?? environmentVariable("NETRC") ?? home else {
            throw CommandFailure(.usage, "--netrc: $HOME is not set (name a file with --netrc-file)")
        }
        let netrc = Netrc(try PrivateFile.text(of: path))
        guard let url = params["url"]?.string, let host = (try? HTTPURL(parsing: url))?.hostName else { return }
        if let found = netrc.credential(host: host, login: user) {
            // other bytes than UTF-8 were replaced: the server would get another password
            if (found.username + found.password).unicodeScalars.contains("\u{FFFD}") {
                throw CommandFailure(
                    .usage, "\(path): the user or the password for \(host) is not UTF-8: write the line in UTF-8")
            }
            try add(found.username, found.password, to: &params)
        } else if let user {
            throw CommandFailure(
                .usage, "\(path) has no password of \(user) for \(host) (leave out --netrc to be asked)")
        }
    }
}

/// A file with secrets.
enum PrivateFile {
    private static let most = 1 << 20

    /// - Throws: if another user could read or change it.
    static func text(of path: String) throws(CommandFailure) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw CommandFailure(.usage, "cannot read \(path): \(systemError(errno))") }
        defer { close(file) }
        var info = stat()
        guard fstat(file, &info) == 0, info.st_uid == geteuid() || info.st_uid == 0, info.st_mode & 0o077 == 0 else {
            throw CommandFailure(.usage, "cannot use \(path): other users may read or own it (chmod 600 \(path))")
        }
        var bytes: [UInt8] = []
        while bytes.count <= most, let piece = try FileBytes.read(file) { bytes += piece }
        if bytes.count > most { throw CommandFailure(.usage, "cannot use \(path): it is longer than \(most) bytes") }
        return String(decoding: bytes, as: UTF8.self)
    }
}
