// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Notes that wait for a subscriber, limited in number and bytes. Notes that do not fit are dropped and counted.
///
///     told ──▶ waiting ──take──▶ gone
///                 │ (with a window)
///                 └────take──▶ given ──acknowledged──▶ gone
///
/// Each note has a number, counted from 0; a dropped note leaves a gap. A window limits the notes that are given and
/// not yet acknowledged.
struct SubscriptionMachine<Note: Sendable> {
    /// Which note is dropped when there is no room.
    enum Drop: String, Sendable, CaseIterable { case oldest, newest }

    struct Config: Sendable {
        /// The most notes that wait. Default 1000.
        var queue = 1000
        var drop = Drop.oldest
        /// The most notes given and not acknowledged; nil for no acknowledgement.
        var window: Int?
        /// The most bytes of waiting notes. Default 1 MiB; a single note always fits.
        var bytes = 1 << 20
    }

    struct Numbered: Sendable {
        var number: Int
        var note: Note
        fileprivate var bytes: Int
    }

    struct Taken: Sendable {
        var notes: [Numbered]
        /// Notes dropped since the last `take`.
        var dropped: Int
    }

    private let config: Config
    /// A queue with its front at `front`; taken entries are nil.
    private var waiting: [Numbered?] = []
    private var front = 0
    private var given: [Numbered] = []
    private var lastGiven = -1
    private(set) var bytes = 0
    /// The bytes of notes given and not acknowledged.
    private var givenBytes = 0
    /// The count of all notes, which is the number of the next note.
    private(set) var told = 0
    /// The count of all dropped notes.
    private(set) var dropped = 0
    private var untold = 0

    init(_ config: Config = Config()) { self.config = config }

    var count: Int { waiting.count - front }

    /// The bytes of all notes that are held, also of those given and not acknowledged.
    var heldBytes: Int { bytes &+ givenBytes }

    /// Adds a note; returns how many notes were dropped, possibly including the new note.
    ///
    /// - Parameter memory: the bytes for which there is memory.
    mutating func push(_ note: Note, bytes size: Int, within memory: Int = .max) -> Int {
        let entry = Numbered(number: told, note: note, bytes: size)
        told &+= 1
        var lost = 0
        if config.drop == .oldest {
            while isFull(with: size) || heldBytes &+ size > memory, takeFirst() != nil { lost += 1 }
        }
        if isFull(with: size) || heldBytes &+ size > memory {
            lost += 1
        } else {
            waiting.append(entry)
            bytes &+= size
        }
        dropped &+= lost
        untold &+= lost
        return lost
    }

    /// The oldest notes that may be given, up to that many and that many bytes, but at least one if there is any.
    ///
    /// - Parameter again: whether given notes without acknowledgement come first.
    mutating func take(_ most: Int, bytes mostBytes: Int = .max, again: Bool = false) -> Taken {
        var taken: [Numbered] = []
        var size = 0
        func fits(_ entry: Numbered) -> Bool {
            taken.count < most && (taken.isEmpty || size &+ entry.bytes <= mostBytes)
        }
        for entry in again ? given : [] {
            guard fits(entry) else { return finish(taken) }
            taken.append(entry)
            size &+= entry.bytes
        }
        while let next = first, mayGive, fits(next), let entry = takeFirst() {
            taken.append(entry)
            size &+= entry.bytes
            lastGiven = entry.number
            if config.window != nil {
                given.append(entry)
                givenBytes &+= entry.bytes
            }
        }
        return finish(taken)
    }

    /// Acknowledges all notes up to that number. False if that number has not been given yet.
    mutating func acknowledge(_ number: Int) -> Bool {
        guard number <= lastGiven else { return false }
        removeGiven { $0.number <= number }
        return true
    }

    /// Counts given notes as dropped: their subscriber cannot read them.
    mutating func discard(_ numbers: Set<Int>) {
        removeGiven { numbers.contains($0.number) }
        dropped &+= numbers.count
    }

    private mutating func removeGiven(_ isOver: (Numbered) -> Bool) {
        given.removeAll(where: isOver)
        givenBytes = given.reduce(0) { $0 &+ $1.bytes }
    }

    var isAcknowledged: Bool { config.window != nil }

    private mutating func finish(_ taken: [Numbered]) -> Taken {
        defer { untold = 0 }
        return Taken(notes: taken, dropped: untold)
    }

    private var mayGive: Bool { config.window.map { given.count < $0 } ?? true }

    private var first: Numbered? { front < waiting.count ? waiting[front] : nil }

    private func isFull(with size: Int) -> Bool {
        count > 0 && (count >= config.queue || bytes &+ size > config.bytes)
    }

    private mutating func takeFirst() -> Numbered? {
        guard front < waiting.count, let entry = waiting[front] else { return nil }
        waiting[front] = nil
        front += 1
        bytes &-= entry.bytes
        if front == waiting.count {
            waiting.removeAll(keepingCapacity: waiting.capacity <= 1024)
            front = 0
        } else if front >= 1024, front * 2 >= waiting.count {
            waiting.removeFirst(front)
            front = 0
        }
        return entry
    }
}
