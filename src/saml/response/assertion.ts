import { timeText } from "../../xml/read.ts"
import { element, type Written } from "../../xml/write.ts"
import type { Back } from "../request/back.ts"
import type { Attribute } from "./attributes.ts"

const minute = 60_000

/** What an assertion says of somebody. Times are ms UTC. */
export type Statement = {
  readonly id: string
  readonly issuer: string
  readonly now: number
  readonly nameId: Written
  readonly sessionId: string
  readonly authTime: number
  readonly sessionEnds: number
  readonly context: string
  /** What is said of them. */
  readonly attributes: readonly Attribute[]
}

/** SAML Core §2.3.3 and Profiles §4.1.4.2: for one reader, at one address, for five minutes. */
export function assertionOf(statement: Statement, back: Back): Written {
  const { id, issuer, now, nameId } = statement
  const until = timeText(now + 5 * minute)
  const confirmation = element("saml:SubjectConfirmationData", {
    InResponseTo: back.requestId,
    NotOnOrAfter: until,
    Recipient: back.url,
  })
  return element(
    "saml:Assertion",
    { ID: id, IssueInstant: timeText(now), Version: "2.0" },
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
      // For clocks that are late.
      { NotBefore: timeText(now - minute), NotOnOrAfter: until },
      element("saml:AudienceRestriction", {}, element("saml:Audience", {}, back.entityId)),
    ),
    authnStatement(statement),
    element("saml:AttributeStatement", {}, ...attributesOf(statement)),
  )
}

/** SAML Core §2.7.2. */
const authnStatement = ({ authTime, sessionId, sessionEnds, context }: Statement): Written =>
  element(
    "saml:AuthnStatement",
    {
      AuthnInstant: timeText(authTime),
      SessionIndex: sessionId,
      SessionNotOnOrAfter: timeText(sessionEnds),
    },
    element("saml:AuthnContext", {}, element("saml:AuthnContextClassRef", {}, context)),
  )

/** SAML Core §2.7.3. */
const attributesOf = (statement: Statement): readonly Written[] =>
  statement.attributes.map(({ name, format, friendlyName, values }) =>
    element(
      "saml:Attribute",
      { FriendlyName: friendlyName, Name: name, NameFormat: format || basicFormat },
      ...values.map((value) => element("saml:AttributeValue", {}, value)),
    ),
  )

const basicFormat = "urn:oasis:names:tc:SAML:2.0:attrname-format:basic"
