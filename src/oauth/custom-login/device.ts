import { approveDevice, denyDevice } from "../../domain/grant/index.ts"
import { findUsableSession } from "../../domain/session/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { requirementsOf } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import {
  authorizationRequestOf,
  findPendingById,
  findPendingDevice,
  type PendingDevice,
} from "../device/pending.ts"
import { requireValidRedirect } from "./callback.ts"
import { requirePresentSession, type SessionReference } from "./session.ts"
import { requireComplete } from "./step.ts"

/**
 * The pending device with this user code. RFC 8628 §5.1: codes are short, so attempts are limited.
 */
export function requireDeviceByCode(
  cx: Cx,
  typed: string,
): PendingDevice & { readonly handle: string } {
  cx.allowance?.spend("guess")
  const found = findPendingDevice(cx, typed)
  if (!found) throw deviceNotFoundError()
  cx.allowance?.refund("guess")
  return { ...found, handle: cx.secrets.seal("token", found.id, sealContextOf(cx)) }
}

/** Approves a device with a session. */
export async function approvePendingDevice(
  cx: Cx,
  handle: string,
  reference: SessionReference,
): Promise<void> {
  const found = requireDeviceByHandle(cx, handle)
  const asked = authorizationRequestOf(cx, found)
  requireValidRedirect(cx, asked)
  const session = requirePresentSession(cx, reference)
  const rest = { loginHint: "", created: cx.clock.now(), sessionId: session.id }
  requireComplete(cx, { asked, requirements: requirementsOf(cx, asked, rest), session })
  await cx.store.transact(cx, (tx) => {
    if (!findUsableSession(tx, session.id)) {
      throw new Fault("failed_precondition", "session.unproven", "the session has ended")
    }
    approveDevice(tx, found.id, session.id)
  })
}

/** Denies a device. */
export async function denyPendingDevice(cx: Cx, handle: string): Promise<void> {
  const { id } = requireDeviceByHandle(cx, handle)
  await cx.store.transact(cx, (tx) => denyDevice(tx, id))
}

function requireDeviceByHandle(cx: Cx, handle: string) {
  const id = cx.secrets.open("token", handle, sealContextOf(cx))
  const found = id === undefined ? undefined : findPendingById(cx, id)
  if (!found) throw deviceNotFoundError()
  return found
}

/**
 * IDs may repeat across instances, and callers who have not entered the code must not guess the
 * device.
 */
const sealContextOf = (cx: Cx) => `device_authorization/${cx.instance}`

const deviceNotFoundError = () =>
  new Fault("not_found", "device.missing", "no device with this code is waiting; check the code")
