// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The syntax tree of a pattern.
indirect enum PatternTree: Equatable {
    case empty
    case scalar(UInt32)
    case set(ScalarSet)
    case sequence([PatternTree])
    case either([PatternTree])
    /// `most` is nil for any number of times.
    case times(PatternTree, least: Int, most: Int?)
    case place(Place)

    /// A condition on a position in the text.
    enum Place: Sendable, Equatable {
        case start, end, wordEdge, noWordEdge
    }
}

/// Why a pattern is not supported: a sentence without a subject, to follow the pattern.
struct PatternFault: Error, Equatable {
    var reason: String
}
