import { Fault } from "../../kernel/fault.ts"
import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { lastWithdrawal } from "./consent/remember.ts"

/** The request of a device (RFC 8628); it waits until a user approves it elsewhere. */
type DeviceRequest = {
  readonly clientId: string
  readonly appId: string
  readonly scopes: readonly string[]
  /** Scopes that were requested and not granted. */
  readonly leftOut?: readonly string[]
  readonly audience: readonly string[]
  /** As for authorization requests; see `AuthorizationRequest`. */
  readonly foreign?: readonly string[]
  /** RFC 9449: thumbprint of the key that the device proved possession of in its request. */
  readonly jkt?: string
}

/** `withdrawalId`: as in a completed request; see `LastWithdrawal`. */
type Approval = { readonly sessionId: string; readonly withdrawalId?: string }

export type DeviceEvent =
  | Event<"device.authorization.added", DeviceRequest & { readonly lifetimeSeconds: number }>
  | Event<"device.authorization.approved", Approval>
  | Event<"device.authorization.canceled">
  | Event<"device.authorization.done", { readonly grantId: string }>

type WaitingDevice = DeviceRequest & { readonly expires: number }

export type DeviceAuthorization =
  | { readonly status: "absent" }
  | (WaitingDevice & { readonly status: "pending" })
  | (WaitingDevice & { readonly status: "denied" })
  | (WaitingDevice & { readonly status: "done" })
  | (WaitingDevice & Approval & { readonly status: "approved" })

const absent: DeviceAuthorization = { status: "absent" }

const hourMs = 3_600_000

/** A device authorization, until the device has fetched its tokens. */
export const deviceAuthorization = aggregate<DeviceEvent, DeviceAuthorization>({
  stream: "device_auth",
  retention: "transient",
  // An hour for clock skew.
  expires: (state) => (state.status === "absent" ? undefined : state.expires + hourMs),
  initial: absent,
  evolve: {
    "device.authorization.added": (_, { data: { lifetimeSeconds, ...requested }, time }) => ({
      ...requested,
      status: "pending",
      expires: time + lifetimeSeconds * 1000,
    }),
    "device.authorization.approved": (state, { data }) =>
      state.status === "pending" ? { ...state, status: "approved", ...data } : state,
    "device.authorization.canceled": (state) =>
      state.status === "pending" ? { ...state, status: "denied" } : state,
    "device.authorization.done": (state) =>
      state.status === "approved" ? { ...state, status: "done" } : state,
  },
})

export type DeviceInput = DeviceRequest & {
  readonly lifetimeSeconds: number
  /** Normalized for comparison; see `userCodeKey`. */
  readonly userCode: string
}

/** The kind of unique key that finds a device by its user code. */
export const userCodeClaim = "device_user_code"

/** Stores a device authorization. Throws `device.code_taken` if the user code is in use. */
export function addDevice(tx: Transaction, id: string, input: DeviceInput): void {
  const { userCode, ...data } = input
  const expires = tx.now + data.lifetimeSeconds * 1000
  const taken = { id: "device.code_taken", message: "another device already has this user code" }
  const added: Draft<DeviceEvent> = {
    type: "device.authorization.added",
    data,
    claims: [{ take: userCodeClaim, key: userCode, expires, taken }],
  }
  tx.append(deviceAuthorization, id, [added])
}

/** The user approves the device, with the session that they signed in with. */
export function approveDevice(tx: Transaction, id: string, sessionId: string): void {
  const { appId } = requirePending(tx, id)
  const approved: Draft<DeviceEvent> = {
    type: "device.authorization.approved",
    data: { sessionId, ...lastWithdrawal(tx, sessionId, appId) },
  }
  tx.append(deviceAuthorization, id, [approved])
}

/** The user denies the request of the device. */
export function denyDevice(tx: Transaction, id: string): void {
  requirePending(tx, id)
  const denied: Draft<DeviceEvent> = { type: "device.authorization.canceled", data: {} }
  tx.append(deviceAuthorization, id, [denied])
}

/** The device has fetched its tokens, which depend on a grant. */
export function finishDevice(tx: Transaction, id: string, grantId: string): void {
  const done: Draft<DeviceEvent> = { type: "device.authorization.done", data: { grantId } }
  tx.append(deviceAuthorization, id, [done])
}

/** Whether a user can still approve or deny the request of the device. */
export const isPending = (state: DeviceAuthorization, now: number): boolean =>
  state.status === "pending" && now < state.expires

function requirePending(tx: Transaction, id: string): WaitingDevice {
  const state = tx.state(deviceAuthorization, id)
  if (state.status !== "absent" && isPending(state, tx.now)) return state
  throw new Fault(
    "failed_precondition",
    "device.over",
    "this device request is no longer pending; start again on the device",
  )
}
