import type { Person, Read } from "../person.ts"
import { entryError } from "./entry.ts"

/** A column of a CSV file of people: what it is named, and what it says. */
type Column = {
  /** The first is what an export writes; others are understood. Letters and digits count alone. */
  readonly names: readonly string[]
  readonly write: (person: Person) => string
  readonly read: (text: string) => Partial<Read>
}

const plain = (
  field: "id" | "userName" | "givenName" | "familyName" | "displayName" | "nickName" | "language",
  ...names: readonly string[]
): Column => ({
  names,
  write: (person) => person[field],
  read: (text) => ({ [field]: text.trim() }),
})

const secret = (field: "hash" | "totp", ...names: readonly string[]): Column => ({
  names,
  write: (person) => person[field],
  read: (text) => ({ [field]: text.trim() }),
})

const list = (field: "groups" | "roles", name: string): Column => ({
  names: [name],
  write: (person) => joined(person[field]),
  read: (text) => ({ [field]: parted(text) }),
})

export const columns: readonly Column[] = [
  plain("id", "id"),
  plain("userName", "user name", "login", "login name"),
  plain("givenName", "first name", "given name"),
  plain("familyName", "last name", "family name", "surname"),
  plain("displayName", "display name", "name", "full name"),
  plain("nickName", "nickname"),
  plain("language", "language", "locale"),
  {
    names: ["gender"],
    write: ({ gender }) => (gender === "unspecified" ? "" : gender),
    read: (text) => (text.trim() === "" ? {} : { gender: oneOf(genders, "gender", text) }),
  },
  {
    names: ["email", "e-mail address", "mail"],
    write: ({ email }) => email?.value ?? "",
    read: (text) => (text.trim() === "" ? {} : { email: { value: text.trim(), verified: false } }),
  },
  {
    names: ["email verified"],
    write: ({ email }) => yesNo(email?.verified ?? false),
    read: () => ({}),
  },
  {
    names: ["phone", "phone number", "mobile"],
    write: ({ phone }) => phone?.value ?? "",
    read: (text) => (text.trim() === "" ? {} : { phone: { value: text.trim(), verified: false } }),
  },
  {
    names: ["phone verified"],
    write: ({ phone }) => yesNo(phone?.verified ?? false),
    read: () => ({}),
  },
  secret("hash", "password hash", "hash"),
  {
    names: ["change password"],
    write: ({ changePassword }) => yesNo(changePassword),
    read: (text) => ({ changePassword: isYes("change password", text) }),
  },
  secret("totp", "authenticator secret", "totp", "otp"),
  {
    names: ["state"],
    write: ({ state }) => state,
    read: (text) => (text.trim() === "" ? {} : { state: oneOf(states, "state", text) }),
  },
  list("groups", "groups"),
  list("roles", "roles"),
  {
    names: ["links"],
    write: ({ links }) =>
      joined(links.map((each) => [each.provider, each.externalId, each.name].map(coded).join("/"))),
    read: (text) => ({ links: parted(text).map(linkOf) }),
  },
]

/** Before the key of what is noted about a person: "metadata department". */
export const notedBefore = "metadata "

const states = ["active", "inactive", "locked"] as const
const genders = ["unspecified", "female", "male", "diverse"] as const

function oneOf<T extends string>(known: readonly T[], name: string, text: string): T {
  const found = known.find((each) => each === text.trim().toLowerCase())
  if (found === undefined) throw entryError(`${name} must be one of ${known.join(", ")}`)
  return found
}

const yesNo = (is: boolean): string => (is ? "yes" : "no")

/** Yes or no, as people and spreadsheets write it. */
export function isYes(name: string, text: string): boolean {
  const word = text.trim().toLowerCase()
  if (["yes", "true", "1"].includes(word)) return true
  if (["", "no", "false", "0"].includes(word)) return false
  throw entryError(`${name} must be yes or no`)
}

/** Several texts in one field: parted by "|", which in a text itself has a "\" before it. */
const joined = (texts: readonly string[]): string =>
  texts.map((text) => text.replace(/[\\|]/g, "\\$&")).join("|")

const parted = (text: string): string[] =>
  (text.match(/(?:\\.|[^|\\])+/gsu) ?? []).map((each) => each.replace(/\\(.)/gsu, "$1").trim())

const coded = (text: string): string => encodeURIComponent(text)

function linkOf(text: string): { provider: string; externalId: string; name: string } {
  const [provider, externalId, name] = text.split("/")
  if (!provider || !externalId) throw entryError("links must be PROVIDER/ID or PROVIDER/ID/NAME")
  return {
    provider: plainOf(provider),
    externalId: plainOf(externalId),
    name: plainOf(name ?? externalId),
  }
}

function plainOf(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    if (cause instanceof URIError) throw entryError('links must have "%25" for each "%"')
    throw cause
  }
}
