import * as z from "zod/mini"
import { csvEntries } from "../source/csv.ts"
import { jsonEntries } from "../source/json.ts"
import type { Loss, UserFormat } from "../user.ts"
import { type Conversion, metadataText, optionalOrNull, parseEntry, valueOrLoss } from "./entry.ts"
import { pbkdf2, saltedHash } from "./hash.ts"

const hash = z.object({
  algorithm: z.string(),
  value: z.string(),
  salt: optionalOrNull(z.string()),
  saltOrder: optionalOrNull(z.string()),
  workFactor: optionalOrNull(z.coerce.number()),
  iterationCount: optionalOrNull(z.coerce.number()),
  digestAlgorithm: optionalOrNull(z.string()),
})
type Hash = z.output<typeof hash>

const user = z.object({
  id: optionalOrNull(z.string()),
  status: optionalOrNull(z.string()),
  profile: z.record(z.string(), z.unknown()),
  credentials: optionalOrNull(
    z.object({ password: optionalOrNull(z.object({ hash: optionalOrNull(hash) })) }),
  ),
})

/** Users from Okta's API, or a CSV file with the names of profile fields in the first line. */
export const okta: UserFormat = {
  help: "Users from the Okta API (JSON), or a CSV file with the names of profile fields",
  open: async (path) => ({
    entries: () => (/\.csv$/i.test(path) ? csvEntries(path, String) : jsonEntries(path)),
    read: (value) => read(parseEntry(user, expandColumns(value))),
  }),
}

/**
 * Expands CSV columns such as "credentials.password.hash.value"; a plain name is a profile field.
 */
function expandColumns(value: unknown): unknown {
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

function read(exported: z.output<typeof user>) {
  const lost: Loss[] = []
  const { login, firstName, lastName, displayName, nickName, ...rest } = exported.profile
  const { email, mobilePhone, preferredLanguage, ...more } = rest
  const text = (value: unknown) => (typeof value === "string" ? value : "")
  const stateOf = Object.entries(states).find(([status]) => status === exported.status)
  const known = exported.credentials?.password?.hash
  return {
    id: exported.id ?? "",
    userName: text(login) || text(email),
    givenName: text(firstName),
    familyName: text(lastName),
    displayName: text(displayName),
    nickName: text(nickName),
    language: text(preferredLanguage),
    ...(text(email) && { email: { value: text(email), verified: false } }),
    ...(text(mobilePhone) && { phone: { value: text(mobilePhone), verified: false } }),
    hash: valueOrLoss(lost, "passwords", known ? parseHash(known) : undefined),
    changePassword: exported.status === "PASSWORD_EXPIRED",
    state: stateOf?.[1] ?? ("active" as const),
    metadata: Object.fromEntries(
      Object.entries(more)
        .filter(([, value]) => value !== null && value !== "")
        .map(([key, value]) => [key, metadataText(value)]),
    ),
    lost,
  }
}

/** The password hash object of Okta's API: "create user with imported hashed password". */
function parseHash(exported: Hash): Conversion {
  const { algorithm, value, salt } = exported
  if (algorithm === "BCRYPT") {
    const cost = String(exported.workFactor ?? 10).padStart(2, "0")
    // Both are in bcrypt's own alphabet: 22 characters of salt, 31 of output.
    return { value: `$2b$${cost}$${salt ?? ""}${value}` }
  }
  if (algorithm === "PBKDF2") {
    const rounds = exported.iterationCount ?? 0
    return pbkdf2(exported.digestAlgorithm ?? "", { rounds, salt: salt ?? "", output: value })
  }
  return saltedHash({
    algorithm: algorithm.toLowerCase().replace("-", ""),
    place: exported.saltOrder === "PREFIX" ? "prefix" : "suffix",
    salt: Buffer.from(salt ?? "", "base64"),
    output: Buffer.from(value, "base64"),
  })
}
