import * as z from "zod/mini"
import type { Format, Lost } from "../person.ts"
import { csvEntries } from "../source/csv.ts"
import { jsonEntries } from "../source/json.ts"
import { type Made, maybe, noted, shaped, takenOf } from "./entry.ts"
import { pbkdf2, salted } from "./hash.ts"

const hash = z.object({
  algorithm: z.string(),
  value: z.string(),
  salt: maybe(z.string()),
  saltOrder: maybe(z.string()),
  workFactor: maybe(z.coerce.number()),
  iterationCount: maybe(z.coerce.number()),
  digestAlgorithm: maybe(z.string()),
})
type Hash = z.output<typeof hash>

const user = z.object({
  id: maybe(z.string()),
  status: maybe(z.string()),
  profile: z.record(z.string(), z.unknown()),
  credentials: maybe(z.object({ password: maybe(z.object({ hash: maybe(hash) })) })),
})

/** Users as Okta's API has them, or a CSV file with its names of the profile in the first line. */
export const okta: Format = {
  help: "users as its API has them (JSON), or a CSV file with the names of its profile",
  open: async (path) => ({
    entries: () => (/\.csv$/i.test(path) ? csvEntries(path, String) : jsonEntries(path)),
    read: (value) => read(shaped(user, nested(value))),
  }),
}

/** "credentials.password.hash.value" of a CSV is what it says; a name alone is of the profile. */
function nested(value: unknown): unknown {
  if (typeof value !== "object" || value === null || "profile" in value) return value
  const all = Object.entries(value).filter(([, text]) => text !== "")
  const after = (start: string) =>
    all.flatMap(([name, text]) =>
      name.startsWith(start) ? [[name.slice(start.length), text]] : [],
    )
  const found = after("credentials.password.hash.")
  return {
    ...Object.fromEntries(all.filter(([name]) => name === "id" || name === "status")),
    profile: Object.fromEntries([
      ...all.filter(([name]) => !name.includes(".") && name !== "id" && name !== "status"),
      ...after("profile."),
    ]),
    ...(found.length > 0 && { credentials: { password: { hash: Object.fromEntries(found) } } }),
  }
}

const states = {
  SUSPENDED: "inactive",
  DEPROVISIONED: "inactive",
  LOCKED_OUT: "locked",
} as const

function read(given: z.output<typeof user>) {
  const lost: Lost[] = []
  const { login, firstName, lastName, displayName, nickName, ...rest } = given.profile
  const { email, mobilePhone, preferredLanguage, ...more } = rest
  const text = (value: unknown) => (typeof value === "string" ? value : "")
  const stateOf = Object.entries(states).find(([status]) => status === given.status)
  const known = given.credentials?.password?.hash
  return {
    id: given.id ?? "",
    userName: text(login) || text(email),
    givenName: text(firstName),
    familyName: text(lastName),
    displayName: text(displayName),
    nickName: text(nickName),
    language: text(preferredLanguage),
    ...(text(email) && { email: { value: text(email), verified: false } }),
    ...(text(mobilePhone) && { phone: { value: text(mobilePhone), verified: false } }),
    hash: takenOf(lost, "passwords", known ? hashOf(known) : undefined),
    changePassword: given.status === "PASSWORD_EXPIRED",
    state: stateOf?.[1] ?? ("active" as const),
    metadata: Object.fromEntries(
      Object.entries(more)
        .filter(([, value]) => value !== null && value !== "")
        .map(([key, value]) => [key, noted(value)]),
    ),
    lost,
  }
}

/** The password hash object of Okta's API: "create user with imported hashed password". */
function hashOf(given: Hash): Made {
  const { algorithm, value, salt } = given
  if (algorithm === "BCRYPT") {
    const cost = String(given.workFactor ?? 10).padStart(2, "0")
    // Both in the alphabet of bcrypt itself: 22 letters of salt, 31 of output.
    return { value: `$2b$${cost}$${salt ?? ""}${value}` }
  }
  if (algorithm === "PBKDF2") {
    const rounds = given.iterationCount ?? 0
    return pbkdf2(given.digestAlgorithm ?? "", { rounds, salt: salt ?? "", output: value })
  }
  return salted({
    algorithm: algorithm.toLowerCase().replace("-", ""),
    place: given.saltOrder === "PREFIX" ? "prefix" : "suffix",
    salt: Buffer.from(salt ?? "", "base64"),
    output: Buffer.from(value, "base64"),
  })
}
