import { nameIdFormats } from "../../../xml/names.ts"
import {
  attributeOf,
  childOf,
  childrenOf,
  type Element,
  elementsIn,
  type Reading,
  textIn,
  textOf,
  timeOf,
} from "../../../xml/read.ts"
import { type AnswerRule, refusedAnswer } from "../upstream/refused.ts"

/** What an answer must fit; `now` is ms UTC. */
export type Expected = {
  /** Of the provider. */
  readonly entityId: string
  /** Ours. */
  readonly audience: string
  readonly acs: string
  readonly requestId: string
  readonly now: number
}

type Checking = { readonly expected: Expected; readonly reading: Reading }

/** What clocks may differ by. */
const skew = 60_000

/** SAML Core §3.2.2, and Bindings §3.5.5.2: a response to our request, sent to us. */
export function mustBeForUs(
  response: Element,
  { expected, isSigned, reading }: Checking & { readonly isSigned: boolean },
): void {
  const { entityId, acs, requestId, now } = expected
  mustBe("saml_version", "Version", attributeOf(response, "Version"), "2.0")
  const destination = attributeOf(response, "Destination")
  if (destination !== undefined || isSigned) {
    mustBe("saml_destination", "Destination", destination, acs)
  }
  // Whoever was not asked signs nobody in: a response that somebody planted would.
  const inResponseTo = attributeOf(response, "InResponseTo")
  mustBe("saml_in_response_to", "InResponseTo", inResponseTo, requestId)
  const issuer = childOf(response, ["saml", "Issuer"], reading)
  if (issuer) mustBe("saml_issuer", "Issuer of the response", textOf(issuer, reading), entityId)
  const issueInstant = attributeOf(response, "IssueInstant")
  const issued = timeOf(issueInstant)
  if (issued === undefined || issued > now + skew) {
    throw refused("saml_time", "IssueInstant", issueInstant, `${timeText(now)} or earlier`)
  }
}

type SamlRule = Extract<AnswerRule, `saml_${string}`>

/** Characters of what was sent that are shown: all that one compares has fewer. */
const shownMax = 500

/** What breaks a rule, with the value that was sent and the one that fits. */
export const refused = (
  rule: SamlRule,
  subject: string,
  received: string | undefined,
  ...expected: readonly string[]
): Error =>
  refusedAnswer({ rule, subject, received: (received ?? "").slice(0, shownMax), expected })

function mustBe(
  rule: SamlRule,
  subject: string,
  received: string | undefined,
  expected: string,
): void {
  if (received !== expected) throw refused(rule, subject, received, expected)
}

const timeText = (ms: number): string => new Date(ms).toISOString()

/** Whom an assertion is about, and what is said of them. */
export type Subject = {
  readonly nameId: NameId
  /** Empty where the provider has none. */
  readonly sessionIndex: string
  /** AuthnInstant, ms UTC; undefined where it is no time. */
  readonly authenticatedAt: number | undefined
  /** Values by the name of the attribute, and by its friendly name. */
  readonly attributes: Attributes
}

export type Attributes = Readonly<Record<string, readonly string[]>>

/** SAML Core §2.2.3, as it was said: the end of the session is told with exactly this. */
export type NameId = {
  readonly value: string
  readonly format: string
  readonly nameQualifier: string
  readonly spNameQualifier: string
}

/** SAML Profiles §4.1.4.2 and §4.1.4.3: who it is, where everything about the assertion fits. */
export function subjectOf(assertion: Element, { expected, reading }: Checking): Subject {
  const child = (of: Element, name: string) => childOf(of, ["saml", name], reading)
  const version = attributeOf(assertion, "Version")
  mustBe("saml_version", "Version of the assertion", version, "2.0")
  const issuer = textOf(child(assertion, "Issuer"), reading)
  mustBe("saml_issuer", "Issuer of the assertion", issuer, expected.entityId)
  const subject = child(assertion, "Subject")
  const refusals = subject ? childrenOf(subject, "saml", "SubjectConfirmation").map(refusalOf) : []
  if (!subject || refusals.every((refusal) => refusal !== undefined)) {
    throw refusals[0] ?? refused("saml_confirmation", "SubjectConfirmation", "", bearer)
  }
  mustHold(child(assertion, "Conditions"), { expected, reading })
  const nameId = child(subject, "NameID")
  // One that is encrypted is not read.
  if (!nameId) throw refused("saml_name_id", "NameID", "")
  return {
    nameId: nameIdOf(nameId, reading),
    ...sessionIn(assertion, expected),
    attributes: attributesOf(assertion),
  }

  /** Why a confirmation confirms nothing. A bearer confirmation has an end, and no beginning. */
  function refusalOf(confirmation: Element): Error | undefined {
    const { now, acs, requestId } = expected
    const data = child(confirmation, "SubjectConfirmationData")
    const method = attributeOf(confirmation, "Method")
    if (method !== bearer) return refusedConfirmation("Method", method, bearer)
    const recipient = attributeOf(data, "Recipient")
    if (recipient !== acs) return refusedConfirmation("Recipient", recipient, acs)
    const inResponseTo = attributeOf(data, "InResponseTo")
    if (inResponseTo !== requestId) {
      return refusedConfirmation("InResponseTo", inResponseTo, requestId)
    }
    const begin = attributeOf(data, "NotBefore")
    if (begin !== undefined) return refusedConfirmation("NotBefore", begin)
    const last = attributeOf(data, "NotOnOrAfter")
    const end = timeOf(last)
    if (end !== undefined && now < end + skew) return undefined
    return refusedConfirmation("NotOnOrAfter", last, `after ${timeText(now)}`)
  }
}

