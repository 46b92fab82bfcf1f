// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The descriptors that libdispatch opens when it needs them first, stopping the process if none is free.
enum LibraryDescriptors {
    /// Opens the timers of both clocks that waits of this process use, and the event of the main queue, which the main
    /// thread needs when it ends. Takes 2 ms.
    static func open() async {
        _ = mainQueueHandle()
        try? await Task.sleep(for: .milliseconds(1), clock: .suspending)
        try? await Task.sleep(for: .milliseconds(1), clock: .continuous)
    }
}

/// The descriptor of the main queue, for run loops of other libraries; opened by the first call.
@_silgen_name("_dispatch_get_main_queue_handle_4CF")
private func mainQueueHandle() -> CInt
