// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux

/// The memory of the process as a whole.
package enum ServiceMemory {
    /// Returns freed blocks of 512 KiB or more to the system at once. To be called early, before many exist.
    package static func returnLargeBlocks() { outrider_map_large_blocks() }

    /// Returns the free pages of the heap to the system. Takes milliseconds.
    static func returnFreePages() { outrider_return_free_pages() }
}
