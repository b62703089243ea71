import { idps, ownerStreamId } from "../../domain/idp/index.ts"
import { isExistingOrg, org } from "../../domain/org/index.ts"
import { isAbsent, isAcceptedEverywhere, user } from "../../domain/user-model/index.ts"
import {
  type DecisionContext,
  foldStreams,
  inspectUpgrade,
  type Upgrade,
} from "../../store/index.ts"
import { aggregates, views } from "../modules.ts"

type Source = { readonly file: string; readonly isInUse: boolean }

/** An upgrade with the number of affected users. */
export type UpgradePlan = Upgrade & {
  /** Users whose email address stays verified only for the applications of their organization. */
  readonly unconfirmed: number
}

/** The changes that the first start of this version would make to a database; see `upgradeOf`. */
export function planUpgrade(source: Source): UpgradePlan {
  const upgrade = inspectUpgrade(source, { aggregates, views })
  const isRead = upgrade.states.includes(user.stream)
  return { ...upgrade, unconfirmed: isRead ? countUnconfirmed(source) : 0 }
}

/**
 * Users of instances with one organization are not affected, because there are no other
 * applications.
 */
function countUnconfirmed(source: Source): number {
  const states = new Map<string, unknown>()
  const orgs = new Map<string, number>()
  const keyOf = (instance: string, stream: string, id: string) =>
    JSON.stringify([instance, stream, id])
  for (const { instance, id, state } of foldStreams(source, org)) {
    states.set(keyOf(instance, org.stream, id), state)
    if (isExistingOrg(state)) orgs.set(instance, (orgs.get(instance) ?? 0) + 1)
  }
  for (const { instance, id, state } of foldStreams(source, idps)) {
    if (id === ownerStreamId(undefined)) states.set(keyOf(instance, idps.stream, id), state)
  }
  let count = 0
  for (const { instance, owner: orgId, state } of foldStreams(source, user)) {
    if (isAbsent(state) || state.kind !== "human" || !state.email.verified) continue
    if ((orgs.get(instance) ?? 0) < 2) continue
    const { address: email, verifier } = state.email
    const read = createReader((stream, id) => states.get(keyOf(instance, stream, id)))
    if (!isAcceptedEverywhere(read, { orgId, email, verifier })) count++
  }
  return count
}

/** Reads folded states like a decision. */
const createReader = (
  readState: (stream: string, id: string) => unknown,
): Pick<DecisionContext, "state"> => ({
  state: (kind, id) => {
    const state = readState(kind.stream, id)
    return isStateOf(kind, state) ? state : kind.initial
  },
})

/** States are stored by their stream. */
const isStateOf = <State>(_: { readonly initial: State }, state: unknown): state is State =>
  state !== undefined
