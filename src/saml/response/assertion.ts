import { formatTime } from "../../xml/read.ts"
import { element, type XmlNode } from "../../xml/write.ts"
import type { ResponseTarget } from "../request/response-target.ts"
import type { Attribute } from "./attributes.ts"

const minuteMs = 60_000

/** The content of an assertion. Times are ms UTC. */
export type AssertionContent = {
  readonly id: string
  readonly issuer: string
  readonly now: number
  readonly nameId: XmlNode
  readonly sessionId: string
  readonly authTime: number
  readonly sessionEnds: number
  readonly context: string
  /** The attributes of the user. */
  readonly attributes: readonly Attribute[]
}

/**
 * SAML Core §2.3.3 and Profiles §4.1.4.2: for one audience, at one endpoint, valid for five
 * minutes.
 */
export function buildAssertion(statement: AssertionContent, target: ResponseTarget): XmlNode {
  const { id, issuer, now, nameId } = statement
  const until = formatTime(now + 5 * minuteMs)
  const confirmation = element("saml:SubjectConfirmationData", {
    InResponseTo: target.requestId,
    NotOnOrAfter: until,
    Recipient: target.url,
  })
  return element(
    "saml:Assertion",
    { ID: id, IssueInstant: formatTime(now), Version: "2.0" },
    element("saml:Issuer", {}, issuer),
    element(
      "saml:Subject",
      {},
      nameId,
      element(
        "saml:SubjectConfirmation",
        { Method: "urn:oasis:names:tc:SAML:2.0:cm:bearer" },
        confirmation,
      ),
    ),
    element(
      "saml:Conditions",
      // Tolerates clocks that are slow.
      { NotBefore: formatTime(now - minuteMs), NotOnOrAfter: until },
      element("saml:AudienceRestriction", {}, element("saml:Audience", {}, target.entityId)),
    ),
    buildAuthnStatement(statement),
    element("saml:AttributeStatement", {}, ...buildAttributes(statement)),
  )
}

/** SAML Core §2.7.2. */
const buildAuthnStatement = ({
  authTime,
  sessionId,
  sessionEnds,
  context,
}: AssertionContent): XmlNode =>
  element(
    "saml:AuthnStatement",
    {
      AuthnInstant: formatTime(authTime),
      SessionIndex: sessionId,
      SessionNotOnOrAfter: formatTime(sessionEnds),
    },
    element("saml:AuthnContext", {}, element("saml:AuthnContextClassRef", {}, context)),
  )

/** SAML Core §2.7.3. */
const buildAttributes = (statement: AssertionContent): readonly XmlNode[] =>
  statement.attributes.map(({ name, format, friendlyName, values }) =>
    element(
      "saml:Attribute",
      { FriendlyName: friendlyName, Name: name, NameFormat: format || basicFormat },
      ...values.map((value) => element("saml:AttributeValue", {}, value)),
    ),
  )

const basicFormat = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic"
