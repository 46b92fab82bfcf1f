// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux

/// The memory of the process as a whole.
package enum ServiceMemory {
    /// Lets blocks of 512 KiB or more go back to the system as soon as they are freed. To be called before there are many.
    package static func returnLargeBlocks() { outrider_map_large_blocks() }
}
