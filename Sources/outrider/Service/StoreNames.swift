// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderEngine
import OutriderJSON

/// The jars or the caches on disk: for the service a store that is absent, such as one of a misspelt name, is empty.
enum StoreNames: String {
    case jars, caches

    /// The most names in a message.
    private static let mostShown = 20

    /// Throws if there is no such store, with the names of all others.
    func check(_ name: String, over client: inout ServiceClient) throws(CommandFailure) {
        let service = try RunningService(over: &client)
        guard let root = directory(of: service) else { return }
        let names = Self.names(in: root)
        if names.contains(name) { return }
        let shown = names.prefix(Self.mostShown).joined(separator: ", ") + (names.count > Self.mostShown ? ", …" : "")
        let others = names.isEmpty ? "there is no other either" : "there are: \(shown)"
        throw CommandFailure(.error, "there is no \(rawValue.dropLast()) \(name) in \(root) (\(others))")
    }

    /// The directory of the service, by its flag, by the variables of its start, by the configuration, or the usual one;
    /// nil if unknown.
    private func directory(of service: RunningService) -> String? {
        // a fault of the file is that of another command
        let entry = (try? ConfigFile.load(named: service.value(of: "--config")))?.entries.last { $0.key == rawValue }
        let variable = service.variables["OUTRIDER_\(rawValue.uppercased())"]?.string
        if let named = service.value(of: "--\(rawValue)") ?? variable ?? entry?.text {
            // a relative path begins where the service was started, and a masked one cannot be read
            return named.hasPrefix("/") ? named : nil
        }
        guard let user = getpwuid(geteuid()), let home = user.pointee.pw_dir else { return nil }
        return "\(String(cString: home))/.local/share/outrider/\(self == .jars ? "cookies" : "caches")"
    }

    private static func names(in directory: String) -> [String] {
        // names of caches have the form of those of jars
        DirectoryNames.all(in: directory).filter { CookieJars.fault(ofName: $0) == nil }.sorted()
    }
}
