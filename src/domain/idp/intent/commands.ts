import { randomToken } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import { authorityInTransaction, findAuthority, type OwnedIdp } from "../commands.ts"
import type { RequestedSignIn } from "../upstream/forward.ts"
import type { AuthenticatedAnswer, ScriptResult } from "../upstream/identity.ts"
import { createAuthorizationUrl } from "../upstream/start.ts"
import { createFlowState, type FlowState } from "./flow-state.ts"
import {
  type Intent,
  type IntentEvent,
  type IntentOrigin,
  intent,
  type ReturnUrls,
} from "./model.ts"

export type StartedIntent = { readonly id: string; readonly authUrl: string }

type StartIntentInput = Omit<IntentOrigin, "idpId"> &
  ReturnUrls & {
    /** What the original authorization request requires; absent if there is none. */
    readonly requested?: RequestedSignIn
  }

/** Starts a sign-in with a provider. Returns the URL to send the browser to. */
export async function startIntent(
  cx: Cx,
  current: OwnedIdp,
  { successUrl, failureUrl, requested = {}, ...origin }: StartIntentInput,
): Promise<StartedIntent> {
  cx.allowance?.spend("request")
  const id = cx.ids.next()
  const token = randomToken(cx.random)
  const flow = createFlowState(cx, requested)
  const authUrl = await createAuthorizationUrl(cx, current, {
    state: `${id}.${token}`,
    flow: flow,
    requested,
  })
  const started: Draft<IntentEvent> = {
    type: "idpintent.started",
    data: { ...origin, idpId: current.idp.id },
    private: {
      sealed: cx.secrets.seal("seal", JSON.stringify(flow), intentContext(id)),
      stateHash: cx.secrets.hash(token, intentContext(id)),
      successUrl,
      failureUrl,
    },
  }
  await cx.store.transact(cx, (tx) =>
    tx.append(intent, id, [started], current.place ?? cx.instance),
  )
  return { id, authUrl }
}

/** A started intent that waits for the provider's answer. */
export type OpenIntent = IntentOrigin &
  ReturnUrls & { readonly id: string; readonly kept: FlowState }

/** A completed intent from an open one and its answer. */
export function completeOpenIntent(
  { kept: _, successUrl: __, failureUrl: ___, ...origin }: OpenIntent,
  answer: AuthenticatedAnswer,
): CompletedIntent {
  return { ...origin, answered: answer }
}

/**
 * Finds the started intent of a `state` parameter. Returns undefined if it expired or was answered.
 */
export function findOpenIntent(cx: Cx, state: string): OpenIntent | undefined {
  const [, id = "", token = ""] = /^(\d{1,20})\.([\w-]{1,200})$/.exec(state) ?? []
  const current = cx.store.state(cx, intent, id)
  if (current.status !== "started" || cx.clock.now() >= current.expires) return undefined
  if (!cx.secrets.matches(current.stateHash, token, intentContext(id))) return undefined
  const plain = cx.secrets.open("seal", current.sealed, intentContext(id))
  if (plain === undefined) return undefined
  const { successUrl, failureUrl } = current
  return { ...originOf(current), successUrl, failureUrl, id, kept: JSON.parse(plain) }
}

/**
 * Records an answer that the provider had the browser post. The request has no cookie of this
 * server, so the browser must continue in a second request.
 */
export async function recordPostedAnswer(
  cx: Cx,
  id: string,
  answer: AuthenticatedAnswer,
): Promise<void> {
  const sealed = cx.secrets.seal("seal", JSON.stringify(answer), intentContext(id))
  const posted: Draft<IntentEvent> = {
    type: "idpintent.saml.succeeded",
    data: {},
    private: { sealed },
    erase: { types: ["idpintent.started"] },
  }
  await cx.store.transact(cx, (tx) => {
    // Accept an answer only once.
    if (tx.state(intent, id).status !== "started") throw intentUsedError()
    tx.append(intent, id, [posted])
  })
}

/** Finds a posted answer. Returns undefined if there is none or it was already retrieved. */
export function findPostedAnswer(cx: Cx, id: string): CompletedIntent | undefined {
  const current = cx.store.state(cx, intent, id)
  return current.status === "brought" ? findCompleted(cx, id, current) : undefined
}

/** Records the answer of the provider. Returns the token that consumes it. */
export async function succeedIntent(
  cx: Cx,
  id: string,
  answer: AuthenticatedAnswer,
): Promise<string> {
  const { token, proof } = createProof(cx, id, answer)
  const succeeded: Draft<IntentEvent> = {
    type: "idpintent.succeeded",
    data: {},
    private: proof,
    erase: { types: ["idpintent.started", "idpintent.saml.succeeded"] },
  }
  await cx.store.transact(cx, (tx) => {
    // Accept an answer only once.
    if (!isOpen(tx.state(intent, id))) throw intentUsedError()
    tx.append(intent, id, [succeeded])
  })
  return token
}

/** The sealed answer and the token that consumes it. */
function createProof(cx: Cx, id: string, answer: AuthenticatedAnswer) {
  const token = randomToken(cx.random)
  const sealed = cx.secrets.seal("seal", JSON.stringify(answer), intentContext(id))
  return { token, proof: { sealed, tokenHash: cx.secrets.hash(token, intentContext(id)) } }
}

