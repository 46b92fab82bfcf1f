// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderFiles
import OutriderHTTP
import OutriderJSON

/// Downloads a file from a shell: the file appears when complete, and an interrupted download can be resumed.
struct DownloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download",
        abstract: "Downloads a file, or resumes an interrupted download.",
        discussion: """
              outrider download https://example.org/big.iso
              outrider download -o /tmp/big.iso https://example.org/big.iso
              outrider download --sha256 9f86d081… --segments 4 https://example.org/big.iso

            Without -o the file goes into this directory, under the name that the server suggests. The name appears when \
            the file is complete. After Ctrl-C, a lost connection or a full disk, the same command resumes the download. \
            On a terminal, a line on standard error shows the progress. The path of the file goes to standard output.

            Exit status: 0 complete; 1 to 6 as `outrider call`; 10 request, 11 credential, 12 network, 13 trust, \
            14 a status outside of 200 to 299, 16 file, 17 cancelled.
            """)

    @Argument(help: "Where from, such as https://example.org/big.iso.")
    var url: String

    @Option(
        name: [.customShort("o"), .customLong("output")], help: "The file, or the directory, to write.",
        completion: .file())
    var output: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: "A field to send: 'Name: value', or @file with a field on each line. May be repeated.")
    var headers: [String] = []

    @Flag(name: [.customShort("f"), .long], help: "Replace a file that is there.")
    var force = false

    @Flag(name: .long, help: "Begin from the first byte, ignoring earlier partial files.")
    var restart = false

    @Option(name: .customLong("sha256"), help: "The SHA-256 that the file must have, in hexadecimal.")
    var sha256: String?

    @Option(name: .long, help: "A digest that the file must have, such as sha-512=…; may be repeated.")
    var checksum: [String] = []

    @Option(name: .long, help: "Ask for so many parts at the same time, 1 to 16.")
    var segments: Int?

    @Option(name: .customLong("limit-rate"), help: "The most bytes a second, such as 500k or 2M.")
    var limitRate: String?

    @Flag(name: [.customShort("s"), .long], help: "Show no progress, and say nothing about failures.")
    var silent = false

    @Option(
        name: [.customShort("m"), .long, .customLong("max-time")],
        help: "Seconds for the whole download; 0, the default: as long as bytes come.")
    var timeout: Double?

    @OptionGroup var retries: RetryOptions

    @OptionGroup var auth: AuthOptions

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var trust: TrustOptions

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        // curl and wget mean standard output, which can neither be resumed nor verified before its reader has the bytes
        if output == "-" {
            throw ValidationError(
                "--output must be a file or a directory: `outrider get URL` writes to standard output (./- is a file)")
        }
        if output == "" { throw ValidationError("--output is empty: name a file or a directory") }
        if let fault = RequestWords.fault(timeout: timeout) { throw ValidationError(fault) }
        if let fault = RequestWords.fault(headers: headers, data: [], asks: auth.asks) { throw ValidationError(fault) }
        if let segments, !(1...16).contains(segments) { throw ValidationError("--segments must be from 1 to 16") }
        if let limitRate, ByteRate(limitRate) == nil {
            throw ValidationError("--limit-rate must be a number of bytes, such as 500k or 2M")
        }
        if let sha256 { try Self.check("--sha256", "sha-256", sha256) }
        for one in checksum {
            guard let (algorithm, digest) = one.halves(at: "=") else {
                throw ValidationError("--checksum must be the name of an algorithm, = and a digest")
            }
            try Self.check("--checksum", algorithm, digest)
        }
    }

    private static func check(_ option: String, _ algorithm: String, _ digest: String) throws {
        guard case .failure(let fault) = Checksum.read(algorithm: algorithm, digest: digest) else { return }
        throw ValidationError("\(option): \(fault.message)")
    }

    func run() throws {
        do throws(CommandFailure) {
            try fetch()
        } catch {
            throw silent ? CommandFailure(code: error.code, nil) : error
        }
    }

    private func fetch() throws(CommandFailure) {
        var params = try self.params()
        var service = try service.connect(orPrivate: true, isDetached: true)
        try CommandSession(places: trust.places).add(to: &params, over: &service.client)
        let transfer = Transfer(meter: ProgressMeter(isSilent: silent))
        Interrupts.watch()
        let response: JSONObject
        do throws(CommandFailure) {
            response = try transfer.run(params, over: &service.client)
        } catch {
            var failure = error
            // the partial file outlives the service
            if error.code == CommandFailure.Status.ended.rawValue { failure.note = Self.goesOn }
            throw failure
        }
        transfer.meter?.end()
        if response["ok"] == .bool(true) {
            let path = response["body"]?.object?["path"]?.string ?? ""
            Self.share(path)
            return try StandardOutput.line(Array(path.utf8))
        }
        throw failure(response)
    }

    private static let goesOn = "what has come is kept: the same command goes on with it"
    private static let beginsAnew =
        "what has come is kept: if the same command fails again, --restart begins from the first byte"

    /// Whether the same command can fail for ever: the resource has changed, or the server sends a wrong part.
    private static func isStuck(_ error: JSONObject) -> Bool {
        [1805, 1408].contains(error["code"]?.integer)
    }

    /// Gives the file the permissions that the umask of this command allows, as if the command had written the file.
    /// The service makes files for their owner only, and has a umask of its own.
    private static func share(_ path: String) {
        guard let file = try? CheckedFile.open(path, O_RDONLY, .own) else { return }
        defer { close(file) }
        let mask = umask(0)
        umask(mask)
        fchmod(file, 0o666 & ~mask)
    }

    private func params() throws(CommandFailure) -> JSONObject {
        var params = try RequestWords(url: url, headers: headers, timeout: timeout, isDownload: true).params()
        retries.add(to: &params)
        try auth.add(to: &params)
        proxy.add(to: &params)
        try proxy.check(params["url"]?.string ?? "")
        try trust.add(to: &params)
        trust.redirect(&params)
        params["destination"] = .object(try destination())
        params["validate"] = .object(["status": .array([.string("200..299")])])
        params["resume"] = .bool(!restart)
        params["events"] = .array([.string("progress")])
        if let segments { params["segments"] = .integer(Int64(segments)) }
        if let rate = limitRate.flatMap(ByteRate.init) { params["rateLimit"] = .integer(rate.bytes) }
        var digests: JSONObject = [:]
        if let sha256 { digests["sha-256"] = .string(sha256) }
        for one in checksum {
            if let (algorithm, digest) = one.halves(at: "=") { digests[algorithm] = .string(digest) }
        }
        if !digests.isEmpty { params["checksum"] = .object(digests) }
        return params
    }

    private func destination() throws(CommandFailure) -> JSONObject {
        var info = stat()
        let place = try CommandWords.absolute(output ?? ".")
        let isThere = stat(place, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
        let isDirectory = output == nil || output?.hasSuffix("/") == true || isThere
        return [isDirectory ? "directory" : "path": .string(place), "replace": .bool(force)]
    }

    private func failure(_ response: JSONObject) -> CommandFailure {
        let error = response["error"]?.object ?? [:]
        let status = FailureStatus.of(code: error["code"]?.integer ?? 0)
        var message = CommandFailure.inShell(error["message"]?.string ?? "the download failed")
        if error["code"]?.integer == 1801 { message += " (--force)" }
        // the parameters of the call are no options of this command
        message = message.replacing("(set createDirectories, or", with: "(make it with mkdir -p, or")
        message = message.replacing(". What is there is kept; whenChanged: restart begins again", with: "")
        var failure = CommandFailure(code: status, message)
        if response["resumeData"] != nil {
            failure.note = Self.isStuck(error) ? Self.beginsAnew : Self.goesOn
        }
        return failure
    }
}