const bearer = "urn:oasis:names:tc:SAML:2.0:cm:bearer"

const refusedConfirmation = (
  name: string,
  received: string | undefined,
  ...expected: readonly string[]
) => refused("saml_confirmation", `${name} of the SubjectConfirmation`, received, ...expected)

function nameIdOf(nameId: Element, reading: Reading): NameId {
  return {
    value: textOf(nameId, reading),
    format: attributeOf(nameId, "Format") ?? nameIdFormats.unspecified,
    nameQualifier: attributeOf(nameId, "NameQualifier") ?? "",
    spNameQualifier: attributeOf(nameId, "SPNameQualifier") ?? "",
  }
}

/** SAML Core §2.5.1: within its time, and for nobody but us. */
function mustHold(conditions: Element | undefined, { expected, reading }: Checking): void {
  const { now, audience } = expected
  if (!conditions) throw refused("saml_audience", "Conditions", "", audience)
  const at = timeText(now)
  const [begin, end] = ["NotBefore", "NotOnOrAfter"].map((name) => {
    const text = attributeOf(conditions, name)
    const time = timeOf(text)
    if (text !== undefined && time === undefined) throw refused("saml_time", name, text, at)
    return { text, time }
  })
  if (begin?.time !== undefined && now + skew < begin.time) {
    throw refused("saml_time", "NotBefore", begin.text, `${at} or earlier`)
  }
  if (end?.time !== undefined && now >= end.time + skew) {
    throw refused("saml_time", "NotOnOrAfter", end.text, `after ${at}`)
  }
  // §2.5.1.4: each restriction holds, and any of its audiences will do.
  const restrictions = childrenOf(conditions, "saml", "AudienceRestriction")
  const audiences = restrictions.map((restriction) =>
    childrenOf(restriction, "saml", "Audience").map((each) => textOf(each, reading)),
  )
  if (restrictions.length === 0 || !audiences.every((each) => each.includes(audience))) {
    throw refused("saml_audience", "Audience", audiences.flat().join(" "), audience)
  }
}

/** SAML Core §2.7.2: that somebody has signed in, which must go on still. */
function sessionIn(
  assertion: Element,
  { now }: Expected,
): Pick<Subject, "sessionIndex" | "authenticatedAt"> {
  const statements = childrenOf(assertion, "saml", "AuthnStatement")
  const lasting = statements.find((each) => {
    const text = attributeOf(each, "SessionNotOnOrAfter")
    return text === undefined || now < (timeOf(text) ?? 0) + skew
  })
  if (!lasting) {
    const ended = attributeOf(statements[0], "SessionNotOnOrAfter")
    throw refused("saml_time", "SessionNotOnOrAfter", ended, `after ${timeText(now)}`)
  }
  const authenticatedAt = timeOf(attributeOf(lasting, "AuthnInstant"))
  return { sessionIndex: attributeOf(lasting, "SessionIndex") ?? "", authenticatedAt }
}

/** SAML Core §2.7.3; values that are more than a text are left out. */
function attributesOf(assertion: Element): Attributes {
  const statements = childrenOf(assertion, "saml", "AttributeStatement")
  const named = new Map<string, readonly string[]>()
  for (const each of statements.flatMap((of) => childrenOf(of, "saml", "Attribute"))) {
    const values = childrenOf(each, "saml", "AttributeValue")
      .filter((value) => elementsIn(value).length === 0)
      .map((value) => textIn(value).trim())
    const name = attributeOf(each, "Name")
    if (name !== undefined) named.set(name, [...(named.get(name) ?? []), ...values])
    const friendly = attributeOf(each, "FriendlyName")
    if (friendly !== undefined && !named.has(friendly)) named.set(friendly, values)
  }
  return Object.fromEntries(named)
}
