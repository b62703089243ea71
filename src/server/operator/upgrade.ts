import { idps, placeId } from "../../domain/idp/index.ts"
import { isThere, org } from "../../domain/org/index.ts"
import { hasLeft, isAcceptedEverywhere, user } from "../../domain/user-model/index.ts"
import { type Decision, foldedOf, type Upgrade, upgradeOf } from "../../store/index.ts"
import { aggregates, views } from "../modules.ts"

type Source = { readonly file: string; readonly isInUse: boolean }

/** What an upgrade does, and how many users lose something by it. */
export type FoundUpgrade = Upgrade & {
  /** Users whose email address stays verified for the applications of their organization alone. */
  readonly unconfirmed: number
}

/** What the first start of this version would do to a database; see `upgradeOf`. */
export function whatUpgradeDoes(source: Source): FoundUpgrade {
  const upgrade = upgradeOf(source, { aggregates, views })
  const isRead = upgrade.states.includes(user.stream)
  return { ...upgrade, unconfirmed: isRead ? unconfirmedIn(source) : 0 }
}

/** Those of instances with one organization lose nothing: nobody else has applications there. */
function unconfirmedIn(source: Source): number {
  const states = new Map<string, unknown>()
  const orgs = new Map<string, number>()
  const keyOf = (instance: string, stream: string, id: string) =>
    JSON.stringify([instance, stream, id])
  for (const { instance, id, state } of foldedOf(source, org)) {
    states.set(keyOf(instance, org.stream, id), state)
    if (isThere(state)) orgs.set(instance, (orgs.get(instance) ?? 0) + 1)
  }
  for (const { instance, id, state } of foldedOf(source, idps)) {
    if (id === placeId(undefined)) states.set(keyOf(instance, idps.stream, id), state)
  }
  let count = 0
  for (const { instance, owner: orgId, state } of foldedOf(source, user)) {
    if (hasLeft(state) || state.kind !== "human" || !state.email.verified) continue
    if ((orgs.get(instance) ?? 0) < 2) continue
    const { address: email, verifier } = state.email
    const read = readerOf((stream, id) => states.get(keyOf(instance, stream, id)))
    if (!isAcceptedEverywhere(read, { orgId, email, verifier })) count++
  }
  return count
}

/** Reads what was folded as a decision reads its states. */
const readerOf = (found: (stream: string, id: string) => unknown): Pick<Decision, "state"> => ({
  state: (kind, id) => {
    const state = found(kind.stream, id)
    return isStateOf(kind, state) ? state : kind.initial
  },
})

/** States are kept by the stream that they are of. */
const isStateOf = <State>(_: { readonly initial: State }, state: unknown): state is State =>
  state !== undefined
