// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// The words of the command line, also where the runtime finds none.
enum CommandLineWords {
    /// Words that are not UTF-8 are repaired. To be read before a variable is set.
    static let all = pointers.map { String(cString: $0) }

    /// The words in memory. The runtime reads /proc, which a root directory may lack: then the list of the
    /// kernel in front of the variables, until a variable is set: the count, each word, nil, each variable.
    static var pointers: [UnsafeMutablePointer<CChar>] {
        if CommandLine.argc > 0 { return (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0] } }
        let variables = environ
        guard variables[-1] == nil else { return [] }
        var count = 0
        while Int(bitPattern: variables[-2 - count]) != count { count += 1 }
        return (0..<count).compactMap { variables[$0 - 1 - count] }  // safe: fewer than the kernel's limit
    }
}
