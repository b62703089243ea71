import { Fault } from "../../kernel/fault.ts"
import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { lastWithdrawal } from "./consent/remember.ts"

/** What a device asks for; it waits until a person allows it elsewhere. */
type Requested = {
  readonly clientId: string
  readonly appId: string
  readonly scopes: readonly string[]
  /** What was asked for, too, and not granted. */
  readonly leftOut?: readonly string[]
  readonly audience: readonly string[]
  /** As at the authorization endpoint; see `Requested`. */
  readonly foreign?: readonly string[]
  /** RFC 9449: thumbprint of the key that the device showed, when it asked. */
  readonly jkt?: string
}

/** `withdrawalId`: as in the answer to a request, see `LastWithdrawal`. */
type Approval = { readonly sessionId: string; readonly withdrawalId?: string }

export type DeviceEvent =
  | Event<"device.authorization.added", Requested & { readonly lifetimeSeconds: number }>
  | Event<"device.authorization.approved", Approval>
  | Event<"device.authorization.canceled">
  | Event<"device.authorization.done", { readonly grantId: string }>

type Waiting = Requested & { readonly expires: number }

export type DeviceAuthorization =
  | { readonly status: "absent" }
  | (Waiting & { readonly status: "pending" })
  | (Waiting & { readonly status: "denied" })
  | (Waiting & { readonly status: "done" })
  | (Waiting & Approval & { readonly status: "approved" })

const absent: DeviceAuthorization = { status: "absent" }

const hour = 3_600_000

/** One device that waits for a person, until it has fetched what they allowed. */
export const deviceAuthorization = aggregate<DeviceEvent, DeviceAuthorization>({
  stream: "device_auth",
  retention: "transient",
  // An hour for clocks that are wrong.
  expires: (state) => (state.status === "absent" ? undefined : state.expires + hour),
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

export type NewDevice = Requested & {
  readonly lifetimeSeconds: number
  /** As it is compared: see `userCodeKey`. */
  readonly userCode: string
}

/** Kind of the claim by which a user code finds its device. */
export const userCodeClaim = "device_user_code"

/** Keeps what a device asks for. Faults with `device.code_taken` where another has its code. */
export function addDevice(tx: Transaction, id: string, input: NewDevice): void {
  const { userCode, ...data } = input
  const expires = tx.now + data.lifetimeSeconds * 1000
  const taken = { id: "device.code_taken", message: "another device has this code" }
  const added: Draft<DeviceEvent> = {
    type: "device.authorization.added",
    data,
    claims: [{ take: userCodeClaim, key: userCode, expires, taken }],
  }
  tx.append(deviceAuthorization, id, [added])
}

/** A person allows what the device asks for, by the session that they signed in with. */
export function approveDevice(tx: Transaction, id: string, sessionId: string): void {
  const { appId } = waiting(tx, id)
  const approved: Draft<DeviceEvent> = {
    type: "device.authorization.approved",
    data: { sessionId, ...lastWithdrawal(tx, sessionId, appId) },
  }
  tx.append(deviceAuthorization, id, [approved])
}

/** A person refuses. */
export function denyDevice(tx: Transaction, id: string): void {
  waiting(tx, id)
  const denied: Draft<DeviceEvent> = { type: "device.authorization.canceled", data: {} }
  tx.append(deviceAuthorization, id, [denied])
}

/** The device has fetched its tokens, which hang from a grant. */
export function finishDevice(tx: Transaction, id: string, grantId: string): void {
  const done: Draft<DeviceEvent> = { type: "device.authorization.done", data: { grantId } }
  tx.append(deviceAuthorization, id, [done])
}

/** Whether a person can still say something to what the device asks. */
export const isWaiting = (state: DeviceAuthorization, now: number): boolean =>
  state.status === "pending" && now < state.expires

function waiting(tx: Transaction, id: string): Waiting {
  const state = tx.state(deviceAuthorization, id)
  if (state.status !== "absent" && isWaiting(state, tx.now)) return state
  throw new Fault(
    "failed_precondition",
    "device.over",
    "the device no longer waits; start again there",
  )
}
