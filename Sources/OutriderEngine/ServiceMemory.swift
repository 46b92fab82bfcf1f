// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux

/// The memory of the process as a whole.
package enum ServiceMemory {
    /// Returns freed blocks of 512 KiB or more to the system at once. To be called early, before many exist.
    package static func returnLargeBlocks() { outrider_map_large_blocks() }

    /// Gives threads from now on the usual stack of 8 MiB, where `ulimit -s` gives them less: checks of values by deep
    /// schemas need up to a megabyte. To be called first.
    package static func raiseStacks() { _ = outrider_raise_stacks(8 << 20) }

    /// Returns the free pages of the heap to the system. Takes milliseconds.
    static func returnFreePages() { outrider_return_free_pages() }
}
