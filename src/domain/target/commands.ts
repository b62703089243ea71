import { Fault, fieldError } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { isKnownHost } from "../instance/index.ts"
import {
  type Entry,
  type ExecutionEvent,
  execution,
  isThere,
  type Target,
  type TargetEvent,
  type TargetSettings,
  target,
} from "./model.ts"
import { executionsWith, targetIds } from "./view.ts"

/** Where a target stands, and its new signing key where it got one: nobody is told it again. */
export type Made = { readonly receipt: Receipt; readonly signingKey?: string }

const targetsMax = 500
const timeoutMax = 270_000
const endpointMax = 2048
const overlapMax = 7 * 86_400_000

/** Makes a target and its signing key; nobody calls it until an execution names it. */
export async function addTarget(cx: Cx, input: TargetSettings): Promise<Required<Made>> {
  const id = cx.ids.next()
  const data = checked(cx, input)
  if (targetIds(cx).length >= targetsMax) throw tooManyError()
  const signingKey = newSigningKey(cx)
  const sealed = cx.secrets.seal("seal", signingKey, sealedAbout(id))
  const step = await cx.store.transact(cx, (tx) => {
    const added: Draft<TargetEvent> = { type: "target.added", data, private: { sealed } }
    tx.append(target, id, [added])
  })
  return { receipt: step.receipt(target, id), signingKey }
}

export type Change = Partial<TargetSettings> & {
  /** Makes a new signing key; the one before signs beside it for so long. */
  readonly overlapMs?: number | undefined
}

/**
 * Changes what is given; nothing happens where it is so already. Whoever sends the endpoint that
 * somebody else has set answers for it from then on.
 */
export async function changeTarget(cx: Cx, id: string, change: Change): Promise<Made> {
  const { overlapMs, ...given } = change
  const signingKey = overlapMs === undefined ? undefined : newSigningKey(cx)
  if (overlapMs !== undefined && (overlapMs < 0 || overlapMs > overlapMax)) {
    throw fieldError("target.overlap", "expiration_signing_key", "must be 0 seconds to 7 days")
  }
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(target, id)
    mustExist(state)
    const wanted = checked(cx, { ...settingsOf(state), ...given })
    const news = Object.entries(wanted).filter(
      ([name, value]) => value !== Reflect.get(state, name),
    )
    const isTakenOver = given.endpoint !== undefined && !isAuthor(tx, state)
    if (news.length === 0 && signingKey === undefined && !isTakenOver) return
    const endpoint = isTakenOver ? { endpoint: wanted.endpoint } : {}
    const data = { ...Object.fromEntries(news), ...endpoint }
    const changed: Draft<TargetEvent> =
      signingKey === undefined
        ? { type: "target.changed", data, private: {} }
        : {
            type: "target.changed",
            data: { ...data, overlapUntil: tx.now + (overlapMs ?? 0) },
            private: { sealed: cx.secrets.seal("seal", signingKey, sealedAbout(id)) },
          }
    tx.append(target, id, [changed])
  })
  return { receipt: step.receipt(target, id), ...(signingKey !== undefined && { signingKey }) }
}

/** Whether the caller, where it is a user, alone answers for a target. */
const isAuthor = ({ caller }: Transaction, { authors }: Target): boolean =>
  caller.kind !== "user" || authors.every((each) => each === caller.userId)

/**
 * Removes a target for good, and takes it out of the executions that call it. Answers undefined
 * where there is none.
 */
export async function removeTarget(cx: Cx, id: string): Promise<Receipt | undefined> {
  const step = await cx.store.transact(cx, (tx) => {
    if (!isThere(tx.state(target, id))) return false
    for (const each of executionsWith(cx, id)) takeOut(tx, each, id)
    const removed: Draft<TargetEvent> = { type: "target.removed", data: {}, erase: {} }
    tx.append(target, id, [removed])
    return true
  })
  return step.value ? step.receipt(target, id) : undefined
}

function takeOut(tx: Transaction, executionId: string, id: string): void {
  const { targets } = tx.state(execution, executionId)
  const left = targets.filter((each) => each.type !== "target" || each.target !== id)
  if (left.length < targets.length) tx.append(execution, executionId, [setTo(left)])
}

/** The event that has an execution call these. */
export const setTo = (targets: readonly Entry[]): Draft<ExecutionEvent> =>
  targets.length === 0
    ? { type: "execution.removed", data: {} }
    : { type: "execution.set", data: { targets } }

const settingsOf = (state: Target): TargetSettings => {
  const { name, targetType, endpoint, timeoutMs, interruptOnError, payloadType } = state
  return { name, targetType, endpoint, timeoutMs, interruptOnError, payloadType }
}

/** Nothing is interrupted by what nobody waits for. */
function checked(cx: Cx, input: TargetSettings): TargetSettings {
  const { name, targetType, endpoint, timeoutMs, interruptOnError, payloadType } = input
  if (timeoutMs <= 0 || timeoutMs > timeoutMax) {
    throw fieldError("target.timeout", "timeout", "must be more than 0, and at most 270 seconds")
  }
  checkEndpoint(cx, endpoint)
  return {
    name: givenName("name", name),
    targetType,
    endpoint,
    timeoutMs,
    payloadType,
    interruptOnError: interruptOnError && targetType !== "async",
  }
}

/** Where it leads is judged with each call; what never could be called is refused here. */
function checkEndpoint(cx: Cx, endpoint: string): void {
  const refused = (wanted: string) => fieldError("target.endpoint", "endpoint", wanted)
  const url = endpoint.length > endpointMax ? null : URL.parse(endpoint)
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw refused(
      `must be an address that begins with https:// and has at most ${endpointMax} letters`,
    )
  }
  if (url.username !== "" || url.password !== "") {
    throw refused("must have no user name and no password in it")
  }
  if (leadsHome(cx, url)) throw refused("must not lead to the service itself")
}

/** RFC 1034 §3.1: a name with a dot at its end is the same. A call of ourselves would not end. */
export const leadsHome = (cx: Cx, { hostname }: URL): boolean => isKnownHost(cx, hostname)

/** 36 letters, as the interface has them. */
const newSigningKey = (cx: Cx): string => Buffer.from(cx.random.bytes(27)).toString("base64url")

/** What a sealed signing key is bound to, so that it can't stand in for another target's. */
export const sealedAbout = (id: string): string => `target/${id}`

export function mustExist(state: Target): void {
  if (!isThere(state)) throw missingError()
}

export const missingError = (): Fault =>
  new Fault("not_found", "target.missing", "there is no such target")

const tooManyError = (): Fault =>
  new Fault(
    "resource_exhausted",
    "target.too_many",
    `there are ${targetsMax} targets already; remove one first`,
  )
