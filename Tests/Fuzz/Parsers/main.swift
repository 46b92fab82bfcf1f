// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

// A target of libFuzzer for each parser: OUTRIDER_FUZZ=NAME fuzz [options of libFuzzer] [folders with inputs]
// With no name, the table: a line for each target, with its number of inputs and the tests that have inputs.

import CFuzzer
import CJansson
import Glibc

guard let name = getenv("OUTRIDER_FUZZ").map({ String(cString: $0) }) else {
    for target in table { print(([target.name, "\(target.count)"] + target.tests).joined(separator: "\t")) }
    exit(0)
}
guard let target = table.first(where: { $0.name == name }) else {
    print("OUTRIDER_FUZZ names no target: \(name)")
    exit(2)
}
// jansson takes the seed of its hashes from the system otherwise: the same inputs would take other ways each time
json_object_seed(1)
chosen = target.run
holdGroups()
var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
exit(
    LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
        let input = Input(bytes: Array(UnsafeBufferPointer(start: bytes, count: count)))
        chosen(input)
        // now and then a long text of the same words: a parser of quadratic time exceeds the deadline of a run
        if input.hash % 4096 == 0, count > 0 { chosen(input.repeated(to: 192 << 10)) }
        showTouchedGroups()
        return 0
    })
