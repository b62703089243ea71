import * as z from "zod/mini"
import type { Format, Lost } from "../person.ts"
import { jsonSource, type Made, maybe, noted, takenOf } from "./entry.ts"
import { pbkdf2, salted, totp } from "./hash.ts"

const coded = z.object({ value: z.string(), encoding: maybe(z.string()) })
const custom = z.object({
  algorithm: z.string(),
  hash: coded,
  salt: maybe(z.extend(coded, { position: maybe(z.string()) })),
})
type Custom = z.output<typeof custom>

const user = z.object({
  user_id: maybe(z.string()),
  _id: maybe(z.object({ $oid: z.string() })),
  username: maybe(z.string()),
  email: maybe(z.string()),
  email_verified: maybe(z.boolean()),
  phone_number: maybe(z.string()),
  phone_verified: maybe(z.boolean()),
  given_name: maybe(z.string()),
  family_name: maybe(z.string()),
  name: maybe(z.string()),
  nickname: maybe(z.string()),
  blocked: maybe(z.boolean()),
  passwordHash: maybe(z.string()),
  password_hash: maybe(z.string()),
  custom_password_hash: maybe(custom),
  identities: maybe(
    z.array(
      z.object({
        provider: z.string(),
        user_id: z.union([z.string(), z.number()]),
        connection: maybe(z.string()),
      }),
    ),
  ),
  mfa_factors: maybe(z.array(z.record(z.string(), z.record(z.string(), z.unknown())))),
  multifactor: maybe(z.array(z.string())),
  user_metadata: maybe(z.record(z.string(), z.unknown())),
  app_metadata: maybe(z.record(z.string(), z.unknown())),
})
type User = z.output<typeof user>

/** Auth0's exports of users and of hashes, and the schema of its bulk import. */
export const auth0: Format = {
  help: "an export of users, of hashes, or a file for its import: an array, or a line for each",
  open: async (path) => jsonSource(path, user, read),
}

function read(given: User) {
  const lost: Lost[] = []
  const { email, phone_number: phone } = given
  const secret = totpIn(given, lost)
  return {
    // "auth0|5f7c8ec7c33c6c004bbafe82"
    id: (given.user_id ?? given._id?.$oid ?? "").replaceAll("|", "-"),
    userName: given.username || email || "",
    givenName: given.given_name ?? "",
    familyName: given.family_name ?? "",
    displayName: given.name ?? "",
    nickName: given.nickname ?? "",
    ...(email && { email: { value: email, verified: given.email_verified ?? false } }),
    ...(phone && { phone: { value: phone, verified: given.phone_verified ?? false } }),
    hash: takenOf(lost, "passwords", hashOf(given)),
    totp: takenOf(lost, "otp", secret),
    state: given.blocked ? ("inactive" as const) : ("active" as const),
    // What Auth0 calls auth0 is its own password.
    links: (given.identities ?? [])
      .filter(({ provider }) => provider !== "auth0")
      .map(({ provider, user_id: id, connection }) => ({
        provider: connection ?? provider,
        externalId: String(id),
        name: email ?? String(id),
      })),
    metadata: {
      ...notes(ownNotes(given, lost), ""),
      ...notes(given.app_metadata, ofApp),
    },
    lost,
  }
}

const ofApp = "app_metadata."

/** People write these themselves: none is taken for what an application says of them. */
function ownNotes({ user_metadata: given }: User, lost: Lost[]): User["user_metadata"] {
  const posing = Object.keys(given ?? {}).find((key) => key.startsWith(ofApp))
  if (posing !== undefined) {
    lost.push({
      part: "metadata",
      why: `user_metadata has "${posing}", which is like app_metadata`,
    })
  }
  return given
}

const notes = (given: User["user_metadata"], before: string) =>
  Object.fromEntries(
    Object.entries(given ?? {}).map(([key, value]) => [before + key, noted(value)]),
  )

function totpIn({ mfa_factors: factors, multifactor }: User, lost: Lost[]): Made | undefined {
  const all = (factors ?? []).flatMap((each) => Object.entries(each))
  for (const [kind] of all.filter(([kind]) => kind !== "totp")) {
    lost.push({ part: "factors", why: `a factor of the kind ${kind} stays behind` })
  }
  const secret = all.find(([kind]) => kind === "totp")?.[1].secret
  if (typeof secret === "string") return totp({ secret, digits: 6, seconds: 30 })
  if (!multifactor || multifactor.length === 0) return undefined
  return { why: `Auth0 exports no secrets of second factors (${multifactor.join(", ")})` }
}

function hashOf(given: User): Made | undefined {
  const { custom_password_hash: other, passwordHash, password_hash: older } = given
  const hash = passwordHash ?? older
  if (hash) return { value: hash }
  return other ? customOf(other) : undefined
}

/** By the words of the schema of the bulk import. */
function customOf({ algorithm, hash, salt }: Custom): Made {
  if (algorithm === "argon2" || algorithm === "bcrypt") return { value: hash.value }
  if (algorithm === "pbkdf2") {
    // PHC: $pbkdf2-sha512$i=100000,l=64$salt$output
    const [, digest = "", rounds, salted = "", output = ""] =
      /^\$pbkdf2-(\w+)\$i=(\d+)(?:,l=\d+)?\$([^$]+)\$([^$]+)$/.exec(hash.value) ?? []
    if (!rounds) return { why: "the hash of PBKDF2 isn't in its PHC form" }
    return pbkdf2(digest, { rounds: Number(rounds), salt: salted, output })
  }
  if (!/^(md5|sha1|sha256|sha512)$/.test(algorithm)) {
    return { why: `hashes by ${algorithm} aren't understood` }
  }
  return salted({
    algorithm,
    place: salt?.position === "suffix" ? "suffix" : "prefix",
    salt: salt ? bytesOf(salt, "utf8") : new Uint8Array(),
    output: bytesOf(hash, "hex"),
  })
}

function bytesOf({ value, encoding }: z.output<typeof coded>, usual: "hex" | "utf8"): Uint8Array {
  const known = encoding ?? usual
  return Buffer.from(value, known === "hex" || known === "base64" ? known : "utf8")
}
