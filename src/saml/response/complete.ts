import { complementSaml, isRefusal } from "../../domain/action/index.ts"
import { app, serviceProviderOf } from "../../domain/app/index.ts"
import {
  addSamlAssertion,
  answerRequest,
  authTimeFor,
  failRequest,
  type Requested,
} from "../../domain/grant/index.ts"
import { samlKeys } from "../../domain/key/index.ts"
import { project } from "../../domain/project/index.ts"
import { type Session, sessionNow, usableSession } from "../../domain/session/index.ts"
import { profileFor } from "../../domain/user-lookup/index.ts"
import type { Cx } from "../../store/index.ts"
import { encrypted } from "../../xml/encrypt.ts"
import type { Status } from "../../xml/names.ts"
import { signed } from "../../xml/sign.ts"
import { element, type Written } from "../../xml/write.ts"
import { selfOf } from "../path.ts"
import { type Back, backOf } from "../request/back.ts"
import { contextOf, mismatchOf } from "../request/context.ts"
import { assertionOf } from "./assertion.ts"
import { type Attribute, attributesFor, takenNames } from "./attributes.ts"
import { message, newId, statusOf } from "./message.ts"
import { nameIdElement, nameIdOf } from "./name-id.ts"
import { refusalOf, type Way, wayOf } from "./send.ts"

/** A request that the person of a session may have answered. */
export type Ready = {
  /** Absent where it is kept nowhere, since it is answered as it came. */
  readonly id?: string | undefined
  readonly asked: Requested
  readonly sessionId: string
}

/** What an answer is made of. */
type Told = {
  readonly nameId: string
  readonly context: string
  readonly attributes: readonly Attribute[]
}

/**
 * Answers a request with who the person of a session is; or with why that can't be said. Undefined
 * where the session has ended meanwhile.
 */
export async function complete(cx: Cx, ready: Ready): Promise<Way | undefined> {
  const { id, asked, sessionId } = ready
  if (asked.testedBy !== undefined) throw new Error("a test is answered with a page alone")
  const back = backOf(asked)
  const session = sessionNow(cx, sessionId)
  if (!session) return undefined
  const told = await toldOf(cx, ready, session)
  if ("status" in told) {
    if (id !== undefined) await cx.store.transact(cx, (tx) => failRequest(tx, id, told.status))
    return refusalOf(cx, back, told.status, told.why)
  }
  const format = asked.saml?.nameIdFormat ?? "unspecified"
  const { nameId } = told
  const step = await cx.store.transact(cx, (tx) => {
    const usable = usableSession(tx, sessionId)
    if (!usable) return false
    if (id !== undefined) answerRequest(tx, id, sessionId)
    const { appId, entityId } = back
    addSamlAssertion(tx, { sessionId, userId: usable.userId, appId, entityId, format, nameId })
    return true
  })
  return step.value ? wayOf(back, await responseOf(cx, { ready, back, session, told })) : undefined
}

/** Why nothing can be said of somebody. */
type Untold = { readonly status: Status; readonly why: string }

/** What is said of the person of a session; or why nothing can be. */
export async function toldOf(
  cx: Cx,
  { asked, sessionId }: Ready,
  session: Session,
): Promise<Told | Untold> {
  const found = await serviceProviderOf(cx, asked.appId)
  if (found?.provider.recipient === "unusable") {
    return { status: "requestUnsupported", why: "the key for encryption can't be used" }
  }
  const { userId, methods } = session
  const { secure } = selfOf(cx)
  const { contexts = [], isContextOptional } = asked.saml ?? {}
  const proved = { methods, secure }
  const fitting = contextOf(asked.saml?.contexts, proved)
  const context = fitting ?? (isContextOptional && contextOf(undefined, proved))
  if (!context) return { status: "noAuthnContext", why: mismatchOf(contexts, proved) }
  const user = profileFor(cx, userId, [orgOf(cx, asked.appId)])
  const format = asked.saml?.nameIdFormat ?? "unspecified"
  const entityId = asked.saml?.entityId ?? ""
  const named = user && nameIdOf(format, { userId, user, sessionId, entityId }, await samlKeys(cx))
  if (!found || !user || named === undefined) {
    return { status: "invalidNameIdPolicy", why: "the person has no verified e-mail address" }
  }
  try {
    const own = attributesFor(cx, { state: found.state, userId, user })
    const added = await complementSaml(cx, { userId, taken: takenNames(found.state) })
    return { nameId: named, context, attributes: [...own, ...added] }
  } catch (cause) {
    if (!isRefusal(cause)) throw cause
    return { status: "requestDenied", why: cause.message }
  }
}

type Answer = {
  readonly ready: Ready
  readonly back: Back
  readonly session: Session
  readonly told: Told
}

/** SAML Profiles §4.1.4.2: a signed assertion, encrypted where its reader has a key for that. */
async function responseOf(cx: Cx, answer: Answer): Promise<Written> {
  const { back } = answer
  const assertion = await signed(statementOf(cx, answer), 1, await samlKeys(cx))
  const found = await serviceProviderOf(cx, back.appId)
  const recipient = found?.provider.recipient
  const { url: destination, requestId: inResponseTo } = back
  return message(
    cx,
    "samlp:Response",
    { destination, inResponseTo },
    statusOf("success"),
    recipient && recipient !== "unusable"
      ? element("saml:EncryptedAssertion", {}, await encrypted(assertion, recipient))
      : assertion,
  )
}

/** The organization whose application it is: addresses must be verified for it. */
function orgOf(cx: Cx, appId: string): string {
  const state = cx.store.state(cx, app, appId)
  return "projectId" in state ? cx.store.state(cx, project, state.projectId).orgId : ""
}

/** The assertion, before anybody signs it. */
export function statementOf(cx: Cx, { ready, back, session, told }: Answer): Written {
  const { asked, sessionId } = ready
  const { expires: sessionEnds } = session
  const authTime = authTimeFor(asked, session)
  const { entityId: issuer } = selfOf(cx)
  const format = asked.saml?.nameIdFormat ?? "unspecified"
  const nameId = nameIdElement(
    { format, nameId: told.nameId },
    { self: issuer, entityId: back.entityId },
  )
  const { context, attributes } = told
  return assertionOf(
    {
      id: newId(cx),
      issuer,
      now: cx.clock.now(),
      nameId,
      sessionId,
      authTime,
      sessionEnds,
      context,
      attributes,
    },
    back,
  )
}
