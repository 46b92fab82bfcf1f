// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// Without this file SwiftPM writes an entry point from the index of the sources, and the build must write the index.

import Testing

@main
struct Tests {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
