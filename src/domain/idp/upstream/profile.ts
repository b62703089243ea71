import type { DirectoryAttributes, Options } from "../model.ts"
import { type Identity, upstreamError } from "./identity.ts"

export type RawProfile = Readonly<Record<string, unknown>>

/** Parses the profile of a user. Throws if it contains no user ID. */
export type ParseProfile = (raw: RawProfile) => Identity

/** OpenID Connect Core §5.1, standard claims. */
export const oidcProfile: ParseProfile = (raw) =>
  withNameParts(parseIdentity(raw, getText(raw, "sub")))

/** The closest fields to OpenID Connect's, with a configurable field for the user ID. */
export const oauthProfile =
  (idAttribute: string): ParseProfile =>
  (raw) =>
    withNameParts(parseIdentity(raw, getText(raw, idAttribute)))

/**
 * Some providers send a full name only, so the parts are guessed; they are used to create accounts,
 * but never replace what users enter later.
 */
function withNameParts(identity: Identity): Identity {
  const { givenName, familyName, displayName } = identity
  const isWhole = givenName !== "" || familyName !== "" || displayName === ""
  return isWhole ? identity : { ...identity, ...splitName(displayName), isNameDivided: true }
}

/** docs.gitlab.com/integration/openid_connect_provider: the profile has a full name only. */
export const gitlabProfile: ParseProfile = (raw) => {
  const { isNameDivided: _, ...identity } = oidcProfile(raw)
  return identity
}

/**
 * developers.google.com/identity/gsi/web/guides/verify-google-id-token: Google is authoritative
 * only for addresses that it hosts. Other addresses were verified once, possibly long ago.
 */
export const googleProfile: ParseProfile = (raw) => {
  const identity = oidcProfile(raw)
  const isHosted = getText(raw, "hd") !== "" || /@gmail\.com$/i.test(identity.email)
  return { ...identity, emailVerified: identity.emailVerified && isHosted }
}

/** learn.microsoft.com/graph/api/resources/user */
export const azureProfile =
  (isEmailVerified: boolean): ParseProfile =>
  (raw) => {
    const email = getText(raw, "mail") || emailLike(getText(raw, "userPrincipalName"))
    return {
      ...parseIdentity({}, getText(raw, "id")),
      userName: getText(raw, "userPrincipalName"),
      givenName: getText(raw, "givenName"),
      familyName: getText(raw, "surname"),
      displayName: getText(raw, "displayName"),
      email,
      emailVerified: isEmailVerified && email !== "",
      preferredLanguage: parseLanguage(getText(raw, "preferredLanguage")),
    }
  }

/** docs.github.com/rest/users: the profile address can be private; the list has all addresses. */
export const githubProfile: ParseProfile = (raw) => {
  const name = getText(raw, "name")
  const primary = getList(raw, "emails").find((each) => each.primary === true)
  return {
    ...parseIdentity({}, getText(raw, "id")),
    userName: getText(raw, "login"),
    ...splitName(name),
    displayName: name,
    nickName: getText(raw, "login"),
    email: primary ? getText(primary, "email") : getText(raw, "email"),
    emailVerified: primary?.verified === true,
  }
}

/** Splits a name in the most common order; users can correct it. */
function splitName(name: string): Pick<Identity, "givenName" | "familyName"> {
  const [givenName = "", ...rest] = name.split(/\s+/)
  return { givenName, familyName: rest.join(" ") }
}

/**
 * The attribute of the stable user ID: the configured one, otherwise entryUUID (RFC 4530) or
 * objectGUID of Active Directory.
 */
export const directoryIds = ({ id }: DirectoryAttributes): readonly string[] =>
  id === "" ? ["entryUUID", "objectGUID"] : [id]

/**
 * Parses a directory entry by the configured attributes; the first value of each is used. Only
 * "TRUE" means verified (RFC 4517 §3.3.3), unless all addresses of the directory are trusted.
 */
export const directoryProfile =
  (attributes: DirectoryAttributes, { trustDirectoryAddresses: isTrusted = false }: Options) =>
  (values: Readonly<Record<string, readonly string[]>>): Identity => {
    const first = (name: string) => values[name.toLowerCase()]?.[0]
    const isSaid = (name: string) => first(name)?.toLowerCase() === "true"
    const sub = directoryIds(attributes)
      .map(first)
      .find((each) => each !== undefined)
    const raw = {
      sub,
      preferred_username: first(attributes.userName),
      given_name: first(attributes.givenName),
      family_name: first(attributes.familyName),
      name: first(attributes.displayName),
      nickname: first(attributes.nickName),
      email: first(attributes.email),
      email_verified: isTrusted || isSaid(attributes.emailVerified),
      phone_number: first(attributes.phone),
      phone_number_verified: isTrusted || isSaid(attributes.phoneVerified),
      locale: first(attributes.preferredLanguage),
    }
    return oidcProfile(raw)
  }

function parseIdentity(raw: RawProfile, externalId: string): Identity {
  if (externalId === "" || externalId.length > 500) throw upstreamError("claims_missing")
  const email = getText(raw, "email")
  const phone = getText(raw, "phone_number")
  return {
    externalId,
    userName: getText(raw, "preferred_username") || email,
    givenName: getText(raw, "given_name"),
    familyName: getText(raw, "family_name"),
    displayName: getText(raw, "name"),
    nickName: getText(raw, "nickname"),
    email,
    emailVerified: email !== "" && isTrue(raw.email_verified),
    phone,
    phoneVerified: phone !== "" && isTrue(raw.phone_number_verified),
    preferredLanguage: parseLanguage(getText(raw, "locale")),
  }
}

/** Some providers send text; no other value is accepted. */
const isTrue = (value: unknown): boolean => value === true || value === "true"

/**
 * A single line of text; numbers are accepted for legacy IDs. Longer values than any real name are
 * ignored.
 */
function getText(raw: RawProfile, name: string): string {
  const value = Object.hasOwn(raw, name) ? raw[name] : undefined
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value)
  if (typeof value !== "string" || value.length > 500) return ""
  return value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").trim()
}

/**
 * Names of guest users contain their home address and only look like addresses; they are ignored.
 */
const emailLike = (name: string): string =>
  /^[^@\s]+@[^@\s]+$/.test(name) && !name.includes("#EXT#") ? name : ""

const parseLanguage = (tag: string): string =>
  /^[a-z]{2,3}(?=[-_]|$)/i.exec(tag)?.[0].toLowerCase() ?? ""

const isObject = (value: unknown): value is RawProfile =>
  typeof value === "object" && value !== null && !Array.isArray(value)

function getList(raw: RawProfile, name: string): readonly RawProfile[] {
  const value = raw[name]
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Returns the response as an object. Throws if it is anything else. */
export function requireObject(value: unknown): RawProfile {
  if (isObject(value)) return value
  throw upstreamError("answer_refused")
}
