// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The general categories of Unicode by the names that `\p{…}` may use.
enum ScalarCategories {
    static func named(_ name: String) -> ScalarSet.Property? {
        var name = name[...]
        for prefix in ["General_Category=", "gc="] where name.hasPrefix(prefix) {
            name = name.dropFirst(prefix.count)
        }
        switch name {
        case "Alphabetic", "Alpha": return .alphabetic
        case "White_Space", "space": return .whitespace
        case "L", "Letter": return .category(letters)
        case "LC", "Cased_Letter": return .category([.uppercaseLetter, .lowercaseLetter, .titlecaseLetter])
        case "M", "Mark": return .category([.nonspacingMark, .spacingMark, .enclosingMark])
        case "N", "Number": return .category([.decimalNumber, .letterNumber, .otherNumber])
        case "P", "Punctuation", "punct": return .category(punctuation)
        case "S", "Symbol": return .category([.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol])
        case "Z", "Separator": return .category([.spaceSeparator, .lineSeparator, .paragraphSeparator])
        case "C", "Other": return .category([.control, .format, .surrogate, .privateUse, .unassigned])
        default:
            guard let category = single.first(where: { $0.short == name || $0.long == name }) else { return nil }
            return .category([category.value])
        }
    }

    private static let letters: [Unicode.GeneralCategory] = [
        .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
    ]
    private static let punctuation: [Unicode.GeneralCategory] = [
        .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
        .finalPunctuation, .otherPunctuation,
    ]
    private static let single: [(short: String, long: String, value: Unicode.GeneralCategory)] = [
        ("Lu", "Uppercase_Letter", .uppercaseLetter), ("Ll", "Lowercase_Letter", .lowercaseLetter),
        ("Lt", "Titlecase_Letter", .titlecaseLetter), ("Lm", "Modifier_Letter", .modifierLetter),
        ("Lo", "Other_Letter", .otherLetter), ("Mn", "Nonspacing_Mark", .nonspacingMark),
        ("Mc", "Spacing_Mark", .spacingMark), ("Me", "Enclosing_Mark", .enclosingMark),
        ("Nd", "Decimal_Number", .decimalNumber), ("Nd", "digit", .decimalNumber),
        ("Nl", "Letter_Number", .letterNumber), ("No", "Other_Number", .otherNumber),
        ("Pc", "Connector_Punctuation", .connectorPunctuation), ("Pd", "Dash_Punctuation", .dashPunctuation),
        ("Ps", "Open_Punctuation", .openPunctuation), ("Pe", "Close_Punctuation", .closePunctuation),
        ("Pi", "Initial_Punctuation", .initialPunctuation), ("Pf", "Final_Punctuation", .finalPunctuation),
        ("Po", "Other_Punctuation", .otherPunctuation), ("Sm", "Math_Symbol", .mathSymbol),
        ("Sc", "Currency_Symbol", .currencySymbol), ("Sk", "Modifier_Symbol", .modifierSymbol),
        ("So", "Other_Symbol", .otherSymbol), ("Zs", "Space_Separator", .spaceSeparator),
        ("Zl", "Line_Separator", .lineSeparator), ("Zp", "Paragraph_Separator", .paragraphSeparator),
        ("Cc", "Control", .control), ("Cf", "Format", .format), ("Co", "Private_Use", .privateUse),
        ("Cn", "Unassigned", .unassigned),
    ]
}
