import type {
  Consumer,
  RegisteredServiceProvider,
  ServiceProvider,
} from "../../domain/app/index.ts"
import type { AuthorizationRequest, Prompt } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { bindingOf, type NameIdFormat, nameIdFormatOf, type Status } from "../../xml/names.ts"
import { type Element, findAttribute, findChild, isTrue, parseTime } from "../../xml/read.ts"
import { readingOptions, rejectedError } from "../error.ts"
import { entityOfInstance } from "../path.ts"
import {
  mfaContext,
  parseRequestedContexts,
  type RequestedContexts,
  requiresPassword,
} from "./context.ts"
import type { VerifiedMessage } from "./receive.ts"
import type { ResponseTarget } from "./response-target.ts"

/** The error response for a service provider. */
export type ErrorResponse = {
  readonly back: ResponseTarget
  readonly status: Status
  readonly message: string
}

/** A validated AuthnRequest, or the error response. */
export type CheckedRequest =
  | { readonly authorizationRequest: AuthorizationRequest }
  | { readonly error: ErrorResponse }

const minuteMs = 60_000

/** Tolerated clock skew, and the maximum age of a request that a user left open. */
const skewMs = 5 * minuteMs
const ageMaxMs = 60 * minuteMs

/**
 * In characters. SAML Bindings §3.4.3 limits RelayState to 80 bytes, but many service providers
 * send a URL.
 */
export const relayStateMax = 4096

/**
 * SAML Core §3.4.1: validates a request. Throws if the sender or the response endpoint is
 * uncertain; other errors are sent to the service provider.
 */
export function checkRequest(
  cx: Cx,
  { found, root, isSigned }: VerifiedMessage,
  relayState: string,
): CheckedRequest {
  const { provider, appId } = found
  if (provider.signsRequests && !isSigned) {
    throw rejectedError(
      "the registered metadata requires signed requests, and this one is not signed",
    )
  }
  requireDestination(cx, root, isSigned)
  if (relayState.length > relayStateMax) {
    throw rejectedError(`RelayState must be at most ${relayStateMax} characters`)
  }
  const requestId = findAttribute(root, "ID") ?? ""
  // XML Schema §3.3.8: an ID must not begin with a digit, but some service providers send such IDs.
  // They are unique in the message: see `readMessage`.
  if (!/^\w[\w.-]{0,255}$/.test(requestId)) {
    throw rejectedError("ID must be at most 256 characters: letters, digits, _, . and -")
  }
  const consumer = findConsumer(provider, root)
  const back: ResponseTarget = {
    appId,
    entityId: provider.entityId,
    requestId,
    relayState,
    url: consumer.url,
    binding: consumer.binding,
  }
  return checkRequirements(root, back, found)
}

/** SAML Core §3.2.1, and Bindings §3.4.5.2 and §3.5.5.2 about Destination. */
function requireDestination(cx: Cx, root: Element, isSigned: boolean): void {
  const { sso } = entityOfInstance(cx)
  const destination = findAttribute(root, "Destination")
  if (destination !== undefined ? destination !== sso : isSigned) {
    throw rejectedError(`Destination must be ${sso}`)
  }
  const issued = parseTime(findAttribute(root, "IssueInstant"))
  const now = cx.clock.now()
  if (issued === undefined || issued > now + skewMs || issued < now - ageMaxMs) {
    throw rejectedError("IssueInstant must be within the last hour; start again")
  }
}

/** SAML Core §3.4.1: from the metadata only, never from the request. */
function findConsumer(provider: ServiceProvider, root: Element): Consumer {
  const url = findAttribute(root, "AssertionConsumerServiceURL")
  const index = findAttribute(root, "AssertionConsumerServiceIndex")
  const wanted = bindingOf(findAttribute(root, "ProtocolBinding"))
  const fitting = provider.consumers.filter(
    (each) =>
      (url === undefined || each.url === url) &&
      (index === undefined || String(each.index) === index),
  )
  const consumer = fitting.find(({ binding }) => binding === wanted) ?? fitting[0]
  if (consumer) return consumer
  const attributeName =
    url === undefined ? "AssertionConsumerServiceIndex" : "AssertionConsumerServiceURL"
  throw rejectedError(`${attributeName} is not in the registered metadata`)
}

