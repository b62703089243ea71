import { Fault } from "../../kernel/fault.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import {
  consumeIntent,
  findIdpById,
  getIntentByToken,
  type Intent,
  type SignInTimes,
  signInTimesOf,
  type UpstreamSession,
} from "../idp/index.ts"
import { findLinkedUserInTransaction, findVouchedUser } from "../user-link/index.ts"

/** A verified intent: its user, and a function that uses it up within a step. */
export type CheckedIntent = {
  readonly userId: string
  readonly idpId: string
  /** The organization that owns the provider; empty for the instance. */
  readonly idpOrg: string
  readonly upstream?: UpstreamSession | undefined
  /** Throws if the intent was used in the meantime or the link was deleted. */
  readonly use: (tx: Transaction) => void
} & SignInTimes

/** Only the client that started an intent can read its result. */
export function requireIntent(cx: Cx, id: string, token: string): Intent {
  const found = getIntentByToken(cx, id, token)
  const { caller } = cx
  if (caller.kind === "user" && caller.userId === found.creatorId) return found
  throw new Fault(
    "failed_precondition",
    "idp.intent_over",
    "the intent has expired, was already used, or the token is invalid; start a new intent",
  )
}

/** Verifies an intent as a proof; throws if it is not linked to a user. */
export function checkIntent(cx: Cx, id: string, token: string): CheckedIntent {
  const intent = requireIntent(cx, id, token)
  const { idpId, answered } = intent
  const external = { idpId, externalId: answered.identity.externalId }
  const userId = findVouchedUser(cx, external)
  const found = findIdpById(cx, idpId)
  if (userId === undefined || !found) throw unlinkedError()
  return {
    userId,
    idpId,
    idpOrg: found.place ?? "",
    upstream: answered.upstream,
    ...signInTimesOf(found.idp, answered),
    use: (tx) => {
      if (findLinkedUserInTransaction(tx, external) !== userId) throw unlinkedError()
      consumeIntent(tx, intent)
    },
  }
}

const unlinkedError = () =>
  new Fault(
    "failed_precondition",
    "session.intent_unlinked",
    "no user is linked to this external account; link a user, or create one with the link, " +
      "then try again",
  )
