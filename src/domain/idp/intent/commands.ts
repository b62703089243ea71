import { randomToken } from "../../../kernel/crypto/random.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import { authorityOfIdp, authorityWithin, type Found } from "../commands.ts"
import type { RequestedSignIn } from "../upstream/forward.ts"
import type { Answered, Scripted } from "../upstream/identity.ts"
import { authorizationUrl } from "../upstream/start.ts"
import { type Kept, newKept } from "./kept.ts"
import { type Back, type Begun, type Intent, type IntentEvent, intent } from "./model.ts"

export type Started = { readonly id: string; readonly authUrl: string }

type NewIntent = Omit<Begun, "idpId"> &
  Back & {
    /** What the request that it is for requires; absent for none. */
    readonly requested?: RequestedSignIn
  }

/** Begins a sign-in with a provider; answers where the browser has to go. */
export async function startIntent(
  cx: Cx,
  found: Found,
  { successUrl, failureUrl, requested = {}, ...begun }: NewIntent,
): Promise<Started> {
  cx.allowance?.spend("request")
  const id = cx.ids.next()
  const token = randomToken(cx.random)
  const kept = newKept(cx, requested)
  const authUrl = await authorizationUrl(cx, found, { state: `${id}.${token}`, kept, requested })
  const started: Draft<IntentEvent> = {
    type: "idpintent.started",
    data: { ...begun, idpId: found.idp.id },
    private: {
      sealed: cx.secrets.seal("seal", JSON.stringify(kept), about(id)),
      stateHash: cx.secrets.hash(token, about(id)),
      successUrl,
      failureUrl,
    },
  }
  await cx.store.transact(cx, (tx) => tx.append(intent, id, [started], found.place ?? cx.instance))
  return { id, authUrl }
}

/** An intent that waits for its provider. */
export type Open = Begun & Back & { readonly id: string; readonly kept: Kept }

/** What came of one that waited. */
export function doneWith(
  { kept: _, successUrl: __, failureUrl: ___, ...begun }: Open,
  answered: Answered,
): Done {
  return { ...begun, answered }
}

/** The intent that a `state` belongs to; undefined where it is none that waits. */
export function openIntent(cx: Cx, state: string): Open | undefined {
  const [, id = "", token = ""] = /^(\d{1,20})\.([\w-]{1,200})$/.exec(state) ?? []
  const found = cx.store.state(cx, intent, id)
  if (found.status !== "started" || cx.clock.now() >= found.expires) return undefined
  if (!cx.secrets.matches(found.stateHash, token, about(id))) return undefined
  const plain = cx.secrets.open("seal", found.sealed, about(id))
  if (plain === undefined) return undefined
  const { successUrl, failureUrl } = found
  return { ...begunOf(found), successUrl, failureUrl, id, kept: JSON.parse(plain) }
}

/**
 * Notes what a provider has had a form bring, which comes without our cookie: the browser that has
 * begun it goes on from there.
 */
export async function noteBrought(cx: Cx, id: string, answered: Answered): Promise<void> {
  const sealed = cx.secrets.seal("seal", JSON.stringify(answered), about(id))
  const brought: Draft<IntentEvent> = {
    type: "idpintent.saml.succeeded",
    data: {},
    private: { sealed },
    erase: { types: ["idpintent.started"] },
  }
  await cx.store.transact(cx, (tx) => {
    // The provider's answer counts once, however often a browser brings it.
    if (tx.state(intent, id).status !== "started") throw usedError()
    tx.append(intent, id, [brought])
  })
}

/** What a form has brought; undefined where that is nothing, or was taken up already. */
export function broughtIntent(cx: Cx, id: string): Done | undefined {
  const found = cx.store.state(cx, intent, id)
  return found.status === "brought" ? doneOf(cx, id, found) : undefined
}

/** Notes who came back from the provider; answers the token that uses it. */
export async function succeedIntent(cx: Cx, id: string, answered: Answered): Promise<string> {
  const { token, proof } = proofOf(cx, id, answered)
  const succeeded: Draft<IntentEvent> = {
    type: "idpintent.succeeded",
    data: {},
    private: proof,
    erase: { types: ["idpintent.started", "idpintent.saml.succeeded"] },
  }
  await cx.store.transact(cx, (tx) => {
    // The provider's answer counts once, however often the browser brings it.
    if (!isOpen(tx.state(intent, id))) throw usedError()
    tx.append(intent, id, [succeeded])
  })
  return token
}

/** What came of an intent, sealed, and the token that uses it. */
function proofOf(cx: Cx, id: string, answered: Answered) {
  const token = randomToken(cx.random)
  const sealed = cx.secrets.seal("seal", JSON.stringify(answered), about(id))
  return { token, proof: { sealed, tokenHash: cx.secrets.hash(token, about(id)) } }
}

