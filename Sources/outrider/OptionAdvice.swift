// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What to write instead of an option that curl has and this command has not.
enum OptionAdvice {
    private static let commands: Set = ["get", "post", "put", "patch", "delete", "head", "download", "sse"]

    private static let advice: [(options: [String], text: String)] = [
        (["-L", "--location"], "not needed: redirects are followed")
    ]

    /// The advice for the option that a parser's complaint names; nil if there is none.
    static func line(for complaint: String, of arguments: [String]) -> String? {
        guard arguments.count > 1, commands.contains(arguments[1]) else { return nil }
        for (options, text) in advice {
            for option in options where complaint.contains("Unknown option '\(option)'") { return "\(option): \(text)" }
        }
        return nil
    }
}
