import type { Cx, Reactor, Recorded, Transaction } from "../../store/index.ts"
import { type UserEvent, user } from "../user/index.ts"
import { endSession } from "./commands.ts"
import { session } from "./model.ts"
import { passwordVersionOf } from "./query.ts"
import { sessionsOf } from "./view.ts"

type AnyRecorded = Pick<Recorded<UserEvent>, "id" | "instance" | "time">

/**
 * Ends the sessions of people who may no longer sign in, and those that an older password began.
 * They are worth nothing from the first moment; this is so that applications are told, and that
 * nothing comes back to life with the person.
 */
export function sessionEnds(call: (instance: string, name: string) => Cx): Reactor {
  const ending = (isOver: IsOver) => async (event: AnyRecorded) => {
    const cx = call(event.instance, "session-ends")
    for (const id of sessionsOf(cx, event.id)) {
      await cx.store.transact(cx, (tx) => {
        if (isOver(tx, id, event)) endSession(tx, id)
      })
    }
  }
  return {
    name: "session-ends",
    from: "now",
    on: {
      "user.deactivated": ending(beganBefore),
      "user.locked": ending(beganBefore),
      "user.removed": ending(beganBefore),
      "user.human.password.changed": ending(olderPassword),
    },
  }
}

type IsOver = (tx: Transaction, sessionId: string, event: AnyRecorded) => boolean

/** Whoever is let in again and signs in meanwhile keeps that. */
const beganBefore: IsOver = (tx, sessionId, { time }) =>
  tx.state(session, sessionId).authTime <= time

const olderPassword: IsOver = (tx, sessionId, { id }) =>
  tx.state(session, sessionId).passwordVersion !== passwordVersionOf(tx.state(user, id))