function checkRequirements(
  root: Element,
  back: ResponseTarget,
  { provider, state }: RegisteredServiceProvider,
): CheckedRequest {
  const refused = (status: Status, message: string): CheckedRequest => ({
    error: { back, status, message },
  })
  if (findAttribute(root, "Version") !== "2.0") {
    return refused("versionMismatch", "Version must be 2.0")
  }
  const protocol = findAttribute(root, "ProtocolBinding")
  if (protocol !== undefined && bindingOf(protocol) !== back.binding) {
    return refused("unsupportedBinding", "ProtocolBinding is not in the registered metadata")
  }
  if (findChild(root, ["saml", "Subject"], readingOptions)) {
    return refused("requestUnsupported", "Subject is not supported; omit it")
  }
  const nameIdFormat = parseFormat(root, provider)
  if (!nameIdFormat) {
    return refused("invalidNameIdPolicy", "NameIDPolicy requests an unsupported format")
  }
  const wanted = parseRequestedContexts(root)
  if (wanted?.contexts.length === 0) {
    const message = `RequestedAuthnContext (${wanted.text}) contains no supported class`
    return refused("noAuthnContext", message)
  }
  const isEnforced = state.saml.enforceContext === true
  const requirements = { back, nameIdFormat, prompts: promptsOf(root), wanted, isEnforced }
  return { authorizationRequest: authorizationRequestOf(requirements) }
}

/** SAML Core §3.4.1: ForceAuthn and IsPassive as values of prompt. */
const promptsOf = (root: Element): readonly Prompt[] => [
  ...(isTrue(findAttribute(root, "ForceAuthn")) ? (["login"] as const) : []),
  ...(isTrue(findAttribute(root, "IsPassive")) ? (["none"] as const) : []),
]

/** SAML Core §3.4.1.1; undefined for an unsupported format. */
function parseFormat(root: Element, provider: ServiceProvider): NameIdFormat | undefined {
  const policy = findChild(root, ["samlp", "NameIDPolicy"], readingOptions)
  const qualifier = findAttribute(policy, "SPNameQualifier")
  if (qualifier !== undefined && qualifier !== provider.entityId) return undefined
  const requestedFormat = findAttribute(policy, "Format")
  const format = requestedFormat === undefined ? "unspecified" : nameIdFormatOf(requestedFormat)
  // §8.3.1: for "unspecified", the metadata determines the format.
  return format === "unspecified" ? defaultFormatOf(provider) : format
}

/** The first NameID format in the metadata. */
export const defaultFormatOf = ({ nameIdFormats }: ServiceProvider): NameIdFormat =>
  nameIdFormats[0] ?? "unspecified"

type AuthnRequirements = {
  readonly back: ResponseTarget
  readonly nameIdFormat: NameIdFormat
  readonly prompts: readonly Prompt[]
  readonly wanted?: RequestedContexts | undefined
  /** Whether the application enforces contexts that require no more than a password. */
  readonly isEnforced?: boolean
}

/** The request in the form that is stored and that the login pages use. */
export function authorizationRequestOf(requirements: AuthnRequirements): AuthorizationRequest {
  const { back, nameIdFormat, prompts, wanted, isEnforced = false } = requirements
  const contexts = wanted?.contexts
  const isContextOptional = wanted?.isPasswordOnly === true && !isEnforced
  const { appId, entityId, url, binding, requestId, relayState } = back
  return {
    clientId: "",
    appId,
    redirectUri: url,
    responseMode: "form_post",
    scopes: [],
    audience: [],
    languages: [],
    prompts,
    ...(relayState !== "" && { state: relayState }),
    needsFactor: contexts?.every((each) => each === mfaContext) ?? false,
    saml: {
      entityId,
      binding,
      nameIdFormat,
      ...(requestId !== undefined && { requestId }),
      ...(contexts && { contexts }),
      ...(isContextOptional && { isContextOptional }),
      ...(contexts && !isContextOptional && requiresPassword(contexts) && { needsPassword: true }),
    },
  }
}
