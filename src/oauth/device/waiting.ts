import {
  type DeviceAuthorization,
  deviceAuthorization,
  isWaiting,
  type Requested,
  userCodeClaim,
} from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { orgRestriction } from "../token/scope.ts"
import { shownUserCode, userCodeOf } from "./user-code.ts"

/** A device that waits for a person. */
export type Found = {
  readonly id: string
  readonly userCode: string
  readonly state: Exclude<DeviceAuthorization, { status: "absent" }>
}

/** The device that shows a code; undefined where none does that still waits. */
export function waitingDevice(cx: Cx, typed: string): Found | undefined {
  const userCode = userCodeOf(typed)
  const now = cx.clock.now()
  const holder = userCode && cx.store.log.holder(cx.instance, userCodeClaim, userCode, now)
  if (!userCode || !holder) return undefined
  const state = cx.store.state(cx, deviceAuthorization, holder.id)
  if (state.status === "absent" || !isWaiting(state, now)) return undefined
  return { id: holder.id, userCode, state }
}

/** The same by its id. */
export function waitingById(cx: Cx, id: string): Omit<Found, "userCode"> | undefined {
  const state = cx.store.state(cx, deviceAuthorization, id)
  return state.status !== "absent" && isWaiting(state, cx.clock.now()) ? { id, state } : undefined
}

/** What a device asks for, as at the authorization endpoint. The person is always asked. */
export function askedBy(
  cx: Cx,
  { id, state, userCode }: Omit<Found, "userCode"> & { readonly userCode?: string },
): Requested {
  const { clientId, appId, scopes, audience, foreign } = state
  const home = orgRestriction(cx, scopes)
  return {
    clientId,
    appId,
    scopes,
    audience,
    ...(foreign && { foreign }),
    ...(home !== undefined && { home }),
    redirectUri: "",
    responseMode: "query",
    prompts: ["consent"],
    languages: [],
    device: { id, userCode: userCode === undefined ? "" : shownUserCode(userCode) },
  }
}
