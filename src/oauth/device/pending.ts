import {
  type AuthorizationRequest,
  type DeviceAuthorization,
  deviceAuthorization,
  isPending,
  userCodeClaim,
} from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { orgRestriction } from "../token/scope.ts"
import { formatUserCode, parseUserCode } from "./user-code.ts"

/** A device authorization that is waiting for the user. */
export type PendingDevice = {
  readonly id: string
  readonly userCode: string
  readonly state: Exclude<DeviceAuthorization, { status: "absent" }>
}

/** The pending device with this user code; undefined if there is none. */
export function findPendingDevice(cx: Cx, typed: string): PendingDevice | undefined {
  const userCode = parseUserCode(typed)
  const now = cx.clock.now()
  const holder = userCode && cx.store.log.holder(cx.instance, userCodeClaim, userCode, now)
  if (!userCode || !holder) return undefined
  const state = cx.store.state(cx, deviceAuthorization, holder.id)
  if (state.status === "absent" || !isPending(state, now)) return undefined
  return { id: holder.id, userCode, state }
}

/** The pending device with this ID; undefined if there is none. */
export function findPendingById(cx: Cx, id: string): Omit<PendingDevice, "userCode"> | undefined {
  const state = cx.store.state(cx, deviceAuthorization, id)
  return state.status !== "absent" && isPending(state, cx.clock.now()) ? { id, state } : undefined
}

/** The request of a device as an authorization request. The user is always asked for consent. */
export function authorizationRequestOf(
  cx: Cx,
  { id, state, userCode }: Omit<PendingDevice, "userCode"> & { readonly userCode?: string },
): AuthorizationRequest {
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
    device: { id, userCode: userCode === undefined ? "" : formatUserCode(userCode) },
  }
}
