import { nameIdFormats } from "../../../xml/names.ts"
import type { OwnedIdp } from "../commands.ts"
import { type ProviderAnswer, upstreamError } from "../upstream/identity.ts"
import { oidcProfile } from "../upstream/profile.ts"
import type { Attributes, Subject } from "./assertion.ts"
import { samlOf } from "./refresh.ts"

const oidPrefix = "urn:oid:"
const claimPrefix = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"

/**
 * Attribute names for each profile field: those of this server's own assertions, of LDAP and its
 * X.500 names (RFC 4524, the SAML attribute profile of MACE-Dir), of Active Directory and of OpenID
 * Connect. The first attribute with a value is used.
 */
const attributeNames = {
  preferred_username: [
    "UserName",
    "username",
    "preferred_username",
    "uid",
    `${oidPrefix}0.9.2342.19200300.100.1.1`,
    "eduPersonPrincipalName",
    `${oidPrefix}1.3.6.1.4.1.5923.1.1.1.6`,
    `${claimPrefix}upn`,
    `${claimPrefix}name`,
  ],
  given_name: [
    "FirstName",
    "givenName",
    "given_name",
    `${oidPrefix}2.5.4.42`,
    `${claimPrefix}givenname`,
  ],
  family_name: [
    "SurName",
    "LastName",
    "sn",
    "family_name",
    `${oidPrefix}2.5.4.4`,
    `${claimPrefix}surname`,
  ],
  name: [
    "FullName",
    "displayName",
    `${oidPrefix}2.16.840.1.113730.3.1.241`,
    "cn",
    `${oidPrefix}2.5.4.3`,
    "http://schemas.microsoft.com/identity/claims/displayname",
  ],
  nickname: ["nickname"],
  email: [
    "Email",
    "mail",
    "emailAddress",
    `${oidPrefix}0.9.2342.19200300.100.1.3`,
    `${claimPrefix}emailaddress`,
  ],
  // Not standardized: the provider must be configured to send it if users are to be linked by email
  // address.
  email_verified: ["email_verified", "emailVerified"],
  phone_number: ["mobile", `${oidPrefix}0.9.2342.19200300.100.1.41`, "phone_number"],
  locale: ["preferredLanguage", `${oidPrefix}2.16.840.1.113730.3.1.39`, "locale"],
} as const

/** The identity of a subject, from its name ID and attributes. */
export function samlIdentity(
  ownedIdp: OwnedIdp,
  subject: Subject,
  assertion: string,
): ProviderAnswer {
  const { nameId, attributes, sessionIndex, authenticatedAt } = subject
  const first = firstValueOf(attributes)
  const isAddress = nameId.format === nameIdFormats.email
  const claims = Object.fromEntries(
    Object.entries(attributeNames).map(([claim, candidates]) => [claim, first(candidates)]),
  )
  const email = claims.email || (isAddress ? nameId.value : "")
  const identity = oidcProfile({ ...claims, email, sub: userIdOf(ownedIdp, subject) })
  const raw = { id: nameId.value, format: nameId.format, attributes }
  const upstream = { ...nameId, sessionIndex }
  const stated = authenticatedAt !== undefined && { authenticatedAt }
  return { identity, raw, accessToken: "", idToken: "", assertion, upstream, ...stated }
}

/**
 * SAML Core §8.3.8: transient name IDs change with each sign-in, so an attribute identifies the
 * user.
 */
function userIdOf(ownedIdp: OwnedIdp, { nameId, attributes }: Subject): string {
  const { transientAttribute } = samlOf(ownedIdp)
  if (nameId.format !== nameIdFormats.transient) return nameId.value
  const values = Object.hasOwn(attributes, transientAttribute) ? attributes[transientAttribute] : []
  const [only, ...others] = values ?? []
  if (only !== undefined && only !== "" && others.length === 0) return only
  throw upstreamError(
    "claims_missing",
    "a transient name ID without an attribute that identifies the user",
  )
}

/** Returns the first value of the first matching name, ignoring case. */
function firstValueOf(attributes: Attributes): (candidates: readonly string[]) => string {
  const folded = new Map(
    Object.entries(attributes).map(([name, [value]]) => [name.toLowerCase(), value ?? ""]),
  )
  return (candidates) =>
    candidates.map((name) => folded.get(name.toLowerCase()) ?? "").find((value) => value !== "") ??
    ""
}
