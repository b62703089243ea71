import type { Consumer, FoundProvider, ServiceProvider } from "../../domain/app/index.ts"
import type { Prompt, Requested } from "../../domain/grant/index.ts"
import type { Cx } from "../../store/index.ts"
import { bindingOf, type NameIdFormat, nameIdFormatOf, type Status } from "../../xml/names.ts"
import { attributeOf, childOf, type Element, isTrue, timeOf } from "../../xml/read.ts"
import { reading, refusedError } from "../error.ts"
import { selfOf } from "../path.ts"
import type { Back } from "./back.ts"
import { mfaContext, needsPassword, type RequestedContexts, wantedContexts } from "./context.ts"
import type { Opened } from "./receive.ts"

/** Why a service provider gets no sign-in; it is told so. */
export type Refusal = { readonly back: Back; readonly status: Status; readonly message: string }

/** What a service provider asks for; or why it can't have it. */
export type Checked = { readonly asked: Requested } | { readonly refusal: Refusal }

const minute = 60_000

/** What clocks may differ by, and how old a request may be that somebody has left lying about. */
const skew = 5 * minute
const ageMax = 60 * minute

/** Characters of a RelayState. SAML Bindings §3.4.3 says 80, and many send an address. */
export const relayStateMax = 4096

/**
 * SAML Core §3.4.1: checks a request. What makes it impossible to say whose it is, or where an
 * answer may go, is refused; all else is told to the service provider.
 */
export function checkedRequest(
  cx: Cx,
  { found, root, isSigned }: Opened,
  relayState: string,
): Checked {
  const { provider, appId } = found
  if (provider.signsRequests && !isSigned) {
    throw refusedError("the registered metadata says that requests are signed, and this one is not")
  }
  mustBeForUs(cx, root, isSigned)
  if (relayState.length > relayStateMax) {
    throw refusedError(`RelayState must have ${relayStateMax} characters at most`)
  }
  const requestId = attributeOf(root, "ID") ?? ""
  // XML Schema §3.3.8: no ID begins with a digit, and some senders have such ones. Nothing else in
  // the message has the same: see `readMessage`.
  if (!/^\w[\w.-]{0,255}$/.test(requestId)) {
    throw refusedError("ID must be a name of letters, digits, _, . and -, 256 characters at most")
  }
  const consumer = consumerOf(provider, root)
  const back: Back = {
    appId,
    entityId: provider.entityId,
    requestId,
    relayState,
    url: consumer.url,
    binding: consumer.binding,
  }
  return checkedWishes(root, back, found)
}

/** SAML Core §3.2.1, and Bindings §3.4.5.2 and §3.5.5.2 of Destination. */
function mustBeForUs(cx: Cx, root: Element, isSigned: boolean): void {
  const { sso } = selfOf(cx)
  const destination = attributeOf(root, "Destination")
  if (destination !== undefined ? destination !== sso : isSigned) {
    throw refusedError(`Destination must be ${sso}`)
  }
  const issued = timeOf(attributeOf(root, "IssueInstant"))
  const now = cx.clock.now()
  if (issued === undefined || issued > now + skew || issued < now - ageMax) {
    throw refusedError("IssueInstant must be a time within the last hour; start again")
  }
}

/** SAML Core §3.4.1: from the metadata alone, never from what a request says. */
function consumerOf(provider: ServiceProvider, root: Element): Consumer {
  const url = attributeOf(root, "AssertionConsumerServiceURL")
  const index = attributeOf(root, "AssertionConsumerServiceIndex")
  const wanted = bindingOf(attributeOf(root, "ProtocolBinding"))
  const fitting = provider.consumers.filter(
    (each) =>
      (url === undefined || each.url === url) &&
      (index === undefined || String(each.index) === index),
  )
  const consumer = fitting.find(({ binding }) => binding === wanted) ?? fitting[0]
  if (consumer) return consumer
  const what = url === undefined ? "AssertionConsumerServiceIndex" : "AssertionConsumerServiceURL"
  throw refusedError(`${what} is not in the registered metadata`)
}

function checkedWishes(root: Element, back: Back, { provider, state }: FoundProvider): Checked {
  const refused = (status: Status, message: string): Checked => ({
    refusal: { back, status, message },
  })
  if (attributeOf(root, "Version") !== "2.0") {
    return refused("versionMismatch", "Version must be 2.0")
  }
  const protocol = attributeOf(root, "ProtocolBinding")
  if (protocol !== undefined && bindingOf(protocol) !== back.binding) {
    return refused("unsupportedBinding", "ProtocolBinding is not one that the metadata names")
  }
  if (childOf(root, ["saml", "Subject"], reading)) {
    return refused("requestUnsupported", "Subject is not supported; let the person say who it is")
  }
  const nameIdFormat = formatOf(root, provider)
  if (!nameIdFormat) {
    return refused("invalidNameIdPolicy", "NameIDPolicy asks for what nobody has here")
  }
  const wanted = wantedContexts(root)
  if (wanted?.contexts.length === 0) {
    const message = `RequestedAuthnContext (${wanted.named}) names no class that is supported here`
    return refused("noAuthnContext", message)
  }
  const isEnforced = state.saml.enforceContext === true
  const wishes = { back, nameIdFormat, prompts: promptsOf(root), wanted, isEnforced }
  return { asked: requestedOf(wishes) }
}

/** SAML Core §3.4.1: ForceAuthn and IsPassive, in the words of OpenID Connect. */
const promptsOf = (root: Element): readonly Prompt[] => [
  ...(isTrue(attributeOf(root, "ForceAuthn")) ? (["login"] as const) : []),
  ...(isTrue(attributeOf(root, "IsPassive")) ? (["none"] as const) : []),
]

/** SAML Core §3.4.1.1; undefined for what we don't have. */
function formatOf(root: Element, provider: ServiceProvider): NameIdFormat | undefined {
  const policy = childOf(root, ["samlp", "NameIDPolicy"], reading)
  const qualifier = attributeOf(policy, "SPNameQualifier")
  if (qualifier !== undefined && qualifier !== provider.entityId) return undefined
  const named = attributeOf(policy, "Format")
  const format = named === undefined ? "unspecified" : nameIdFormatOf(named)
  // §8.3.1: what is left to us, the metadata may say.
  return format === "unspecified" ? formatFor(provider) : format
}

/** The first format that the metadata names. */
export const formatFor = ({ nameIdFormats }: ServiceProvider): NameIdFormat =>
  nameIdFormats[0] ?? "unspecified"

type Wishes = {
  readonly back: Back
  readonly nameIdFormat: NameIdFormat
  readonly prompts: readonly Prompt[]
  readonly wanted?: RequestedContexts | undefined
  /** Whether the application has contexts enforced that ask for no more than a password. */
  readonly isEnforced?: boolean
}

/** A request in the form in which all are kept, and served by the login pages. */
export function requestedOf(wishes: Wishes): Requested {
  const { back, nameIdFormat, prompts, wanted, isEnforced = false } = wishes
  const contexts = wanted?.contexts
  const isContextOptional = wanted?.isOrdinary === true && !isEnforced
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
      ...(contexts && !isContextOptional && needsPassword(contexts) && { needsPassword: true }),
    },
  }
}
