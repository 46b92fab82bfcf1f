// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

extension JSONFields {
    /// The absolute path of a file. A relative path would begin in the working directory of the program that started
    /// the service, where another program may have put files of the same names.
    mutating func path(_ name: StaticString) throws(JSONComplaint) -> String? {
        try optional(name, check: Self.fault(inPath:))
    }

    /// Absolute paths, at most `most`.
    mutating func paths(_ name: StaticString, most: Int = .max) throws(JSONComplaint) -> [String] {
        let paths: [String] =
            try optional(name) { (list: [String]) in
                list.count > most ? "must not hold more than \(most) files" : nil
            } ?? []
        for (index, path) in paths.enumerated() {
            guard let fault = Self.fault(inPath: path) else { continue }
            throw JSONComplaint(fault).under(index: index).under(member: name.description)
        }
        return paths
    }

    private static func fault(inPath path: String) -> String? {
        path.hasPrefix("/") && !path.utf8.contains(0) ? nil : "must be an absolute path, without U+0000"
    }
}
