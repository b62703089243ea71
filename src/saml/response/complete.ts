import { complementSaml, isScriptRejection } from "../../domain/action/index.ts"
import { app, findServiceProviderByApp } from "../../domain/app/index.ts"
import {
  type AuthorizationRequest,
  authTimeOf,
  completeAuthRequest,
  failRequest,
  recordSamlAssertion,
} from "../../domain/grant/index.ts"
import { getSamlKeys } from "../../domain/key/index.ts"
import { project } from "../../domain/project/index.ts"
import { findSession, findUsableSession, type Session } from "../../domain/session/index.ts"
import { findProfileFor } from "../../domain/user-lookup/index.ts"
import type { Cx } from "../../store/index.ts"
import { encryptElement } from "../../xml/encrypt.ts"
import type { Status } from "../../xml/names.ts"
import { signElement } from "../../xml/sign.ts"
import { element, type XmlNode } from "../../xml/write.ts"
import { entityOfInstance } from "../path.ts"
import { describeMismatch, selectClass } from "../request/context.ts"
import { type ResponseTarget, responseTargetOf } from "../request/response-target.ts"
import { buildAssertion } from "./assertion.ts"
import { type Attribute, attributesFor, reservedNames } from "./attributes.ts"
import { buildMessage, buildStatus, newId } from "./message.ts"
import { buildNameId, createNameId } from "./name-id.ts"
import { errorResponseOf, type OutgoingMessage, responseMessageOf } from "./send.ts"

/** A request that can be completed with a session. */
export type CompletableRequest = {
  /** Absent for a request that is not stored because it is completed immediately. */
  readonly id?: string | undefined
  readonly asked: AuthorizationRequest
  readonly sessionId: string
}

/** The content of the response. */
type AssertionData = {
  readonly nameId: string
  readonly context: string
  readonly attributes: readonly Attribute[]
}

/**
 * Completes a request with the user of a session, or with an error status. Undefined if the session
 * has ended meanwhile.
 */
export async function completeAuthorization(
  cx: Cx,
  ready: CompletableRequest,
): Promise<OutgoingMessage | undefined> {
  const { id, asked, sessionId } = ready
  if (asked.testedBy !== undefined) throw new Error("a test ends with a page only")
  const back = responseTargetOf(asked)
  const session = findSession(cx, sessionId)
  if (!session) return undefined
  const assertionData = await assertionDataOf(cx, ready, session)
  if ("status" in assertionData) {
    if (id !== undefined)
      await cx.store.transact(cx, (tx) => failRequest(tx, id, assertionData.status))
    return errorResponseOf(cx, back, assertionData.status, assertionData.why)
  }
  const format = asked.saml?.nameIdFormat ?? "unspecified"
  const { nameId } = assertionData
  const step = await cx.store.transact(cx, (tx) => {
    const usable = findUsableSession(tx, sessionId)
    if (!usable) return false
    if (id !== undefined) completeAuthRequest(tx, id, sessionId)
    const { appId, entityId } = back
    recordSamlAssertion(tx, { sessionId, userId: usable.userId, appId, entityId, format, nameId })
    return true
  })
  return step.value
    ? responseMessageOf(
        back,
        await buildResponseWithSignedAssertion(cx, { ready, back, session, told: assertionData }),
      )
    : undefined
}

/** Why no assertion can be issued. */
type AssertionFailure = { readonly status: Status; readonly why: string }

/** The assertion content for the user of a session, or why none can be issued. */
export async function assertionDataOf(
  cx: Cx,
  { asked, sessionId }: CompletableRequest,
  session: Session,
): Promise<AssertionData | AssertionFailure> {
  const found = await findServiceProviderByApp(cx, asked.appId)
  if (found?.provider.recipient === "unusable") {
    return { status: "requestUnsupported", why: "the encryption key can't be used" }
  }
  const { userId, methods } = session
  const { secure } = entityOfInstance(cx)
  const { contexts = [], isContextOptional } = asked.saml ?? {}
  const proved = { methods, secure }
  const fitting = selectClass(asked.saml?.contexts, proved)
  const context = fitting ?? (isContextOptional && selectClass(undefined, proved))
  if (!context) return { status: "noAuthnContext", why: describeMismatch(contexts, proved) }
  const user = findProfileFor(cx, userId, [orgOfApp(cx, asked.appId)])
  const format = asked.saml?.nameIdFormat ?? "unspecified"
  const entityId = asked.saml?.entityId ?? ""
  const nameIdValue =
    user && createNameId(format, { userId, user, sessionId, entityId }, await getSamlKeys(cx))
  if (!found || !user || nameIdValue === undefined) {
    return { status: "invalidNameIdPolicy", why: "the user has no verified email address" }
  }
  try {
    const own = attributesFor(cx, { state: found.state, userId, user })
    const added = await complementSaml(cx, { userId, taken: reservedNames(found.state) })
    return { nameId: nameIdValue, context, attributes: [...own, ...added] }
  } catch (cause) {
    if (!isScriptRejection(cause)) throw cause
    return { status: "requestDenied", why: cause.message }
  }
}

type SamlResponseInput = {
  readonly ready: CompletableRequest
  readonly back: ResponseTarget
  readonly session: Session
  readonly told: AssertionData
}

/**
 * SAML Profiles §4.1.4.2: a response whose assertion is signed, and encrypted if the service
 * provider has an encryption key. The response is signed when it is delivered.
 */
async function buildResponseWithSignedAssertion(
  cx: Cx,
  answer: SamlResponseInput,
): Promise<XmlNode> {
  const { back } = answer
  const assertion = await signElement(buildUnsignedAssertion(cx, answer), 1, await getSamlKeys(cx))
  const found = await findServiceProviderByApp(cx, back.appId)
  const recipient = found?.provider.recipient
  const { url: destination, requestId: inResponseTo } = back
  return buildMessage(
    cx,
    "samlp:Response",
    { destination, inResponseTo },
    buildStatus("success"),
    recipient && recipient !== "unusable"
      ? element("saml:EncryptedAssertion", {}, await encryptElement(assertion, recipient))
      : assertion,
  )
}

/** The organization that owns the application: email addresses must be verified for it. */
function orgOfApp(cx: Cx, appId: string): string {
  const state = cx.store.state(cx, app, appId)
  return "projectId" in state ? cx.store.state(cx, project, state.projectId).orgId : ""
}

/** The unsigned assertion. */
export function buildUnsignedAssertion(
  cx: Cx,
  { ready, back, session, told: assertionData }: SamlResponseInput,
): XmlNode {
  const { asked, sessionId } = ready
  const { expires: sessionEnds } = session
  const authTime = authTimeOf(asked, session)
  const { entityId: issuer } = entityOfInstance(cx)
  const format = asked.saml?.nameIdFormat ?? "unspecified"
  const nameId = buildNameId(
    { format, nameId: assertionData.nameId },
    { self: issuer, entityId: back.entityId },
  )
  const { context, attributes } = assertionData
  return buildAssertion(
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
