// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The timers of libdispatch, one descriptor for each clock.
///
/// libdispatch opens a timer with the first wait on its clock, and stops the process if no descriptor is free.
enum LibraryTimers {
    /// Opens both timers that waits of this process use. Takes 2 ms.
    static func open() async {
        try? await Task.sleep(for: .milliseconds(1), clock: .suspending)
        try? await Task.sleep(for: .milliseconds(1), clock: .continuous)
    }
}
