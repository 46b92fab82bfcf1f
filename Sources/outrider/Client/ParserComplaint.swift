// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// The sentences of the parser about options that a command has not.
enum ParserComplaint {
    /// The option that the parser does not know; nil for other complaints.
    static func unknownOption(in complaint: String) -> String? {
        guard let start = complaint.firstRange(of: "Unknown option '")?.upperBound else { return nil }
        return String(complaint[start...].prefix { $0 != "'" })
    }

    /// The complaint without a suggestion that is not near: the parser suggests `--oauth` for `--nosuch`.
    static func pruned(_ complaint: String) -> String {
        guard let found = suggested(in: complaint), suggestion(in: complaint) == nil else { return complaint }
        var pruned = complaint
        pruned.removeSubrange(found.sentence)
        return pruned
    }

    /// The near option that the parser suggests for an unknown option, without dashes; nil if there is none.
    static func suggestion(in complaint: String) -> String? {
        guard let option = unknownOption(in: complaint), let found = suggested(in: complaint) else { return nil }
        return NameSuggestions.of(String(option.drop { $0 == "-" }), among: [found.name]).first
    }

    /// What the parser suggests, near or not, without dashes, and the place of the sentence.
    private static func suggested(in complaint: String) -> (name: String, sentence: Range<String.Index>)? {
        guard let start = complaint.firstRange(of: ". Did you mean '"),
            let end = complaint[start.upperBound...].firstRange(of: "'?")
        else { return nil }
        let name = complaint[start.upperBound..<end.lowerBound].drop { $0 == "-" }
        return (String(name), start.lowerBound..<end.upperBound)
    }
}
