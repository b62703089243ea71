import type { AnyEvent, Calls, Cx, Reactor, Recorded } from "../../store/index.ts"
import type { OrgEvent } from "../org/index.ts"
import { type UserEvent, user } from "../user/index.ts"
import { endSession } from "./commands.ts"
import { session } from "./model.ts"
import { isVouchedFor, passwordVersionOf } from "./query.ts"
import { sessionsIn, sessionsOf, sessionsVouchedBy } from "./view.ts"

type AnyRecorded = Pick<Recorded<UserEvent | OrgEvent>, "id" | "instance">

/**
 * Ends the sessions of people who may no longer sign in, those that an older password began, and
 * those that a provider alone has vouched for that is gone.
 * They are worth nothing from the first moment; this is so that applications are told.
 */
export function sessionEnds(call: Calls): Reactor {
  const ofPerson = async ({ instance, id }: AnyRecorded) => {
    const cx = call(instance, "session-ends")
    for (const sessionId of sessionsOf(cx, id)) await endIfOver(cx, sessionId)
  }
  const ofOrg = async ({ instance, id }: AnyRecorded) => {
    const cx = call(instance, "session-ends")
    for (let some = sessionsIn(cx, id); some.length > 0; some = sessionsIn(cx, id, some.at(-1))) {
      for (const { id: sessionId } of some) await endIfOver(cx, sessionId)
    }
  }
  const ofIdp = async ({ instance, data }: Recorded<AnyEvent>) => {
    const cx = call(instance, "session-ends")
    const idpId = "id" in data && typeof data.id === "string" ? data.id : ""
    for (const sessionId of sessionsVouchedBy(cx, idpId)) await endIfOver(cx, sessionId)
  }
  return {
    name: "session-ends",
    from: "now",
    on: {
      "user.deactivated": ofPerson,
      "user.locked": ofPerson,
      "user.removed": ofPerson,
      "user.human.password.changed": ofPerson,
      "org.deactivated": ofOrg,
      "instance.idp.removed": ofIdp,
      "org.idp.removed": ofIdp,
    },
  }
}

/** Whoever is let in again and signs in meanwhile keeps that. */
const endIfOver = (cx: Cx, sessionId: string): Promise<unknown> =>
  cx.store.transact(cx, (tx) => {
    const state = tx.state(session, sessionId)
    const { userId, authTime, passwordVersion } = state
    const isProved = passwordVersion === passwordVersionOf(tx, userId) && isVouchedFor(tx, state)
    // Who has proved nothing yet may have chosen the new password just now, to go on with.
    const isOver = authTime === 0 ? tx.state(user, userId).status !== "active" : !isProved
    if (isOver) endSession(tx, sessionId)
  })
