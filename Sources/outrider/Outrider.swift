// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Logging
import NIOPosix

@main
struct Outrider: ParsableCommand {
    func run() throws {}
}
