// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CFuzzer
import Glibc

// After each input libFuzzer looks at all known counters, and 100,000 counters take longer than most inputs do. So the
// counters of the product reach libFuzzer in groups, each with the first input that counts there.

private let groupSize = 512
private let zeros = [UInt8](repeating: 0, count: groupSize)
/// Unused counters before each group: libFuzzer numbers depths of the stack behind its last counter.
private let gapSize = 24
nonisolated(unsafe) private let gap = UnsafeMutablePointer<UInt8>.zeros(gapSize)
nonisolated(unsafe) private let gapPlaces = UnsafeMutablePointer<CounterPlace>.zeros(gapSize)
nonisolated(unsafe) private var counters = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)
/// The place in the program of each counter.
nonisolated(unsafe) private var places = UnsafeMutableBufferPointer<CounterPlace>(start: nil, count: 0)
nonisolated(unsafe) private var untouched: [Range<Int>] = []

// Each object calls these two when the program begins, with the same memory: the linker wraps those of libFuzzer.

@_cdecl("__wrap___sanitizer_cov_8bit_counters_init")
func holdCounters(_ start: UnsafeMutablePointer<UInt8>, _ end: UnsafeMutablePointer<UInt8>) {
    expect(counters.isEmpty || counters.baseAddress == start, "counters in several places")
    counters = UnsafeMutableBufferPointer(start: start, count: end - start)
}

@_cdecl("__wrap___sanitizer_cov_pcs_init")
func holdPlaces(_ start: UnsafeMutablePointer<CounterPlace>, _ end: UnsafeMutablePointer<CounterPlace>) {
    places = UnsafeMutableBufferPointer(start: start, count: end - start)
}

func holdGroups() {
    expect(counters.count == places.count && !counters.isEmpty, "the parsers have no counters")
    untouched = stride(from: 0, to: counters.count, by: groupSize).map { $0..<min($0 + groupSize, counters.count) }
}

extension UnsafeMutablePointer {
    fileprivate static func zeros(_ count: Int) -> Self {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: count * MemoryLayout<Pointee>.stride, alignment: 16
        )
        memset(memory, 0, count * MemoryLayout<Pointee>.stride)
        return memory.bindMemory(to: Pointee.self, capacity: count)
    }
}

/// Hands libFuzzer the groups that the last input has touched first.
func showTouchedGroups() {
    guard let counters = counters.baseAddress, let places = places.baseAddress else { return }
    var isTouched = false
    for group in untouched where memcmp(counters + group.lowerBound, zeros, group.count) != 0 {
        isTouched = true
        __real___sanitizer_cov_8bit_counters_init(gap, gap + gapSize)
        __real___sanitizer_cov_pcs_init(gapPlaces, gapPlaces + gapSize)
        __real___sanitizer_cov_8bit_counters_init(counters + group.lowerBound, counters + group.upperBound)
        __real___sanitizer_cov_pcs_init(places + group.lowerBound, places + group.upperBound)
    }
    // libFuzzer sets the counters of these groups to zero
    if isTouched { untouched.removeAll { memcmp(counters + $0.lowerBound, zeros, $0.count) != 0 } }
}

/// Takes the place of the calls about comparisons, for a run that does not follow comparisons.
@_cdecl("ignoreComparison")
func ignoreComparison() {}
