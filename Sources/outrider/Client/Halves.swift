// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension StringProtocol {
    /// The texts before and behind the first such mark; nil without a mark. By scalars, since a mark and an accent
    /// behind the mark are a single character.
    func halves(at mark: Unicode.Scalar) -> (before: String, behind: String)? {
        guard let place = unicodeScalars.firstIndex(of: mark) else { return nil }
        return (String(self[..<place]), String(self[unicodeScalars.index(after: place)...]))
    }
}