/** Notes who has proved to a provider who they are without being sent there. */
export async function noteAnswered(
  cx: Cx,
  found: Found,
  { answered, ...begun }: Omit<Begun, "idpId"> & { readonly answered: Answered },
): Promise<{ readonly id: string; readonly token: string }> {
  const id = cx.ids.next()
  const { token, proof } = proofOf(cx, id, answered)
  const data = { ...begun, idpId: found.idp.id }
  const noted: Draft<IntentEvent> = { type: "idpintent.ldap.succeeded", data, private: proof }
  await cx.store.transact(cx, (tx) => tx.append(intent, id, [noted], found.place ?? cx.instance))
  return { id, token }
}

/** Notes that nobody came back; what was kept of it goes. */
export async function failIntent(cx: Cx, id: string, reason: string): Promise<void> {
  const failed: Draft<IntentEvent> = { type: "idpintent.failed", data: { reason }, erase: {} }
  await cx.store.transact(cx, (tx) => {
    if (isOpen(tx.state(intent, id))) tx.append(intent, id, [failed])
  })
}

const isOpen = ({ status }: Intent): boolean => status === "started" || status === "brought"

export type Done = Begun & { readonly id: string; readonly answered: Answered }

/** What came of an intent that a browser began; undefined for any other browser's. */
export function intentOfBrowser(cx: Cx, id: string, agentId: string): Done | undefined {
  const found = cx.store.state(cx, intent, id)
  if (found.status !== "succeeded" || agentId === "" || found.agentId !== agentId) return undefined
  return doneOf(cx, id, found)
}

/** What came of an intent that was begun by the API, for who has its token. */
export function intentByToken(cx: Cx, id: string, token: string): Done {
  const found = cx.store.state(cx, intent, id)
  const isTheirs =
    found.status === "succeeded" &&
    found.agentId === "" &&
    cx.secrets.matches(found.tokenHash, token, about(id))
  const done = isTheirs ? doneOf(cx, id, found) : undefined
  if (done) return done
  throw usedError()
}

/** Where an intent stands. */
export function intentStand(cx: Cx, id: string): Receipt {
  const receipt = cx.store.receipt(cx, intent, id)
  if (receipt) return receipt
  throw usedError()
}

/**
 * Uses an intent up, as a part of a step; refuses one that was used before, and one that another
 * provider has answered than it is now.
 */
export function consumeIntent(tx: Transaction, { id, idpId, answered }: Done): void {
  if (tx.state(intent, id).status !== "succeeded") throw usedError()
  if (authorityWithin(tx, idpId) !== answered.authority) throw usedError()
  tx.append(intent, id, [{ type: "idpintent.consumed", data: {}, erase: {} }])
}

/**
 * The same for what the provider has only just answered: what came of it is used in the step that
 * notes it, so that nothing of it is kept.
 */
export function useAnswer(tx: Transaction, done: Done): void {
  if (!isOpen(tx.state(intent, done.id))) throw usedError()
  const proof = { sealed: "", tokenHash: "" }
  tx.append(intent, done.id, [{ type: "idpintent.succeeded", data: {}, private: proof }])
  consumeIntent(tx, done)
}

type Answer = Extract<Intent, { status: "succeeded" | "brought" }>

function doneOf(cx: Cx, id: string, found: Answer): Done | undefined {
  if (cx.clock.now() >= found.expires) return undefined
  const plain = cx.secrets.open("seal", found.sealed, about(id))
  const done = plain && { ...begunOf(found), id, answered: JSON.parse(plain) }
  return done && isWhole(done.answered) && isNow(cx, done) ? done : undefined
}

/** What an older version has kept does not say what of it are a script's words: it is over. */
const isWhole = ({ scripted }: { readonly scripted?: Partial<Scripted> }): boolean =>
  scripted === undefined || scripted.said !== undefined

/** Whether who has answered is still who the provider is. */
export const isNow = (cx: Cx, { idpId, answered }: Pick<Done, "idpId" | "answered">): boolean =>
  authorityOfIdp(cx, idpId) === answered.authority

function begunOf(found: Begun): Begun {
  const { idpId, agentId, requestId, creatorId, linkUserId } = found
  const linking = linkUserId === undefined ? {} : { linkUserId }
  return { idpId, agentId, requestId, creatorId, ...linking }
}

const about = (id: string): string => `idpintent/${id}`

const usedError = () =>
  new Fault(
    "failed_precondition",
    "idp.intent_over",
    "this intent is over, was used before, or its token is another one; start a new one",
  )
