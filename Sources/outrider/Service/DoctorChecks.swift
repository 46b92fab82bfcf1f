// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderMethods

extension RunningService {
    /// Whether this shell has other variables than the start of the service, which the service ignores.
    var environment: DoctorReport.Finding {
        let ours = StartVariables.current
        let names = Set(ours.members.map(\.name) + variables.members.map(\.name)).sorted()
        let different = names.filter { ours[$0] != variables[$0] }
        if different.isEmpty { return .fine("the service was started with that of this shell") }
        let list = different.map { "\($0) (\(variables[$0]?.string ?? "not set"))" }.joined(separator: ", ")
        return .note("the service was started with other values: \(list) (outrider restart, or the configuration)")
    }
}

extension DoctorCommand {
    /// A process that holds the lock without replying prevents every start of a service.
    func lock(_ report: inout DoctorReport) {
        report.attempt("lock") { () throws(CommandFailure) in
            let path = try place.path()
            let file = path.path + ".lock"
            guard path.isLocked, let holder = Self.holder(of: file) else { return .fine("free") }
            if try path.connect() != nil { return .fine("held by process \(holder)") }
            return .fault("process \(holder) holds \(path.path).lock and does not answer (kill \(holder))")
        }
    }

    /// The process with a lock on the file, by `/proc/locks`; nil if there is none.
    private static func holder(of path: String) -> Int32? {
        var info = stat()
        guard stat(path, &info) == 0, let file = fopen("/proc/locks", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let words = text.split(separator: " ")
            // 1: FLOCK  ADVISORY  WRITE 708 08:01:1835021 0 EOF
            if words.count > 5, words[1] == "FLOCK", words[5].hasSuffix(":\(info.st_ino)") { return Int32(words[4]) }
        }
        return nil
    }

    /// Checks the key of the logins on disk.
    func key(_ report: inout DoctorReport) {
        report.attempt("key") { () throws(CommandFailure) in
            let source: KeySource?
            do {
                source = try StoreOptions.parse(Self.configured()).vault().diskKey()
            } catch let failure as OAuthFailure {
                return .fault("\(failure.message) (outrider credentials key)")
            } catch let failure as CommandFailure {
                return .fault(failure.message ?? "the configuration cannot be read")
            } catch {
                return .fault(StoreOptions.message(for: error))
            }
            guard let source else {
                return .note("none seals logins on disk, so they end with the service (outrider credentials key)")
            }
            if case .file(let path) = source, access(path, R_OK) != 0 {
                return .fault("\(path) cannot be read: \(systemError(errno)) (outrider credentials key)")
            }
            // a command may hold a password, and this report is shown to others
            if case .command = source { return .fine("credentials are sealed with the key that a command gives") }
            return .fine("credentials are \(CredentialsCommand.List.describe(source))")
        }
    }

    /// The options of the store in the configuration, where no variable wins over them.
    private static func configured() throws(CommandFailure) -> [String] {
        let entries = try ConfigFile.load(named: nil)?.entries ?? []
        let keys = ["credentials", "credential-key"]
        return entries.filter { keys.contains($0.key) && ConfigFile.variable(over: $0.key) == nil }.flatMap(\.words)
    }
}
