import type { Cx, Reactor, Recorded, Transaction } from "../../store/index.ts"
import { type UserEvent, user } from "../user/index.ts"
import { endSession } from "./commands.ts"
import { session } from "./model.ts"
import { passwordVersionOf } from "./query.ts"
import { sessionsOf } from "./view.ts"

type AnyRecorded = Pick<Recorded<UserEvent>, "id" | "instance">

/**
 * Ends the sessions of people who may no longer sign in, and those that an older password began.
 * They are worth nothing from the first moment; this is so that applications are told.
 */
export function sessionEnds(call: (instance: string, name: string) => Cx): Reactor {
  const ending = async (event: AnyRecorded) => {
    const cx = call(event.instance, "session-ends")
    for (const id of sessionsOf(cx, event.id)) {
      await cx.store.transact(cx, (tx) => {
        if (isOver(tx, id, event.id)) endSession(tx, id)
      })
    }
  }
  return {
    name: "session-ends",
    from: "now",
    on: {
      "user.deactivated": ending,
      "user.locked": ending,
      "user.removed": ending,
      "user.human.password.changed": ending,
    },
  }
}

/** Whoever is let in again and signs in meanwhile keeps that. */
const isOver = (tx: Transaction, sessionId: string, userId: string): boolean =>
  tx.state(session, sessionId).passwordVersion !== passwordVersionOf(tx.state(user, userId))
