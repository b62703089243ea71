import { nameIdFormats } from "../../../kernel/saml/names.ts"
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
} from "../../../kernel/saml/read.ts"

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
  if (attributeOf(response, "Version") !== "2.0") throw new Error("Version must be 2.0")
  const destination = attributeOf(response, "Destination")
  if (destination !== undefined ? destination !== acs : isSigned) {
    throw new Error(`Destination must be ${acs}`)
  }
  // Whoever was not asked signs nobody in: a response that somebody planted would.
  if (attributeOf(response, "InResponseTo") !== requestId) {
    throw new Error("InResponseTo must be the ID of our request")
  }
  const issuer = childOf(response, ["saml", "Issuer"], reading)
  if (issuer && textOf(issuer, reading) !== entityId) throw new Error("the Issuer is another one")
  const issued = timeOf(attributeOf(response, "IssueInstant"))
  if (issued === undefined || issued > now + skew) throw new Error("IssueInstant is ahead")
}

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
  if (attributeOf(assertion, "Version") !== "2.0") throw new Error("Version must be 2.0")
  if (textOf(child(assertion, "Issuer"), reading) !== expected.entityId) {
    throw new Error("the Issuer of the assertion is another one")
  }
  const subject = child(assertion, "Subject")
  if (!subject || !childrenOf(subject, "saml", "SubjectConfirmation").some(confirmedBy)) {
    throw new Error("no SubjectConfirmation is for us, now, and for our request")
  }
  mustHold(child(assertion, "Conditions"), { expected, reading })
  const nameId = child(subject, "NameID")
  if (!nameId) throw new Error("there is no NameID; one that is encrypted is not read")
  return {
    nameId: nameIdOf(nameId, reading),
    ...sessionIn(assertion, expected),
    attributes: attributesOf(assertion),
  }

  /** A bearer confirmation has an end, and no beginning. */
  function confirmedBy(confirmation: Element): boolean {
    const { now, acs, requestId } = expected
    const data = child(confirmation, "SubjectConfirmationData")
    const end = timeOf(attributeOf(data, "NotOnOrAfter"))
    return (
      attributeOf(confirmation, "Method") === "urn:oasis:names:tc:SAML:2.0:cm:bearer" &&
      attributeOf(data, "Recipient") === acs &&
      attributeOf(data, "InResponseTo") === requestId &&
      attributeOf(data, "NotBefore") === undefined &&
      end !== undefined &&
      now < end + skew
    )
  }
}

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
  if (!conditions) throw new Error("there are no Conditions")
  const { now, audience } = expected
  const [begin, end] = ["NotBefore", "NotOnOrAfter"].map((name) => {
    const text = attributeOf(conditions, name)
    const time = timeOf(text)
    if (text !== undefined && time === undefined) throw new Error(`${name} is no time`)
    return time
  })
  if (begin !== undefined && now + skew < begin) throw new Error("it is not valid yet")
  if (end !== undefined && now >= end + skew) throw new Error("it is not valid any more")
  // §2.5.1.4: each restriction holds, and any of its audiences will do.
  const restrictions = childrenOf(conditions, "saml", "AudienceRestriction")
  const isForUs = (restriction: Element) =>
    childrenOf(restriction, "saml", "Audience").some((each) => textOf(each, reading) === audience)
  if (restrictions.length === 0 || !restrictions.every(isForUs)) {
    throw new Error(`it must be for the audience ${audience}`)
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
  if (!lasting) throw new Error("there is no AuthnStatement of a session that goes on")
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
