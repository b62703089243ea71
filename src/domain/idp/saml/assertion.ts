import { nameIdFormats } from "../../../xml/names.ts"
import {
  childrenOf,
  directTextOf,
  type Element,
  elementsIn,
  findAttribute,
  findChild,
  type MessageReading,
  parseTime,
  requireText,
} from "../../../xml/read.ts"
import { type AnswerRule, refusedAnswer } from "../upstream/refused-answer.ts"

/** Values that a response must match; `now` is ms UTC. */
export type Expected = {
  /** The provider's. */
  readonly entityId: string
  /** This server's. */
  readonly audience: string
  readonly acs: string
  readonly requestId: string
  readonly now: number
}

type CheckContext = { readonly expected: Expected; readonly reading: MessageReading }

/** Tolerated clock skew. */
const clockSkewMs = 60_000

/** SAML Core §3.2.2 and Bindings §3.5.5.2: a response to our request, sent to this server. */
export function validateResponse(
  response: Element,
  { expected, isSigned, reading }: CheckContext & { readonly isSigned: boolean },
): void {
  const { entityId, acs, requestId, now } = expected
  requireEqual("saml_version", "Version", findAttribute(response, "Version"), "2.0")
  const destination = findAttribute(response, "Destination")
  if (destination !== undefined || isSigned) {
    requireEqual("saml_destination", "Destination", destination, acs)
  }
  // Unsolicited responses are rejected, because an attacker could inject one.
  const inResponseTo = findAttribute(response, "InResponseTo")
  requireEqual("saml_in_response_to", "InResponseTo", inResponseTo, requestId)
  const issuer = findChild(response, ["saml", "Issuer"], reading)
  if (issuer)
    requireEqual("saml_issuer", "Issuer of the response", requireText(issuer, reading), entityId)
  const issueInstant = findAttribute(response, "IssueInstant")
  const issued = parseTime(issueInstant)
  if (issued === undefined || issued > now + clockSkewMs) {
    throw refusedAnswerError(
      "saml_time",
      "IssueInstant",
      issueInstant,
      `${formatTime(now)} or earlier`,
    )
  }
}

type SamlRule = Extract<AnswerRule, `saml_${string}`>

/** Limit of received text that is shown; longer than any valid value. */
const shownMax = 500

/** A rejected value and the expected ones. */
export const refusedAnswerError = (
  rule: SamlRule,
  subject: string,
  received: string | undefined,
  ...expected: readonly string[]
): Error =>
  refusedAnswer({ rule, subject, received: (received ?? "").slice(0, shownMax), expected })

function requireEqual(
  rule: SamlRule,
  subject: string,
  received: string | undefined,
  expected: string,
): void {
  if (received !== expected) throw refusedAnswerError(rule, subject, received, expected)
}

const formatTime = (ms: number): string => new Date(ms).toISOString()

/** The subject of an assertion and its attributes. */
export type Subject = {
  readonly nameId: NameId
  /** Empty if the provider has none. */
  readonly sessionIndex: string
  /** AuthnInstant, ms UTC; undefined if it is not a time. */
  readonly authenticatedAt: number | undefined
  /** Values by attribute name and by friendly name. */
  readonly attributes: Attributes
}

export type Attributes = Readonly<Record<string, readonly string[]>>

/** SAML Core §2.2.3: unmodified, because a logout request must contain exactly this name ID. */
export type NameId = {
  readonly value: string
  readonly format: string
  readonly nameQualifier: string
  readonly spNameQualifier: string
}

/** SAML Profiles §4.1.4.2 and §4.1.4.3: validates the assertion and returns its subject. */
export function parseSubject(assertion: Element, { expected, reading }: CheckContext): Subject {
  const child = (of: Element, name: string) => findChild(of, ["saml", name], reading)
  const version = findAttribute(assertion, "Version")
  requireEqual("saml_version", "Version of the assertion", version, "2.0")
  const issuer = requireText(child(assertion, "Issuer"), reading)
  requireEqual("saml_issuer", "Issuer of the assertion", issuer, expected.entityId)
  const subject = child(assertion, "Subject")
  const refusals = subject ? childrenOf(subject, "saml", "SubjectConfirmation").map(refusalOf) : []
  if (!subject || refusals.every((refusal) => refusal !== undefined)) {
    throw refusals[0] ?? refusedAnswerError("saml_confirmation", "SubjectConfirmation", "", bearer)
  }
  validateConditions(child(assertion, "Conditions"), { expected, reading })
  const nameId = child(subject, "NameID")
  // Encrypted name IDs are not supported.
  if (!nameId) throw refusedAnswerError("saml_name_id", "NameID", "")
  return {
    nameId: parseNameId(nameId, reading),
    ...parseSession(assertion, expected),
    attributes: parseAttributes(assertion),
  }

  /**
   * Returns why a confirmation is invalid. Bearer confirmations have NotOnOrAfter, but no
   * NotBefore.
   */
  function refusalOf(confirmation: Element): Error | undefined {
    const { now, acs, requestId } = expected
    const data = child(confirmation, "SubjectConfirmationData")
    const method = findAttribute(confirmation, "Method")
    if (method !== bearer) return confirmationError("Method", method, bearer)
    const recipient = findAttribute(data, "Recipient")
    if (recipient !== acs) return confirmationError("Recipient", recipient, acs)
    const inResponseTo = findAttribute(data, "InResponseTo")
    if (inResponseTo !== requestId) {
      return confirmationError("InResponseTo", inResponseTo, requestId)
    }
    const begin = findAttribute(data, "NotBefore")
    if (begin !== undefined) return confirmationError("NotBefore", begin)
    const last = findAttribute(data, "NotOnOrAfter")
    const end = parseTime(last)
    if (end !== undefined && now < end + clockSkewMs) return undefined
    return confirmationError("NotOnOrAfter", last, `after ${formatTime(now)}`)
  }
}

