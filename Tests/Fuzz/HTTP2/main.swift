// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

// Plays random frames, legal and illegal, against the machine of HTTP/2: fuzz-http2 FRAMES SEED

import Glibc
import OutriderHTTP

let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let most = arguments.first ?? 1_000_000
var seed = UInt64(max(0, arguments.dropFirst().first ?? 1))
var (frames, connections, closed, output) = (0, 0, 0, 0)

while frames < most {
    // one connection in eight gets bytes that are no frames
    let isNoise = seed % 8 == 7
    var player = HTTP2Player(seed: seed, wildness: [20, 60, 200, 1000, 5000][Int(seed % 5)])
    for _ in 0..<400 where !player.isClosed {
        guard isNoise else {
            player.turn(of: 4)
            continue
        }
        player.call()
        player.look()
        player.noise()
        player.deliver()
    }
    if player.isClosed { closed += 1 }
    player.end()
    if let fault = player.faults.first {
        print("seed \(seed): \(fault)")
        exit(1)
    }
    frames += player.frames
    connections += 1
    output = max(output, player.mostOutput)
    seed &+= 1
}
var usage = rusage()
getrusage(Int32(truncatingIfNeeded: RUSAGE_SELF.rawValue), &usage)
print(
    "\(frames) frames on \(connections) connections, \(closed) of them ended by the machine: each stream ended once; "
        + "at most \(output) bytes waited to be written, and \(usage.ru_maxrss >> 10) MiB were held")
