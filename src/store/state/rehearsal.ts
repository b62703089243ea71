import type { AnyAggregate } from "../aggregate.ts"
import type { Append, Appended, ClaimRequest, Log, NewEvent } from "../log/log.ts"
import type { StateRow, States } from "./state.ts"

/** What of a store a rehearsal has its own of. */
type Parts = { readonly log: Log; readonly states: States }

/** Nothing is written from here on: who holds a claim, or that nobody does any more. */
type Holder = { readonly stream: string; readonly id: string } | undefined

/**
 * A log and states on which steps can be tried: each sees what those before it have decided, in
 * memory alone, and nothing of it is ever written. Tables stay as they are, so that lists do not
 * show it. `tried` hears of what each would have appended.
 */
export function rehearsalOf(
  { log, states }: Parts,
  tried: (events: readonly NewEvent[]) => void,
): Parts {
  const rows = new Map<string, StateRow>()
  const claims = new Map<string, Holder>()
  const row = (instance: string, stream: string, id: string) =>
    rows.get(JSON.stringify([instance, stream, id]))
  const holder: Log["holder"] = (instance, kind, key, time) => {
    const name = JSON.stringify([instance, kind, key])
    return claims.has(name) ? claims.get(name) : log.holder(instance, kind, key, time)
  }
  /** What becomes of claims, or the one that somebody else holds. */
  const claimed = (step: Append): Map<string, Holder> | ClaimRequest => {
    const changed = new Map<string, Holder>()
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
  const append = async (step: Append): Promise<Appended> => {
    const begun = step.begun?.find(({ stream, id }) => isThere(step.instance, stream, id))
    if (begun) return { kind: "conflict", ...begun }
    const changed = claimed(step)
    if (!(changed instanceof Map)) return { kind: "taken", claim: changed }
    for (const [name, held] of changed) claims.set(name, held)
    tried(step.events)
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
    states: { ...states, read: reading(states.read), recall: reading(states.recall) },
  }
}