const bearer = "urn:oasis:names:tc:SAML:2.0:cm:bearer"

const confirmationError = (
  name: string,
  received: string | undefined,
  ...expected: readonly string[]
) =>
  refusedAnswerError(
    "saml_confirmation",
    `${name} of the SubjectConfirmation`,
    received,
    ...expected,
  )

function parseNameId(nameId: Element, reading: MessageReading): NameId {
  return {
    value: requireText(nameId, reading),
    format: findAttribute(nameId, "Format") ?? nameIdFormats.unspecified,
    nameQualifier: findAttribute(nameId, "NameQualifier") ?? "",
    spNameQualifier: findAttribute(nameId, "SPNameQualifier") ?? "",
  }
}

/** SAML Core §2.5.1: the validity period and the audience. */
function validateConditions(
  conditions: Element | undefined,
  { expected, reading }: CheckContext,
): void {
  const { now, audience } = expected
  if (!conditions) throw refusedAnswerError("saml_audience", "Conditions", "", audience)
  const at = formatTime(now)
  const [begin, end] = ["NotBefore", "NotOnOrAfter"].map((name) => {
    const text = findAttribute(conditions, name)
    const time = parseTime(text)
    if (text !== undefined && time === undefined)
      throw refusedAnswerError("saml_time", name, text, at)
    return { text, time }
  })
  if (begin?.time !== undefined && now + clockSkewMs < begin.time) {
    throw refusedAnswerError("saml_time", "NotBefore", begin.text, `${at} or earlier`)
  }
  if (end?.time !== undefined && now >= end.time + clockSkewMs) {
    throw refusedAnswerError("saml_time", "NotOnOrAfter", end.text, `after ${at}`)
  }
  // §2.5.1.4: all restrictions apply; one matching audience each is sufficient.
  const restrictions = childrenOf(conditions, "saml", "AudienceRestriction")
  const audiences = restrictions.map((restriction) =>
    childrenOf(restriction, "saml", "Audience").map((each) => requireText(each, reading)),
  )
  if (restrictions.length === 0 || !audiences.every((each) => each.includes(audience))) {
    throw refusedAnswerError("saml_audience", "Audience", audiences.flat().join(" "), audience)
  }
}

/** SAML Core §2.7.2: requires an authentication statement whose session has not ended. */
function parseSession(
  assertion: Element,
  { now }: Expected,
): Pick<Subject, "sessionIndex" | "authenticatedAt"> {
  const statements = childrenOf(assertion, "saml", "AuthnStatement")
  const lasting = statements.find((each) => {
    const text = findAttribute(each, "SessionNotOnOrAfter")
    return text === undefined || now < (parseTime(text) ?? 0) + clockSkewMs
  })
  if (!lasting) {
    const ended = findAttribute(statements[0], "SessionNotOnOrAfter")
    throw refusedAnswerError("saml_time", "SessionNotOnOrAfter", ended, `after ${formatTime(now)}`)
  }
  const authenticatedAt = parseTime(findAttribute(lasting, "AuthnInstant"))
  return { sessionIndex: findAttribute(lasting, "SessionIndex") ?? "", authenticatedAt }
}

/** SAML Core §2.7.3; values that are not plain text are ignored. */
function parseAttributes(assertion: Element): Attributes {
  const statements = childrenOf(assertion, "saml", "AttributeStatement")
  const named = new Map<string, readonly string[]>()
  for (const each of statements.flatMap((of) => childrenOf(of, "saml", "Attribute"))) {
    const values = childrenOf(each, "saml", "AttributeValue")
      .filter((value) => elementsIn(value).length === 0)
      .map((value) => directTextOf(value).trim())
    const name = findAttribute(each, "Name")
    if (name !== undefined) named.set(name, [...(named.get(name) ?? []), ...values])
    const friendly = findAttribute(each, "FriendlyName")
    if (friendly !== undefined && !named.has(friendly)) named.set(friendly, values)
  }
  return Object.fromEntries(named)
}
