import type { ReadUser, TransferUser } from "../user.ts"
import { entryError } from "./entry.ts"

/** A column of a CSV file of users: its names and its conversion. */
type Column = {
  /**
   * The names of the column. An export writes the first one; an import accepts all. Only letters
   * and digits are compared.
   */
  readonly names: readonly string[]
  readonly write: (person: TransferUser) => string
  readonly read: (text: string) => Partial<ReadUser>
}

const textColumn = (
  field: "id" | "userName" | "givenName" | "familyName" | "displayName" | "nickName" | "language",
  ...names: readonly string[]
): Column => ({
  names,
  write: (person) => person[field],
  read: (text) => ({ [field]: text.trim() }),
})

const secretColumn = (field: "hash" | "totp", ...names: readonly string[]): Column => ({
  names,
  write: (person) => person[field],
  read: (text) => ({ [field]: text.trim() }),
})

const listColumn = (field: "groups" | "roles", name: string): Column => ({
  names: [name],
  write: (person) => joinList(person[field]),
  read: (text) => ({ [field]: splitList(text) }),
})

export const columns: readonly Column[] = [
  textColumn("id", "id"),
  textColumn("userName", "user name", "login", "login name"),
  textColumn("givenName", "first name", "given name"),
  textColumn("familyName", "last name", "family name", "surname"),
  textColumn("displayName", "display name", "name", "full name"),
  textColumn("nickName", "nickname"),
  textColumn("language", "language", "locale"),
  {
    names: ["gender"],
    write: ({ gender }) => (gender === "unspecified" ? "" : gender),
    read: (text) => (text.trim() === "" ? {} : { gender: parseOneOf(genders, "gender", text) }),
  },
  {
    names: ["email", "e-mail address", "mail"],
    write: ({ email }) => email?.value ?? "",
    read: (text) => (text.trim() === "" ? {} : { email: { value: text.trim(), verified: false } }),
  },
  {
    names: ["email verified"],
    write: ({ email }) => formatYesNo(email?.verified ?? false),
    read: () => ({}),
  },
  {
    names: ["phone", "phone number", "mobile"],
    write: ({ phone }) => phone?.value ?? "",
    read: (text) => (text.trim() === "" ? {} : { phone: { value: text.trim(), verified: false } }),
  },
  {
    names: ["phone verified"],
    write: ({ phone }) => formatYesNo(phone?.verified ?? false),
    read: () => ({}),
  },
  secretColumn("hash", "password hash", "hash"),
  {
    names: ["change password"],
    write: ({ changePassword }) => formatYesNo(changePassword),
    read: (text) => ({ changePassword: parseYesNo("change password", text) }),
  },
  secretColumn("totp", "authenticator secret", "totp", "otp"),
  {
    names: ["state"],
    write: ({ state }) => state,
    read: (text) => (text.trim() === "" ? {} : { state: parseOneOf(states, "state", text) }),
  },
  listColumn("groups", "groups"),
  listColumn("roles", "roles"),
  {
    names: ["links"],
    write: ({ links }) =>
      joinList(
        links.map((each) => [each.provider, each.externalId, each.name].map(encodePart).join("/")),
      ),
    read: (text) => ({ links: splitList(text).map(parseLink) }),
  },
]

/** The prefix of metadata columns: "metadata department". */
export const metadataPrefix = "metadata "

const states = ["active", "inactive", "locked"] as const
const genders = ["unspecified", "female", "male", "diverse"] as const

function parseOneOf<T extends string>(allowed: readonly T[], name: string, text: string): T {
  const found = allowed.find((each) => each === text.trim().toLowerCase())
  if (found === undefined) throw entryError(`${name} must be one of: ${allowed.join(", ")}`)
  return found
}

const formatYesNo = (is: boolean): string => (is ? "yes" : "no")

/** Parses yes or no in the spellings of people and spreadsheets. */
export function parseYesNo(name: string, text: string): boolean {
  const word = text.trim().toLowerCase()
  if (["yes", "true", "1"].includes(word)) return true
  if (["", "no", "false", "0"].includes(word)) return false
  throw entryError(`${name} must be yes or no`)
}

/** Several texts in one field, separated by "|"; a "|" within a text is escaped with "\". */
const joinList = (texts: readonly string[]): string =>
  texts.map((text) => text.replace(/[\\|]/g, "\\$&")).join("|")

const splitList = (text: string): string[] =>
  (text.match(/(?:\\.|[^|\\])+/gsu) ?? []).map((each) => each.replace(/\\(.)/gsu, "$1").trim())

const encodePart = (text: string): string => encodeURIComponent(text)

function parseLink(text: string): { provider: string; externalId: string; name: string } {
  const [provider, externalId, name] = text.split("/")
  if (!provider || !externalId)
    throw entryError("links must have the form PROVIDER/ID or PROVIDER/ID/NAME")
  return {
    provider: decodePart(provider),
    externalId: decodePart(externalId),
    name: decodePart(name ?? externalId),
  }
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    if (cause instanceof URIError) throw entryError('links must encode "%" as "%25"')
    throw cause
  }
}
