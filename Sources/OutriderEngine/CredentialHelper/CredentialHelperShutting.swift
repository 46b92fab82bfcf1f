// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc

extension CredentialHelper {
    /// More than an order, a response and the records take, in bytes, and less than the 8 MB that every process may
    /// lock.
    private static let lockedBytes = 4 << 20
    /// Limit of the address space, in bytes: a tenth is used.
    private static let mostAddresses: rlim_t = 1 << 30

    /// From here on no other process reads the memory of this process, and no core file is written.
    package static func hide() {
        _ = outrider_close_to_others()
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    /// Prepares the process for secrets: locks and hides its memory, ignores signals, and limits addresses and time.
    package static func shut() {
        // if the system allows less, the memory stays unlocked
        _ = outrider_lock_heap(lockedBytes)
        hide()
        var most = rlimit(rlim_cur: mostAddresses, rlim_max: mostAddresses)
        setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &most)
        finishWhateverComes()
        CredentialHelperAlarm.windUp()
        _ = umask(0o077)
        _ = chdir("/")
    }

    /// A request that is on its way may already have used the refresh token, so a signal must not end the process
    /// before the new one is stored: a logout sends SIGTERM and SIGHUP to every process of the session. The alarm ends
    /// a request that takes too long; signals that report a fault, and uncatchable signals, keep their effect.
    private static func finishWhateverComes() {
        let kept: Set<CInt> = [
            SIGALRM, SIGKILL, SIGSTOP, SIGCONT, SIGCHLD, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS,
            SIGXCPU,
            SIGXFSZ,
        ]
        for number in CInt(1)..<65 where !kept.contains(number) { signal(number, SIG_IGN) }
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }
}
