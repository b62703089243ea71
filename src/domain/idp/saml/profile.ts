import { nameIdFormats } from "../../../xml/names.ts"
import type { Found } from "../commands.ts"
import { oidcProfile } from "../upstream/dialect.ts"
import { type Answer, upstreamError } from "../upstream/identity.ts"
import type { Attributes, Subject } from "./assertion.ts"
import { samlOf } from "./known.ts"

const oid = "urn:oid:"
const claims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"

/**
 * What attributes are called that say what a profile has: those of our own assertions, of LDAP and
 * its X.500 names (RFC 4524, the SAML attribute profile of MACE-Dir), of Active Directory, and of
 * OpenID Connect. The first one that says something counts.
 */
const names = {
  preferred_username: [
    "UserName",
    "username",
    "preferred_username",
    "uid",
    `${oid}0.9.2342.19200300.100.1.1`,
    "eduPersonPrincipalName",
    `${oid}1.3.6.1.4.1.5923.1.1.1.6`,
    `${claims}upn`,
    `${claims}name`,
  ],
  given_name: ["FirstName", "givenName", "given_name", `${oid}2.5.4.42`, `${claims}givenname`],
  family_name: ["SurName", "LastName", "sn", "family_name", `${oid}2.5.4.4`, `${claims}surname`],
  name: [
    "FullName",
    "displayName",
    `${oid}2.16.840.1.113730.3.1.241`,
    "cn",
    `${oid}2.5.4.3`,
    "http://schemas.microsoft.com/identity/claims/displayname",
  ],
  nickname: ["nickname"],
  email: [
    "Email",
    "mail",
    "emailAddress",
    `${oid}0.9.2342.19200300.100.1.3`,
    `${claims}emailaddress`,
  ],
  // No standard has it: who wants people linked by their address has their provider say so.
  email_verified: ["email_verified", "emailVerified"],
  phone_number: ["mobile", `${oid}0.9.2342.19200300.100.1.41`, "phone_number"],
  locale: ["preferredLanguage", `${oid}2.16.840.1.113730.3.1.39`, "locale"],
} as const

/** Who a subject is, and what is known of them. */
export function samlIdentity(found: Found, subject: Subject, assertion: string): Answer {
  const { nameId, attributes, sessionIndex, authenticatedAt } = subject
  const first = firstOf(attributes)
  const isAddress = nameId.format === nameIdFormats.email
  const said = Object.fromEntries(
    Object.entries(names).map(([claim, known]) => [claim, first(known)]),
  )
  const email = said.email || (isAddress ? nameId.value : "")
  const identity = oidcProfile({ ...said, email, sub: idOf(found, subject) })
  const raw = { id: nameId.value, format: nameId.format, attributes }
  const upstream = { ...nameId, sessionIndex }
  const stated = authenticatedAt !== undefined && { authenticatedAt }
  return { identity, raw, accessToken: "", idToken: "", assertion, upstream, ...stated }
}

/** SAML Core §8.3.8: a transient name is another one each time: an attribute says who it is. */
function idOf(found: Found, { nameId, attributes }: Subject): string {
  const { transientAttribute } = samlOf(found)
  if (nameId.format !== nameIdFormats.transient) return nameId.value
  const values = Object.hasOwn(attributes, transientAttribute) ? attributes[transientAttribute] : []
  const [only, ...others] = values ?? []
  if (only !== undefined && only !== "" && others.length === 0) return only
  throw upstreamError("claims_missing", "a transient name, and no attribute that says who it is")
}

/** The first value of the first of some names; capitals don't count. */
function firstOf(attributes: Attributes): (known: readonly string[]) => string {
  const folded = new Map(
    Object.entries(attributes).map(([name, [value]]) => [name.toLowerCase(), value ?? ""]),
  )
  return (known) =>
    known.map((name) => folded.get(name.toLowerCase()) ?? "").find((value) => value !== "") ?? ""
}
