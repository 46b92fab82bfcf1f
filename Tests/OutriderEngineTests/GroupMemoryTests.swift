// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderEngine

/// The memory limits of control groups, and the usual budget within them.
struct GroupMemoryTests {
    @Test(arguments: [
        // version 2, in a container and in a service
        ("0::/\n", ["/sys/fs/cgroup/memory.max"]),
        (
            "0::/system.slice/a.service\n",
            [
                "/sys/fs/cgroup/system.slice/a.service/memory.max", "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        ),
        // version 1 beside an empty version 2; a colon in a name; a shared hierarchy
        (
            "5:cpu,memory:/docker/a:b\n4:cpuset:/x\n0::/\n",
            [
                "/sys/fs/cgroup/memory/docker/a:b/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory.max",
            ]
        ),
        // outside of the mounted groups
        ("0::/../../a\n", ["/sys/fs/cgroup/memory.max"]),
        // no group of memory, and no such file
        ("4:cpuset:/x\n1:name=memory:/x\nnonsense\n::\n", []), ("", []),
    ])
    func `the own groups and all above limit a process`(groups: String, files: [String]) {
        #expect(GroupMemory.files(of: groups) == files)
    }

    @Test func `a group of any depth is looked at, up to a bound`() {
        let deep = String(repeating: "/a", count: 64)
        #expect(GroupMemory.files(of: "0::\(deep)").count == 65)
        #expect(GroupMemory.files(of: "0::\(deep)/a") == ["/sys/fs/cgroup/memory.max"])
    }

    @Test(
        arguments: [
            ("268435456\n", 268_435_456), ("max\n", nil), ("9223372036854771712\n", 9_223_372_036_854_771_712),
            ("99999999999999999999\n", nil), ("0\n", nil), ("-1\n", nil), ("", nil), ("1 2\n", 1),
        ] as [(String, Int?)])
    func `a limit is a number of bytes`(text: String, limit: Int?) { #expect(GroupMemory.limit(text) == limit) }

    @Test(
        arguments: [
            (nil, 192), (8192, 192), (1536, 192), (1024, 128), (256, 32), (128, 16), (64, 16), (1, 16),
        ] as [(Int?, Int)])
    func `the usual budget is an eighth of the memory, between bounds`(memory: Int?, budget: Int) {
        #expect(MemoryBudget.usual(within: memory.map { $0 << 20 }) == budget << 20)
    }

    @Test func `the memory of this process is known`() throws {
        let bytes = try #require(MachineMemory.bytes)
        #expect(bytes > 16 << 20)
    }
}
