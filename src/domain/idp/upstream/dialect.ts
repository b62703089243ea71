import type { DirectoryAttributes, Options } from "../model.ts"
import { type Identity, upstreamError } from "./identity.ts"

export type Raw = Readonly<Record<string, unknown>>

/** Reads what a provider says of somebody; throws where it doesn't say who it is. */
export type ReadProfile = (raw: Raw) => Identity

/** OpenID Connect Core §5.1, standard claims. */
export const oidcProfile: ReadProfile = (raw) => withParts(identityOf(raw, text(raw, "sub")))

/** What is nearest to OpenID Connect's names, with the field that the provider is known by. */
export const oauthProfile =
  (idAttribute: string): ReadProfile =>
  (raw) =>
    withParts(identityOf(raw, text(raw, idAttribute)))

/**
 * Some providers send one name, where others send its parts, too. The parts are a guess: an account
 * is created with them, and what its user enters afterwards stays.
 */
function withParts(identity: Identity): Identity {
  const { givenName, familyName, displayName } = identity
  const isWhole = givenName !== "" || familyName !== "" || displayName === ""
  return isWhole ? identity : { ...identity, ...partsOf(displayName), isNameDivided: true }
}

/** docs.gitlab.com/integration/openid_connect_provider: the profile has one name. */
export const gitlabProfile: ReadProfile = (raw) => {
  const { isNameDivided: _, ...identity } = oidcProfile(raw)
  return identity
}

/**
 * developers.google.com/identity/gsi/web/guides/verify-google-id-token: Google speaks for addresses
 * that it hosts. Of others somebody has shown once that they read them, which may be long ago.
 */
export const googleProfile: ReadProfile = (raw) => {
  const identity = oidcProfile(raw)
  const isHosted = text(raw, "hd") !== "" || /@gmail\.com$/i.test(identity.email)
  return { ...identity, emailVerified: identity.emailVerified && isHosted }
}

/** learn.microsoft.com/graph/api/resources/user */
export const azureProfile =
  (isEmailVerified: boolean): ReadProfile =>
  (raw) => {
    const email = text(raw, "mail") || mailLike(text(raw, "userPrincipalName"))
    return {
      ...identityOf({}, text(raw, "id")),
      userName: text(raw, "userPrincipalName"),
      givenName: text(raw, "givenName"),
      familyName: text(raw, "surname"),
      displayName: text(raw, "displayName"),
      email,
      emailVerified: isEmailVerified && email !== "",
      preferredLanguage: languageOf(text(raw, "preferredLanguage")),
    }
  }

/** docs.github.com/rest/users: the address of the profile may be private, the list has them all. */
export const githubProfile: ReadProfile = (raw) => {
  const name = text(raw, "name")
  const primary = listIn(raw, "emails").find((each) => each.primary === true)
  return {
    ...identityOf({}, text(raw, "id")),
    userName: text(raw, "login"),
    ...partsOf(name),
    displayName: name,
    nickName: text(raw, "login"),
    email: primary ? text(primary, "email") : text(raw, "email"),
    emailVerified: primary?.verified === true,
  }
}

/** The parts of a name, as most write theirs; people mend it where that is wrong. */
function partsOf(name: string): Pick<Identity, "givenName" | "familyName"> {
  const [givenName = "", ...rest] = name.split(/\s+/)
  return { givenName, familyName: rest.join(" ") }
}

/**
 * What never changes of an entry and is no other's: where nobody says it, what directories have for
 * that (RFC 4530), and Active Directory has instead.
 */
export const directoryIds = ({ id }: DirectoryAttributes): readonly string[] =>
  id === "" ? ["entryUUID", "objectGUID"] : [id]

/**
 * An entry of a directory, by the attributes that were named for it; of several values the first
 * counts. Only "TRUE" says that something is verified (RFC 4517 §3.3.3), unless all addresses of
 * the directory are.
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

function identityOf(raw: Raw, externalId: string): Identity {
  if (externalId === "" || externalId.length > 500) throw upstreamError("claims_missing")
  const email = text(raw, "email")
  const phone = text(raw, "phone_number")
  return {
    externalId,
    userName: text(raw, "preferred_username") || email,
    givenName: text(raw, "given_name"),
    familyName: text(raw, "family_name"),
    displayName: text(raw, "name"),
    nickName: text(raw, "nickname"),
    email,
    emailVerified: email !== "" && isTrue(raw.email_verified),
    phone,
    phoneVerified: phone !== "" && isTrue(raw.phone_number_verified),
    preferredLanguage: languageOf(text(raw, "locale")),
  }
}

/** Some say it as a text; no other value counts, however true it may look. */
const isTrue = (value: unknown): boolean => value === true || value === "true"

/** A text on one line; numbers are ids of old. Longer than any name there is, it counts as none. */
function text(raw: Raw, name: string): string {
  const value = Object.hasOwn(raw, name) ? raw[name] : undefined
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value)
  if (typeof value !== "string" || value.length > 500) return ""
  return value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ").trim()
}

/** Names of guests have their address in them, and look like one of ours: they are none. */
const mailLike = (name: string): string =>
  /^[^@\s]+@[^@\s]+$/.test(name) && !name.includes("#EXT#") ? name : ""

const languageOf = (tag: string): string =>
  /^[a-z]{2,3}(?=[-_]|$)/i.exec(tag)?.[0].toLowerCase() ?? ""

const isRaw = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value)

function listIn(raw: Raw, name: string): readonly Raw[] {
  const value = raw[name]
  return Array.isArray(value) ? value.filter(isRaw) : []
}

/** What a provider has sent as an object; anything else is no profile. */
export function rawOf(value: unknown): Raw {
  if (isRaw(value)) return value
  throw upstreamError("answer_refused")
}
