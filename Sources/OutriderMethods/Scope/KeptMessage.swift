// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

extension Call<ClientScope> {
    /// The memory of a long message whose content stays: for the object that keeps the content. Nil for a short
    /// message. Throws `tooMany` if the budget has no room for what stays.
    func keptMessage() throws(RPCError) -> (any PayloadCharge)? {
        guard let charge else { return nil }
        guard charge.isBeyond else { return charge }
        throw scope.noMemory()
    }

    /// The memory of a request, until the request is forgotten. Nil for a short one. Throws `tooMany` if there is no
    /// room.
    func kept(_ spec: RequestSpec, _ request: Result<Attempt, HTTPFailure>) throws(RPCError) -> MemoryCharge? {
        let bytes = RequestMemory.bytes(of: spec, request, message: messageBytes)
        if bytes <= MemoryBudget.countedRequest { return nil }
        if let charge = scope.quota.request(bytes) { return charge }
        throw scope.noMemory()
    }

    /// The memory for content of so many bytes that stays.
    func kept(_ bytes: Int) throws(RPCError) -> MemoryCharge? {
        if bytes <= MemoryBudget.counted { return nil }
        if let charge = scope.quota.message(bytes) { return charge }
        throw scope.noMemory()
    }
}

extension ClientScope {
    /// The refusal of content that would stay in memory, which is full.
    func noMemory() -> RPCError {
        service.engine.memory.countRefusal()
        return RPCError(
            .tooMany, "the memory of the service is full (delete what is no longer needed, or raise --memory)",
            data: ["what": .string("memory"), "limit": .integer(Int64(service.engine.memory.limit))])
    }
}
