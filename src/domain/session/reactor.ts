import type { AnyEvent, CallFactory, Cx, PersistedEvent, Reactor } from "../../store/index.ts"
import { findIdpById, idps } from "../idp/index.ts"
import type { OrgEvent } from "../org/index.ts"
import { type UserEvent, user } from "../user-model/index.ts"
import { endSession } from "./commands.ts"
import { session } from "./model.ts"
import { isSignInStillValid, isVouchedFor } from "./query.ts"
import { listSessionsOfOrg, listVouchers, sessionIdsOf, sessionIdsVouchedBy } from "./view.ts"

type AnyRecorded = Pick<PersistedEvent<UserEvent | OrgEvent>, "id" | "instance">

/** Event types that change a user's administrator roles. */
const memberTypes = ["instance", "org", "project", "project.grant"].flatMap((level) =>
  ["added", "changed", "removed"].map((change) => `${level}.member.${change}`),
)

/** The author of an organization's provider determines for whom it can vouch. */
const providerTypes = Object.keys(idps.evolve).filter((type) =>
  /^org\.idp\.\w+\.(changed|migrated\.\w+)$/.test(type),
)

/**
 * The reactor that ends sessions of users who can no longer sign in, sessions that began with an
 * earlier password, and sessions that only a removed or no longer trusted provider vouched for.
 * They are invalid immediately; ending them notifies the applications.
 */
export function sessionEndReactor(call: CallFactory): Reactor {
  const endAll = async (cx: Cx, ids: readonly string[]) => {
    for (const sessionId of ids) await endIfInvalid(cx, sessionId)
  }
  /** Providers of organizations by their authors, whose rank determines for whom they can vouch. */
  const ofAuthors = async (cx: Cx, isMeant: (authors: readonly string[]) => boolean) => {
    for (const idpId of listVouchers(cx)) {
      const found = findIdpById(cx, idpId)
      if (found?.place === undefined || !isMeant(found.idp.authors)) continue
      await endAll(cx, sessionIdsVouchedBy(cx, idpId))
    }
  }
  const ofPerson = async ({ instance, id }: AnyRecorded) => {
    const cx = call(instance, "session-ends")
    await endAll(cx, sessionIdsOf(cx, id))
  }
  const ofUser = async ({ instance, id }: AnyRecorded) => {
    await ofPerson({ instance, id })
    await ofAuthors(call(instance, "session-ends"), (authors) => authors.includes(id))
  }
  const ofMember = async ({ instance, data }: PersistedEvent<AnyEvent>) =>
    "userId" in data ? ofUser({ instance, id: String(data.userId) }) : undefined
  const ofRoles = ({ instance }: AnyRecorded) =>
    ofAuthors(call(instance, "session-ends"), () => true)
  const ofOrg = async ({ instance, id }: AnyRecorded) => {
    const cx = call(instance, "session-ends")
    for (
      let some = listSessionsOfOrg(cx, id);
      some.length > 0;
      some = listSessionsOfOrg(cx, id, some.at(-1))
    ) {
      for (const { id: sessionId } of some) await endIfInvalid(cx, sessionId)
    }
    await ofAuthors(cx, () => true)
  }
  const ofIdp = async ({ instance, data }: PersistedEvent<AnyEvent>) => {
    const cx = call(instance, "session-ends")
    const idpId = "id" in data && typeof data.id === "string" ? data.id : ""
    await endAll(cx, sessionIdsVouchedBy(cx, idpId))
  }
  return {
    name: "session-ends",
    from: "now",
    on: {
      "user.deactivated": ofUser,
      "user.locked": ofUser,
      "user.removed": ofUser,
      "user.human.password.changed": ofPerson,
      "org.deactivated": ofOrg,
      "instance.idp.removed": ofIdp,
      "org.idp.removed": ofIdp,
      ...Object.fromEntries(providerTypes.map((type) => [type, ofIdp])),
      ...Object.fromEntries(memberTypes.map((type) => [type, ofMember])),
      "role.changed": ofRoles,
      "role.removed": ofRoles,
    },
  }
}

/** A session of a user who can sign in again meanwhile is kept. */
const endIfInvalid = (cx: Cx, sessionId: string): Promise<unknown> =>
  cx.store.transact(cx, (tx) => {
    const state = tx.state(session, sessionId)
    const { userId, authTime } = state
    const isPresent = isSignInStillValid(tx, sessionId, state)
    // Within a transaction, only some of a user's roles are compared.
    const isProved = isPresent && isVouchedFor(tx, state) && isVouchedFor(cx, state)
    // Before the first factor, the user may have set the new password to continue this sign-in.
    const isInvalid = authTime === 0 ? tx.state(user, userId).status !== "active" : !isProved
    if (isInvalid) endSession(tx, sessionId)
  })
