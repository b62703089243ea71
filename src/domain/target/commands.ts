import { Fault, fieldError } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../store/index.ts"
import { isKnownHost } from "../instance/index.ts"
import {
  type ExecutionEntry,
  type ExecutionEvent,
  execution,
  isExistingTarget,
  type Target,
  type TargetEvent,
  type TargetSettings,
  target,
} from "./model.ts"
import { executionsWith, targetIds } from "./view.ts"

/**
 * The receipt of a target and its new signing key, if one was created, which is returned only once.
 */
export type TargetResult = { readonly receipt: Receipt; readonly signingKey?: string }

const targetsMax = 500
const timeoutMax = 270_000
const endpointMax = 2048
const overlapMax = 7 * 86_400_000

/** Adds a target with a signing key; it is not called until an execution contains it. */
export async function addTarget(cx: Cx, input: TargetSettings): Promise<Required<TargetResult>> {
  const id = cx.ids.next()
  const data = validateSettings(cx, input)
  if (targetIds(cx).length >= targetsMax) throw tooManyError()
  const signingKey = createSigningKey(cx)
  const sealed = cx.secrets.seal("seal", signingKey, sealContextOf(id))
  const step = await cx.store.transact(cx, (tx) => {
    const added: Draft<TargetEvent> = { type: "target.added", data, private: { sealed } }
    tx.append(target, id, [added])
  })
  return { receipt: step.receipt(target, id), signingKey }
}

export type TargetUpdate = Partial<TargetSettings> & {
  /** Creates a new signing key; the previous one also signs for this time. */
  readonly overlapMs?: number | undefined
}

/**
 * Updates the given fields; does nothing if they are unchanged. A user who sends an endpoint that
 * another user has set becomes its author.
 */
export async function changeTarget(
  cx: Cx,
  id: string,
  change: TargetUpdate,
): Promise<TargetResult> {
  const { overlapMs, ...fields } = change
  const signingKey = overlapMs === undefined ? undefined : createSigningKey(cx)
  if (overlapMs !== undefined && (overlapMs < 0 || overlapMs > overlapMax)) {
    throw fieldError("target.overlap", "expiration_signing_key", "must be from 0 seconds to 7 days")
  }
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(target, id)
    requireExists(state)
    const updated = validateSettings(cx, { ...settingsOf(state), ...fields })
    const news = Object.entries(updated).filter(
      ([name, value]) => value !== Reflect.get(state, name),
    )
    const isTakenOver = fields.endpoint !== undefined && !isAuthor(tx, state)
    if (news.length === 0 && signingKey === undefined && !isTakenOver) return
    const endpoint = isTakenOver ? { endpoint: updated.endpoint } : {}
    const data = { ...Object.fromEntries(news), ...endpoint }
    const changed: Draft<TargetEvent> =
      signingKey === undefined
        ? { type: "target.changed", data, private: {} }
        : {
            type: "target.changed",
            data: { ...data, overlapUntil: tx.now + (overlapMs ?? 0) },
            private: { sealed: cx.secrets.seal("seal", signingKey, sealContextOf(id)) },
          }
    tx.append(target, id, [changed])
  })
  return { receipt: step.receipt(target, id), ...(signingKey !== undefined && { signingKey }) }
}

/** Whether the calling user is the only author of a target; true for other callers. */
const isAuthor = ({ caller }: Transaction, { authors }: Target): boolean =>
  caller.kind !== "user" || authors.every((each) => each === caller.userId)

/**
 * Deletes a target permanently and removes it from executions. Returns undefined if it does not
 * exist.
 */
export async function removeTarget(cx: Cx, id: string): Promise<Receipt | undefined> {
  const step = await cx.store.transact(cx, (tx) => {
    if (!isExistingTarget(tx.state(target, id))) return false
    for (const each of executionsWith(cx, id)) removeFromExecution(tx, each, id)
    const removed: Draft<TargetEvent> = { type: "target.removed", data: {}, erase: {} }
    tx.append(target, id, [removed])
    return true
  })
  return step.value ? step.receipt(target, id) : undefined
}

function removeFromExecution(tx: Transaction, executionId: string, id: string): void {
  const { targets } = tx.state(execution, executionId)
  const left = targets.filter((each) => each.type !== "target" || each.target !== id)
  if (left.length < targets.length) tx.append(execution, executionId, [executionSetEvent(left)])
}

/** The event that sets the targets of an execution. */
export const executionSetEvent = (targets: readonly ExecutionEntry[]): Draft<ExecutionEvent> =>
  targets.length === 0
    ? { type: "execution.removed", data: {} }
    : { type: "execution.set", data: { targets } }

const settingsOf = (state: Target): TargetSettings => {
  const { name, targetType, endpoint, timeoutMs, interruptOnError, payloadType } = state
  return { name, targetType, endpoint, timeoutMs, interruptOnError, payloadType }
}

/** A target that is not awaited can't interrupt. */
function validateSettings(cx: Cx, input: TargetSettings): TargetSettings {
  const { name, targetType, endpoint, timeoutMs, interruptOnError, payloadType } = input
  if (timeoutMs <= 0 || timeoutMs > timeoutMax) {
    throw fieldError("target.timeout", "timeout", "must be more than 0 and at most 270 seconds")
  }
  validateEndpoint(cx, endpoint)
  return {
    name: parseDisplayName("name", name),
    targetType,
    endpoint,
    timeoutMs,
    payloadType,
    interruptOnError: interruptOnError && targetType !== "async",
  }
}

/** The destination is checked at every call; invalid URLs are rejected here. */
function validateEndpoint(cx: Cx, endpoint: string): void {
  const refused = (updated: string) => fieldError("target.endpoint", "endpoint", updated)
  const url = endpoint.length > endpointMax ? null : URL.parse(endpoint)
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw refused(
      `must be a URL that starts with https:// and has at most ${endpointMax} characters`,
    )
  }
  if (url.username !== "" || url.password !== "") {
    throw refused("must not contain a user name or password")
  }
  if (isOwnHost(cx, url)) throw refused("must not lead to this server itself")
}

/**
 * RFC 1034 §3.1: a trailing dot does not change a host name. A call of this server to itself would
 * loop.
 */
export const isOwnHost = (cx: Cx, { hostname }: URL): boolean => isKnownHost(cx, hostname)

/** 36 characters, as the API requires. */
const createSigningKey = (cx: Cx): string => Buffer.from(cx.random.bytes(27)).toString("base64url")

/**
 * The context to which a sealed signing key is bound, so that it can't be used for another target.
 */
export const sealContextOf = (id: string): string => `target/${id}`

export function requireExists(state: Target): void {
  if (!isExistingTarget(state)) throw targetNotFoundError()
}

export const targetNotFoundError = (): Fault =>
  new Fault("not_found", "target.missing", "target not found")

const tooManyError = (): Fault =>
  new Fault(
    "resource_exhausted",
    "target.too_many",
    `there can be at most ${targetsMax} targets; delete one first`,
  )