/** Records a user whom a provider authenticated without a redirect. */
export async function createAnsweredIntent(
  cx: Cx,
  current: OwnedIdp,
  {
    answered: answer,
    ...origin
  }: Omit<IntentOrigin, "idpId"> & { readonly answered: AuthenticatedAnswer },
): Promise<{ readonly id: string; readonly token: string }> {
  const id = cx.ids.next()
  const { token, proof } = createProof(cx, id, answer)
  const data = { ...origin, idpId: current.idp.id }
  const noted: Draft<IntentEvent> = { type: "idpintent.ldap.succeeded", data, private: proof }
  await cx.store.transact(cx, (tx) => tx.append(intent, id, [noted], current.place ?? cx.instance))
  return { id, token }
}

/** Records that the sign-in failed, and erases its data. */
export async function failIntent(cx: Cx, id: string, reason: string): Promise<void> {
  const failed: Draft<IntentEvent> = { type: "idpintent.failed", data: { reason }, erase: {} }
  await cx.store.transact(cx, (tx) => {
    if (isOpen(tx.state(intent, id))) tx.append(intent, id, [failed])
  })
}

const isOpen = ({ status }: Intent): boolean => status === "started" || status === "brought"

export type CompletedIntent = IntentOrigin & {
  readonly id: string
  readonly answered: AuthenticatedAnswer
}

/** Finds the answer to an intent that this browser started; undefined for other browsers. */
export function findIntentOfBrowser(
  cx: Cx,
  id: string,
  agentId: string,
): CompletedIntent | undefined {
  const current = cx.store.state(cx, intent, id)
  if (current.status !== "succeeded" || agentId === "" || current.agentId !== agentId)
    return undefined
  return findCompleted(cx, id, current)
}

/** Returns the answer to an intent that was started through the API, if the token matches. */
export function getIntentByToken(cx: Cx, id: string, token: string): CompletedIntent {
  const current = cx.store.state(cx, intent, id)
  const isAuthorized =
    current.status === "succeeded" &&
    current.agentId === "" &&
    cx.secrets.matches(current.tokenHash, token, intentContext(id))
  const done = isAuthorized ? findCompleted(cx, id, current) : undefined
  if (done) return done
  throw intentUsedError()
}

/** Returns details of the last change of an intent. */
export function getIntentReceipt(cx: Cx, id: string): Receipt {
  const receipt = cx.store.receipt(cx, intent, id)
  if (receipt) return receipt
  throw intentUsedError()
}

/**
 * Consumes an intent in a transaction. Rejects one that was already used, or whose provider has
 * another authority now.
 */
export function consumeIntent(
  tx: Transaction,
  { id, idpId, answered: answer }: CompletedIntent,
): void {
  if (tx.state(intent, id).status !== "succeeded") throw intentUsedError()
  if (authorityInTransaction(tx, idpId) !== answer.authority) throw intentUsedError()
  tx.append(intent, id, [{ type: "idpintent.consumed", data: {}, erase: {} }])
}

/** Records and consumes an answer in the same transaction, so that nothing of it is stored. */
export function consumeAnswer(tx: Transaction, done: CompletedIntent): void {
  if (!isOpen(tx.state(intent, done.id))) throw intentUsedError()
  const proof = { sealed: "", tokenHash: "" }
  tx.append(intent, done.id, [{ type: "idpintent.succeeded", data: {}, private: proof }])
  consumeIntent(tx, done)
}

type AnsweredIntent = Extract<Intent, { status: "succeeded" | "brought" }>

function findCompleted(cx: Cx, id: string, current: AnsweredIntent): CompletedIntent | undefined {
  if (cx.clock.now() >= current.expires) return undefined
  const plain = cx.secrets.open("seal", current.sealed, intentContext(id))
  const done = plain && { ...originOf(current), id, answered: JSON.parse(plain) }
  return done && isScriptDataComplete(done.answered) && isAuthorityCurrent(cx, done)
    ? done
    : undefined
}

/**
 * Answers stored by an older version don't record which data come from scripts, so they are
 * rejected.
 */
const isScriptDataComplete = ({
  scripted,
}: {
  readonly scripted?: Partial<ScriptResult>
}): boolean => scripted === undefined || scripted.said !== undefined

/** Whether the provider still has the authority that answered. */
export const isAuthorityCurrent = (
  cx: Cx,
  { idpId, answered: answer }: Pick<CompletedIntent, "idpId" | "answered">,
): boolean => findAuthority(cx, idpId) === answer.authority

function originOf(current: IntentOrigin): IntentOrigin {
  const { idpId, agentId, requestId, creatorId, linkUserId } = current
  const linking = linkUserId === undefined ? {} : { linkUserId }
  return { idpId, agentId, requestId, creatorId, ...linking }
}

const intentContext = (id: string): string => `idpintent/${id}`

const intentUsedError = () =>
  new Fault(
    "failed_precondition",
    "idp.intent_over",
    "this intent has expired, was already used, or has another token; start a new one",
  )
