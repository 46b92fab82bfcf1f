// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// Opens a page in the user's browser, where that was asked for.
enum Browser {
    /// POSIX_SPAWN_SETSID, which the module map hides.
    private static let newSession: Int16 = 0x80

    /// Starts `$BROWSER`, if it is one word, or `xdg-open`: without a shell, with nothing of ours but the URL, and without
    /// waiting for it. False if it could not be started, or if the URL is none for a browser.
    static func open(_ url: String) -> Bool {
        guard isFit(url) else { return false }
        let named = environmentVariable("BROWSER").flatMap { $0.contains { " %:".contains($0) } ? nil : $0 }
        let program = named ?? "xdg-open"
        Child.keepInheritedFiles()
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
        posix_spawnattr_setflags(&attributes, newSession)
        var words: [UnsafeMutablePointer<CChar>?] = [program, url].map { (word: String) in strdup(word) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var process: pid_t = 0
        return posix_spawnp(&process, program, &actions, &attributes, words, environ) == 0
    }

    /// What a browser, and nothing else, makes something of.
    static func isFit(_ text: String) -> Bool {
        guard let url = try? HTTPURL(parsing: text), url.isFitForAuthorization else { return false }
        return text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"'`<>\\^{|}$".utf8.contains($0) }
    }
}
