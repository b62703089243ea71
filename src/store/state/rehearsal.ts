import type { AnyAggregate } from "../aggregate.ts"
import type { Append, AppendResult, ClaimRequest, Log, NewEvent } from "../log/log.ts"
import type { StateRow, States } from "./state.ts"

/** The parts of a store that a rehearsal replaces. */
type RehearsalParts = { readonly log: Log; readonly states: States }

/** The holder of a claim in the rehearsal; undefined after a release. */
type ClaimHolder = { readonly stream: string; readonly id: string } | undefined

/**
 * A log and states for a dry run: each transaction sees what earlier ones have decided, in memory
 * only, and nothing is written. Tables are unchanged, so lists do not show it. `tried` receives the
 * events that each would have appended.
 */
export function createRehearsal(
  { log, states }: RehearsalParts,
  onEvents: (events: readonly NewEvent[]) => void,
): RehearsalParts {
  const rows = new Map<string, StateRow>()
  const claims = new Map<string, ClaimHolder>()
  const row = (instance: string, stream: string, id: string) =>
    rows.get(JSON.stringify([instance, stream, id]))
  const holder: Log["holder"] = (instance, kind, key, time) => {
    const name = JSON.stringify([instance, kind, key])
    return claims.has(name) ? claims.get(name) : log.holder(instance, kind, key, time)
  }
  /** The changes to claims, or the claim that another stream holds. */
  const claimed = (step: Append): Map<string, ClaimHolder> | ClaimRequest => {
    const changed = new Map<string, ClaimHolder>()
    for (const claim of step.claims) {
      const place = claim.everywhere ? "" : step.instance
      const kind = "take" in claim ? claim.take : claim.release
      const name = JSON.stringify([place, kind, claim.key])
      const held = changed.has(name) ? changed.get(name) : holder(place, kind, claim.key, step.time)
      const isOwn = held?.stream === claim.stream && held.id === claim.id
      if ("take" in claim && held && !isOwn) return claim
      if ("take" in claim) changed.set(name, { stream: claim.stream, id: claim.id })
      else if (isOwn) changed.set(name, undefined)
    }
    return changed
  }
  const isThere = (instance: string, stream: string, id: string): boolean => {
    const kind = states.kind(stream)
    return kind !== undefined && reading(states.read)(instance, kind, id).version > 0
  }
  const append = async (step: Append): Promise<AppendResult> => {
    const begun = step.begun?.find(({ stream, id }) => isThere(step.instance, stream, id))
    if (begun) return { kind: "conflict", ...begun }
    const changed = claimed(step)
    if (!(changed instanceof Map)) return { kind: "taken", claim: changed }
    for (const [name, held] of changed) claims.set(name, held)
    onEvents(step.events)
    const position = log.durable()
    for (const { stream, id, ...folded } of step.folded ?? []) {
      const kept = { ...folded, position, changed: step.time }
      rows.set(JSON.stringify([step.instance, stream, id]), kept)
    }
    return { kind: "appended", position }
  }
  const reading =
    (read: States["read"]) =>
    (instance: string, kind: AnyAggregate, id: string): StateRow =>
      row(instance, kind.stream, id) ?? read(instance, kind, id)
  return {
    log: { ...log, append, holder },
    states: { ...states, read: reading(states.read), readCached: reading(states.readCached) },
  }
}
