import { bindHandlers } from "../../../api/method.ts"
import { HistoryService } from "../../../gen/core/history/v2/history_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { tryUndo, undo } from "../undo/undo.ts"
import { eventTitle, parseSequence } from "../words.ts"
import { resolveResource, toDifference } from "./v2.ts"

export const undos = bindHandlers<Cx>()(HistoryService, {
  getUndo: async ({ resource, sequence }, cx) => {
    const tried = await tryUndo(cx, await resolveResource(cx, resource), requireSequence(sequence))
    if (tried instanceof Fault) {
      return { possible: false, refusal: tried.id, words: tried.message }
    }
    const { plan, differences, types } = tried
    return {
      possible: true,
      operation: plan.operation,
      differences: differences.map((each) => toDifference(cx, each)),
      types: [...types],
      typeWords: types.map((type) => eventTitle(cx, type)),
      lastSequence: BigInt(plan.last),
    }
  },
  undoChange: async ({ resource, sequence, lastSequence }, cx) => {
    const change = { version: requireSequence(sequence), last: parseSequence(lastSequence) }
    const { operation, version } = await undo(cx, await resolveResource(cx, resource), change)
    return { operation, sequence: BigInt(version) }
  },
})

function requireSequence(sequence: bigint): number {
  const version = parseSequence(sequence)
  if (version !== undefined) return version
  throw new Fault(
    "invalid_argument",
    "history.sequence_missing",
    "sequence is required: the sequence of the change to undo, as returned by ListChanges",
  )
}
