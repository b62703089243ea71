import { share } from "../../../api/method.ts"
import { HistoryService } from "../../../gen/core/history/v2/history_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { tryUndo, undo } from "../undo/undo.ts"
import { sequenceOf, wordsOf } from "../words.ts"
import { placeOf, toDifference } from "./v2.ts"

export const undos = share<Cx>()(HistoryService, {
  getUndo: async ({ resource, sequence }, cx) => {
    const tried = await tryUndo(cx, await placeOf(cx, resource), required(sequence))
    if (tried instanceof Fault) {
      return { possible: false, refusal: tried.id, words: tried.message }
    }
    const { plan, differences, types } = tried
    return {
      possible: true,
      operation: plan.operation,
      differences: differences.map((each) => toDifference(cx, each)),
      types: [...types],
      typeWords: types.map((type) => wordsOf(cx, type)),
      lastSequence: BigInt(plan.last),
    }
  },
  undoChange: async ({ resource, sequence, lastSequence }, cx) => {
    const change = { version: required(sequence), last: sequenceOf(lastSequence) }
    const { operation, version } = await undo(cx, await placeOf(cx, resource), change)
    return { operation, sequence: BigInt(version) }
  },
})

function required(sequence: bigint): number {
  const version = sequenceOf(sequence)
  if (version !== undefined) return version
  throw new Fault(
    "invalid_argument",
    "history.sequence_missing",
    "sequence is missing; it says which change is to be undone, as ListChanges tells it",
  )
}
