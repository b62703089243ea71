import * as z from "zod/mini"
import type { Loss, UserFormat } from "../user.ts"
import { type Conversion, jsonSource, metadataText, optionalOrNull, valueOrLoss } from "./entry.ts"
import { pbkdf2, saltedHash, totpSecret } from "./hash.ts"

const encodedValue = z.object({ value: z.string(), encoding: optionalOrNull(z.string()) })
const customHash = z.object({
  algorithm: z.string(),
  hash: encodedValue,
  salt: optionalOrNull(z.extend(encodedValue, { position: optionalOrNull(z.string()) })),
})
type CustomHash = z.output<typeof customHash>

const user = z.object({
  user_id: optionalOrNull(z.string()),
  _id: optionalOrNull(z.object({ $oid: z.string() })),
  username: optionalOrNull(z.string()),
  email: optionalOrNull(z.string()),
  email_verified: optionalOrNull(z.boolean()),
  phone_number: optionalOrNull(z.string()),
  phone_verified: optionalOrNull(z.boolean()),
  given_name: optionalOrNull(z.string()),
  family_name: optionalOrNull(z.string()),
  name: optionalOrNull(z.string()),
  nickname: optionalOrNull(z.string()),
  blocked: optionalOrNull(z.boolean()),
  passwordHash: optionalOrNull(z.string()),
  password_hash: optionalOrNull(z.string()),
  custom_password_hash: optionalOrNull(customHash),
  identities: optionalOrNull(
    z.array(
      z.object({
        provider: z.string(),
        user_id: z.union([z.string(), z.number()]),
        connection: optionalOrNull(z.string()),
      }),
    ),
  ),
  mfa_factors: optionalOrNull(z.array(z.record(z.string(), z.record(z.string(), z.unknown())))),
  multifactor: optionalOrNull(z.array(z.string())),
  user_metadata: optionalOrNull(z.record(z.string(), z.unknown())),
  app_metadata: optionalOrNull(z.record(z.string(), z.unknown())),
})
type User = z.output<typeof user>

/** Auth0's exports of users and of password hashes, and its bulk import format. */
export const auth0: UserFormat = {
  help:
    "Auth0 user export, password hash export or import file: a JSON array, or one object " +
    "per line",
  open: async (path) => jsonSource(path, user, read),
}

function read(exported: User) {
  const losses: Loss[] = []
  const { email, phone_number: phone } = exported
  const secret = parseTotp(exported, losses)
  return {
    // "auth0|5f7c8ec7c33c6c004bbafe82"
    id: (exported.user_id ?? exported._id?.$oid ?? "").replaceAll("|", "-"),
    userName: exported.username || email || "",
    givenName: exported.given_name ?? "",
    familyName: exported.family_name ?? "",
    displayName: exported.name ?? "",
    nickName: exported.nickname ?? "",
    ...(email && { email: { value: email, verified: exported.email_verified ?? false } }),
    ...(phone && { phone: { value: phone, verified: exported.phone_verified ?? false } }),
    hash: valueOrLoss(losses, "passwords", parseHash(exported)),
    totp: valueOrLoss(losses, "otp", secret),
    state: exported.blocked ? ("inactive" as const) : ("active" as const),
    // The provider "auth0" is Auth0's own password database.
    links: (exported.identities ?? [])
      .filter(({ provider }) => provider !== "auth0")
      .map(({ provider, user_id: id, connection }) => ({
        provider: connection ?? provider,
        externalId: String(id),
        name: email ?? String(id),
      })),
    metadata: {
      ...prefixKeys(userMetadata(exported, losses), ""),
      ...prefixKeys(exported.app_metadata, appPrefix),
    },
    lost: losses,
  }
}

const appPrefix = "app_metadata."

/** Users can edit user_metadata, so it must not be mistaken for app_metadata. */
function userMetadata({ user_metadata: exported }: User, losses: Loss[]): User["user_metadata"] {
  const conflictingKey = Object.keys(exported ?? {}).find((key) => key.startsWith(appPrefix))
  if (conflictingKey !== undefined) {
    losses.push({
      part: "metadata",
      why: `user_metadata contains "${conflictingKey}", which looks like app_metadata`,
    })
  }
  return exported
}

const prefixKeys = (exported: User["user_metadata"], prefix: string) =>
  Object.fromEntries(
    Object.entries(exported ?? {}).map(([key, value]) => [prefix + key, metadataText(value)]),
  )

function parseTotp(
  { mfa_factors: factors, multifactor }: User,
  losses: Loss[],
): Conversion | undefined {
  const all = (factors ?? []).flatMap((each) => Object.entries(each))
  for (const [kind] of all.filter(([kind]) => kind !== "totp")) {
    losses.push({ part: "factors", why: `the factor ${kind} can't be imported` })
  }
  const secret = all.find(([kind]) => kind === "totp")?.[1].secret
  if (typeof secret === "string") return totpSecret({ secret, digits: 6, seconds: 30 })
  if (!multifactor || multifactor.length === 0) return undefined
  return {
    reason: `Auth0 does not export the secrets of second factors (${multifactor.join(", ")})`,
  }
}

function parseHash(exported: User): Conversion | undefined {
  const { custom_password_hash: other, passwordHash, password_hash: older } = exported
  const hash = passwordHash ?? older
  if (hash) return { value: hash }
  return other ? convertCustomHash(other) : undefined
}

/** The fields of the bulk import schema. */
function convertCustomHash({ algorithm, hash, salt }: CustomHash): Conversion {
  if (algorithm === "argon2" || algorithm === "bcrypt") return { value: hash.value }
  if (algorithm === "pbkdf2") {
    // PHC: $pbkdf2-sha512$i=100000,l=64$salt$output
    const [, digest = "", rounds, salted = "", output = ""] =
      /^\$pbkdf2-(\w+)\$i=(\d+)(?:,l=\d+)?\$([^$]+)\$([^$]+)$/.exec(hash.value) ?? []
    if (!rounds) return { reason: "the PBKDF2 hash is not in PHC format" }
    return pbkdf2(digest, { rounds: Number(rounds), salt: salted, output })
  }
  if (!/^(md5|sha1|sha256|sha512)$/.test(algorithm)) {
    return { reason: `the hash algorithm ${algorithm} is not supported` }
  }
  return saltedHash({
    algorithm,
    place: salt?.position === "suffix" ? "suffix" : "prefix",
    salt: salt ? decodeBytes(salt, "utf8") : new Uint8Array(),
    output: decodeBytes(hash, "hex"),
  })
}

function decodeBytes(
  { value, encoding }: z.output<typeof encodedValue>,
  usual: "hex" | "utf8",
): Uint8Array {
  const known = encoding ?? usual
  return Buffer.from(value, known === "hex" || known === "base64" ? known : "utf8")
}
