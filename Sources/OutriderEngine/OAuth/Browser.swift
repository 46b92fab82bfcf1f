// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc
package import OutriderHTTP
import OutriderTransport

/// Opens a page in the user's browser, on request.
package enum Browser {
    /// POSIX_SPAWN_SETSID, which the module map hides.
    private static let newSession: Int16 = 0x80

    /// Starts `$BROWSER`, if set to a single word, or `xdg-open`: without a shell, with only the URL as input, and
    /// without waiting for the end. Returns the failure if the program did not start.
    package static func open(_ url: String) -> OAuthFailure? {
        guard isFit(url) else { return failure("the address is none for a browser") }
        let named = getenv("BROWSER").map { String(cString: $0) }
        let isWord = named.map { !$0.isEmpty && !$0.contains { " %:".contains($0) } } ?? false
        let program = isWord ? named ?? "xdg-open" : "xdg-open"
        let (code, process) = start(program, url)
        if code != 0 {
            let hint = isWord ? "BROWSER names it" : "install xdg-utils, or name a program in BROWSER"
            return failure("\(program) could not be started (\(String(cString: strerror(code)))); \(hint)")
        }
        // the ended process must be reaped
        _ = DetachedThread.start {
            var status: CInt = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
        }
        return nil
    }

    private static func start(_ program: String, _ url: String) -> (code: CInt, process: pid_t) {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for file: Int32 in 0...2 {
            posix_spawn_file_actions_addopen(&actions, file, "/dev/null", file == 0 ? O_RDONLY : O_WRONLY, 0)
        }
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        posix_spawnattr_setflags(&attributes, newSession)
        var words: [UnsafeMutablePointer<CChar>?] = [program, url].map { (word: String) in strdup(word) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var process: pid_t = 0
        return (posix_spawnp(&process, program, &actions, &attributes, words, environ), process)
    }

    private static func failure(_ why: String) -> OAuthFailure {
        OAuthFailure(.config, "no_browser", "no browser was opened: \(why); open the address yourself")
    }

    /// Whether the text is a URL that only a browser interprets.
    static func isFit(_ text: String) -> Bool {
        guard let url = try? HTTPURL(parsing: text), url.isFitForAuthorization else { return false }
        return text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"'`<>\\^{|}$".utf8.contains($0) }
    }
}
