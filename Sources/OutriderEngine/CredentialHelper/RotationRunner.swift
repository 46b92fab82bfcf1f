// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Drives a `RotationMachine`: reads and writes the files of a credential, whose lock it holds, and contacts its
/// server.
struct RotationRunner {
    let files: any RotationStore
    let post: any TokenEndpoint
    let proofs: ProofSource

    func run(_ order: RotationMachine.Order) async throws(OAuthFailure) -> RotationMachine.End {
        var machine = RotationMachine(
            order, boot: Clocks.boot, attempt: .random(in: 0...UInt64.max), jitter: .random(in: 0.9...1.1))
        var action = machine.done()
        while true {
            switch action {
            case .end(let end): return end
            case .look: action = machine.found(try files.look(), at: Clocks.now)
            case .send(let request, let record, let intent): action = await send(request, record, intent, &machine)
            default:
                do throws(OAuthFailure) {
                    try perform(action)
                    action = machine.done()
                } catch {
                    action = machine.failed(error)
                }
            }
        }
    }

    private func perform(_ action: RotationMachine.Action) throws(OAuthFailure) {
        switch action {
        case .quarantine(let file): try files.quarantine(file)
        case .quarantineEscrow: try files.quarantineEscrow()
        case .prepare(let record): try files.prepare(record)
        case .stamp(let intent): try files.write(intent)
        case .write(let record): try files.write(record)
        case .escrow(let record): try files.escrow(record)
        case .clear: try files.clear()
        case .pause(let pause): try files.write(pause)
        case .look, .send, .end: break
        }
    }

    private func send(
        _ request: TokenRequest, _ record: CredentialRecord, _ intent: RotationIntent?,
        _ machine: inout RotationMachine
    ) async -> RotationMachine.Action {
        let form: OAuthForm
        do throws(OAuthFailure) {
            form = try OAuthForm(request, record.spec, record.secrets, proof: try proofs.proof(for: record.spec))
        } catch {
            return machine.notSent(error, at: Clocks.now)
        }
        let files = Sole(files)
        let outcome = await post.send(
            form, to: record.spec.endpoints.token, .token, attempt: intent?.attempt ?? 0,
            commit: { () throws(OAuthFailure) in
                if let intent { try files.value.begin(intent) }
            },
            keep: { piece in
                // only a refresh can be resumed after an interruption
                if intent != nil { self.files.journal(piece) }
            })
        switch outcome {
        case .responded(let response): return machine.responded(response, at: Clocks.now)
        case .refused(let failure): return machine.refused(failure, at: Clocks.now)
        case .lost(let partial, let seconds, let why):
            let failure = OAuthFailure.outcomeUnknown(
                record.spec.name, why: why.message, isLogin: request.isSoleLogin)
            return machine.lost(partial, after: seconds, at: Clocks.now, failure)
        case .notSent(let failure): return machine.notSent(failure, at: Clocks.now)
        }
    }
}

/// The files of a credential, whose lock the caller holds; or their content in memory.
protocol RotationStore: AnyObject {
    func look() throws(OAuthFailure) -> RotationFiles
    func quarantine(_ file: RotationFiles.Name) throws(OAuthFailure)
    func quarantineEscrow() throws(OAuthFailure)
    /// Makes sure that there is room for the next record, or throws.
    func prepare(_ record: CredentialRecord) throws(OAuthFailure)
    func write(_ intent: RotationIntent) throws(OAuthFailure)
    func write(_ record: CredentialRecord) throws(OAuthFailure)
    func write(_ pause: RotationPause) throws(OAuthFailure)
    func escrow(_ record: CredentialRecord) throws(OAuthFailure)
    /// Removes intent, response and pause.
    func clear() throws(OAuthFailure)
    /// Writes the intent, and begins a response.
    func begin(_ intent: RotationIntent) throws(OAuthFailure)
    func journal(_ piece: ResponseJournal.Piece)
}

extension CredentialFiles: RotationStore {}

/// Carries the files to the event loop, which writes the intent while the task waits.
// proof: used by one thread at a time: the task is suspended in `send` until the loop has called `commit`
struct Sole<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}
