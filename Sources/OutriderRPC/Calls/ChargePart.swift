// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// A call's part of the memory of a batch: the memory is given back once all calls of the batch have released it.
package final class ChargePart: PayloadCharge {
    package let isBeyond: Bool
    /// The last reference to the whole gives it back.
    private let whole: Mutex<(any PayloadCharge)?>

    package init(of whole: any PayloadCharge) {
        isBeyond = whole.isBeyond
        self.whole = Mutex(whole)
    }

    package var bytes: Int { whole.withLock { $0?.bytes ?? 0 } }

    package func grow(by more: Int) -> Bool { whole.withLock { $0 }?.grow(by: more) ?? true }

    package func take(over other: any PayloadCharge) { whole.withLock { $0 }?.take(over: other) }

    package func giveWay() { whole.withLock { $0 }?.giveWay() }

    package func release() {
        // the reference ends outside of the lock, which is free then for other work on this object
        let last = whole.withLock { $0.take() }
        withExtendedLifetime(last) {}
    }
}
