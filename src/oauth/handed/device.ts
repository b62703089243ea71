import { approveDevice, denyDevice } from "../../domain/grant/index.ts"
import { usableSession } from "../../domain/session/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { requirementsOf } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import { askedBy, type Found, waitingById, waitingDevice } from "../device/waiting.ts"
import { mustBeThere } from "./callback.ts"
import { type NamedSession, provenBy } from "./proven.ts"
import { mustBeDone } from "./step.ts"

/** The device that shows a code. RFC 8628 §5.1: a code is short, so guessing must cost. */
export function deviceShowing(cx: Cx, typed: string): Found & { readonly handle: string } {
  cx.allowance?.spend("guess")
  const found = waitingDevice(cx, typed)
  if (!found) throw missingError()
  cx.allowance?.refund("guess")
  return { ...found, handle: cx.secrets.seal("token", found.id, aboutOf(cx)) }
}

/** Lets a device in with the person of a session. */
export async function allowDevice(cx: Cx, handle: string, named: NamedSession): Promise<void> {
  const found = deviceBy(cx, handle)
  const asked = askedBy(cx, found)
  mustBeThere(cx, asked)
  const session = provenBy(cx, named)
  const rest = { loginHint: "", created: cx.clock.now(), sessionId: session.id }
  mustBeDone(cx, { asked, requirements: requirementsOf(cx, asked, rest), session })
  await cx.store.transact(cx, (tx) => {
    if (!usableSession(tx, session.id)) {
      throw new Fault("failed_precondition", "session.unproven", "the session has ended")
    }
    approveDevice(tx, found.id, session.id)
  })
}

/** Refuses a device. */
export async function refuseDevice(cx: Cx, handle: string): Promise<void> {
  const { id } = deviceBy(cx, handle)
  await cx.store.transact(cx, (tx) => denyDevice(tx, id))
}

function deviceBy(cx: Cx, handle: string) {
  const id = cx.secrets.open("token", handle, aboutOf(cx))
  const found = id === undefined ? undefined : waitingById(cx, id)
  if (!found) throw missingError()
  return found
}

/** Ids may repeat across instances, and who has not seen the code must not guess its device. */
const aboutOf = (cx: Cx) => `device_authorization/${cx.instance}`

const missingError = () =>
  new Fault("not_found", "device.missing", "no device waits with this code; look at it again")
