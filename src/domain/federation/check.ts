import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import {
  consumeIntent,
  type Intent,
  idpById,
  intentByToken,
  type SignInTimes,
  signInTimesOf,
  type UpstreamSession,
} from "../idp/index.ts"
import { linkedUserIn, vouchedUser } from "../user-link/index.ts"

/** An intent that proves who somebody is: whose it is, and what uses it up within a step. */
export type CheckedIntent = {
  readonly userId: string
  readonly idpId: string
  /** Of the organisation whose provider it is; empty for the instance. */
  readonly idpOrg: string
  readonly upstream?: UpstreamSession | undefined
  /** Refuses where it was used meanwhile, or the link is gone. */
  readonly use: (tx: Transaction) => void
} & SignInTimes

/** Who has begun an intent is the only one who may ask what came of it. */
export function ownIntent(cx: Cx, id: string, token: string): Intent {
  const found = intentByToken(cx, id, token)
  const { caller } = cx
  if (caller.kind === "user" && caller.userId === found.creatorId) return found
  throw new Fault(
    "failed_precondition",
    "idp.intent_over",
    "this intent is over, was used before, or its token is another one; start a new one",
  )
}

/** Reads an intent as a proof; refuses one of somebody who is linked to nobody. */
export function intentChecked(cx: Cx, id: string, token: string): CheckedIntent {
  const intent = ownIntent(cx, id, token)
  const { idpId, answered } = intent
  const external = { idpId, externalId: answered.identity.externalId }
  const userId = vouchedUser(cx, external)
  const found = idpById(cx, idpId)
  if (userId === undefined || !found) throw unlinkedError()
  return {
    userId,
    idpId,
    idpOrg: found.place ?? "",
    upstream: answered.upstream,
    ...signInTimesOf(found.idp, answered),
    use: (tx) => {
      if (linkedUserIn(tx, external) !== userId) throw unlinkedError()
      consumeIntent(tx, intent)
    },
  }
}

const unlinkedError = () =>
  new Fault(
    "failed_precondition",
    "session.intent_unlinked",
    "no user is linked to who came back; link one, or create one with the link, then check again",
  )
