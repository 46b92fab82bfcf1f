// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// The date of `--time-cond`: a date, or the time of a file.
enum TimeCondition {
    /// The field of a word; a hyphen before the date turns the condition round.
    ///
    /// - Parameter outputs: the files that the command writes. One that is not there yet makes no condition: nil.
    static func field(_ word: String, outputs: [String]) throws(CommandFailure) -> String? {
        let isTurned = word.hasPrefix("-")
        let text = isTurned || word.hasPrefix("+") ? String(word.dropFirst()) : word
        let now = Int64(time(nil))
        var info = stat()
        let seconds = stat(text, &info) == 0 ? Int64(info.st_mtim.tv_sec) : HTTPDate.parse(text, now: now) ?? day(text)
        if seconds == nil, outputs.contains(text) { return nil }
        guard let date = seconds.flatMap(HTTPDate.format) else {
            throw CommandFailure(
                .usage,
                "--time-cond \(word): this is no file and no date (write 'Sun, 06 Nov 1994 08:49:37 GMT', '6 Nov 1994' or 1994-11-06)"
            )
        }
        return (isTurned ? "If-Unmodified-Since: " : "If-Modified-Since: ") + date
    }

    /// The begin of a day such as `1994-11-06`, `19941106` or `6 Nov 1994`.
    private static func day(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        if words.count == 3 {
            // the name of the day is not compared
            let date = (words[0].count == 1 ? "0" : "") + words.joined(separator: " ")
            return HTTPDate.parse("Sun, \(date) 00:00:00 GMT", now: 0)
        }
        let bytes = Array(text.utf8)
        let hasHyphens = bytes.count == 10 && bytes[4] == UInt8(ascii: "-") && bytes[7] == UInt8(ascii: "-")
        let digits = hasHyphens ? Array(bytes[..<4] + bytes[5..<7] + bytes[8...]) : bytes
        guard digits.count == 8, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int32(String(decoding: digits, as: UTF8.self))
        else { return nil }
        var given = tm()
        (given.tm_year, given.tm_mon, given.tm_mday) = (number / 10000 - 1900, number / 100 % 100 - 1, number % 100)
        var time = given
        let seconds = timegm(&time)
        // timegm takes the 45th of a month for a day of the next month
        return time.tm_mon == given.tm_mon && time.tm_mday == given.tm_mday ? Int64(seconds) : nil
    }
}

/// The file of `--etag-save` and `--etag-compare`.
enum ETagFile {
    private static let most = 8192

    /// The tag in the file; nil without a file, and for an empty one.
    static func read(_ name: String) throws(CommandFailure) -> String? {
        if access(name, F_OK) != 0, errno == ENOENT { return nil }
        let text = String(decoding: try StandardInput.bytes(of: name).prefix(most), as: UTF8.self)
        let tag = text.prefix { !$0.isNewline }
        return tag.allSatisfy(\.isWhitespace) ? nil : String(tag)
    }
}
