import type { AnyEvent, Calls, Cx, Reactor, Recorded } from "../../store/index.ts"
import { idpById, idps } from "../idp/index.ts"
import type { OrgEvent } from "../org/index.ts"
import { type UserEvent, user } from "../user-model/index.ts"
import { endSession } from "./commands.ts"
import { session } from "./model.ts"
import { isCurrent, isVouchedFor } from "./query.ts"
import { sessionsIn, sessionsOf, sessionsVouchedBy, sessionVouchers } from "./view.ts"

type AnyRecorded = Pick<Recorded<UserEvent | OrgEvent>, "id" | "instance">

/** A change of what somebody may administer. */
const memberTypes = ["instance", "org", "project", "project.grant"].flatMap((level) =>
  ["added", "changed", "removed"].map((change) => `${level}.member.${change}`),
)

/** Who saves the provider of an organization decides whom it may vouch for from then on. */
const providerTypes = Object.keys(idps.evolve).filter((type) =>
  /^org\.idp\.\w+\.(changed|migrated\.\w+)$/.test(type),
)

/**
 * Ends the sessions of people who may no longer sign in, those that an older password began, and
 * those that a provider alone has vouched for that is gone, or may vouch for its user no longer.
 * They are worth nothing from the first moment; this is so that applications are told.
 */
export function sessionEnds(call: Calls): Reactor {
  const endAll = async (cx: Cx, ids: readonly string[]) => {
    for (const sessionId of ids) await endIfOver(cx, sessionId)
  }
  /** Providers of organizations, by their authors: their rank decides for whom these vouch. */
  const ofAuthors = async (cx: Cx, isMeant: (authors: readonly string[]) => boolean) => {
    for (const idpId of sessionVouchers(cx)) {
      const found = idpById(cx, idpId)
      if (found?.place === undefined || !isMeant(found.idp.authors)) continue
      await endAll(cx, sessionsVouchedBy(cx, idpId))
    }
  }
  const ofPerson = async ({ instance, id }: AnyRecorded) => {
    const cx = call(instance, "session-ends")
    await endAll(cx, sessionsOf(cx, id))
  }
  const ofUser = async ({ instance, id }: AnyRecorded) => {
    await ofPerson({ instance, id })
    await ofAuthors(call(instance, "session-ends"), (authors) => authors.includes(id))
  }
  const ofMember = async ({ instance, data }: Recorded<AnyEvent>) =>
    "userId" in data ? ofUser({ instance, id: String(data.userId) }) : undefined
  const ofRoles = ({ instance }: AnyRecorded) =>
    ofAuthors(call(instance, "session-ends"), () => true)
  const ofOrg = async ({ instance, id }: AnyRecorded) => {
    const cx = call(instance, "session-ends")
    for (let some = sessionsIn(cx, id); some.length > 0; some = sessionsIn(cx, id, some.at(-1))) {
      for (const { id: sessionId } of some) await endIfOver(cx, sessionId)
    }
    await ofAuthors(cx, () => true)
  }
  const ofIdp = async ({ instance, data }: Recorded<AnyEvent>) => {
    const cx = call(instance, "session-ends")
    const idpId = "id" in data && typeof data.id === "string" ? data.id : ""
    await endAll(cx, sessionsVouchedBy(cx, idpId))
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

/** Whoever is let in again and signs in meanwhile keeps that. */
const endIfOver = (cx: Cx, sessionId: string): Promise<unknown> =>
  cx.store.transact(cx, (tx) => {
    const state = tx.state(session, sessionId)
    const { userId, authTime } = state
    const isPresent = isCurrent(tx, sessionId, state)
    // Within a step only some of a user's roles count.
    const isProved = isPresent && isVouchedFor(tx, state) && isVouchedFor(cx, state)
    // Who has proved nothing yet may have chosen the new password just now, to go on with.
    const isOver = authTime === 0 ? tx.state(user, userId).status !== "active" : !isProved
    if (isOver) endSession(tx, sessionId)
  })
