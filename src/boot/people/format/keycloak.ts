import * as z from "zod/mini"
import type { Format, Lost } from "../person.ts"
import { jsonSource, type Made, maybe, noted, takenOf } from "./entry.ts"
import { bare, base32, pbkdf2, totp } from "./hash.ts"

const credential = z.object({
  type: z.string(),
  secretData: maybe(z.string()),
  credentialData: maybe(z.string()),
})
type Credential = z.output<typeof credential>

const user = z.object({
  id: maybe(z.string()),
  username: z.string(),
  firstName: maybe(z.string()),
  lastName: maybe(z.string()),
  email: maybe(z.string()),
  emailVerified: maybe(z.boolean()),
  enabled: maybe(z.boolean()),
  serviceAccountClientId: maybe(z.string()),
  attributes: maybe(z.record(z.string(), z.array(z.string()))),
  requiredActions: maybe(z.array(z.string())),
  credentials: maybe(z.array(credential)),
  federatedIdentities: maybe(
    z.array(
      z.object({ identityProvider: z.string(), userId: z.string(), userName: maybe(z.string()) }),
    ),
  ),
  realmRoles: maybe(z.array(z.string())),
  clientRoles: maybe(z.record(z.string(), z.array(z.string()))),
  groups: maybe(z.array(z.string())),
})
type User = z.output<typeof user>

/** UserRepresentation and CredentialRepresentation of Keycloak's realm export, since version 8. */
export const keycloak: Format = {
  help: "what kc.sh export --realm R --users same_file writes",
  open: async (path) => jsonSource(path, user, read),
}

function read(given: User) {
  // What a client acts as is no person.
  if (given.serviceAccountClientId) return undefined
  const lost: Lost[] = []
  const { locale, phoneNumber, phoneNumberVerified, ...attributes } = given.attributes ?? {}
  const credentials = given.credentials ?? []
  const of = (type: string) => credentials.find((each) => each.type === type)
  for (const { type } of credentials) {
    if (type === "password" || type === "otp") continue
    lost.push({ part: "factors", why: `a factor of the kind ${type} stays behind` })
  }
  const second = credentials.filter(({ type }) => type === "otp").length > 1
  if (second) lost.push({ part: "otp", why: "of several authenticator apps one can be taken" })
  const [phone] = phoneNumber ?? []
  return {
    id: given.id ?? "",
    userName: given.username,
    givenName: given.firstName ?? "",
    familyName: given.lastName ?? "",
    language: locale?.[0] ?? "",
    ...(given.email && { email: { value: given.email, verified: given.emailVerified ?? false } }),
    ...(phone && { phone: { value: phone, verified: phoneNumberVerified?.[0] === "true" } }),
    hash: takenOf(lost, "passwords", hashOf(of("password"))),
    changePassword: given.requiredActions?.includes("UPDATE_PASSWORD") ?? false,
    totp: takenOf(lost, "otp", totpOf(of("otp"))),
    state: given.enabled === false ? ("inactive" as const) : ("active" as const),
    links: (given.federatedIdentities ?? []).map(({ identityProvider, userId, userName }) => ({
      provider: identityProvider,
      externalId: userId,
      name: userName ?? userId,
    })),
    // "/staff/editors": a path, whose first mark says nothing.
    groups: (given.groups ?? []).map((path) => path.replace(/^\//, "")),
    roles: rolesOf(given),
    metadata: Object.fromEntries(
      Object.entries(attributes).map(([key, values]) => [
        key,
        noted(values.length === 1 ? values[0] : values),
      ]),
    ),
    lost,
  }
}

/** Those that Keycloak gives to everybody say nothing of the person. */
const isUsual = (role: string) =>
  role.startsWith("default-roles-") || ["offline_access", "uma_authorization"].includes(role)

function rolesOf({ realmRoles, clientRoles }: User): readonly string[] & string[] {
  const ofClients = Object.entries(clientRoles ?? {}).flatMap(([client, roles]) =>
    client === "account" ? [] : roles.map((role) => `${client}:${role}`),
  )
  return [...(realmRoles ?? []).filter((role) => !isUsual(role)), ...ofClients]
}

const secret = z.object({ value: z.string(), salt: maybe(z.string()) })
const passwordData = z.object({
  algorithm: z.string(),
  hashIterations: z.number(),
  additionalParameters: maybe(z.record(z.string(), z.array(z.string()))),
})
const otpData = z.object({
  subType: z.string(),
  digits: z.number(),
  period: z.number(),
  algorithm: z.string(),
  secretEncoding: maybe(z.string()),
})

/** Both are texts that hold JSON. */
function parsed<T>(schema: z.ZodMiniType<T>, json: string | null | undefined): T | undefined {
  try {
    return z.safeParse(schema, JSON.parse(json ?? "")).data
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

const brokenText =
  "secretData or credentialData can't be read; is the export of Keycloak 8 or later?"

function hashOf(given: Credential | undefined): Made | undefined {
  if (!given) return undefined
  const [known, how] = [
    parsed(secret, given.secretData),
    parsed(passwordData, given.credentialData),
  ]
  if (!known || !how) return { why: brokenText }
  const { value: output, salt } = known
  const { algorithm, hashIterations: rounds, additionalParameters: more } = how
  if (algorithm !== "argon2") {
    const digest = algorithm === "pbkdf2" ? "sha1" : algorithm
    return pbkdf2(digest, { rounds, salt: salt ?? "", output })
  }
  const [type = "id", version = "1.3"] = [more?.type?.[0], more?.version?.[0]]
  const [memory, lanes] = [more?.memory?.[0] ?? "7168", more?.parallelism?.[0] ?? "1"]
  if (version !== "1.3") return { why: `argon2 of version ${version} isn't understood` }
  const cost = `m=${memory},t=${rounds},p=${lanes}`
  return { value: `$argon2${type}$v=19$${cost}$${bare(salt ?? "")}$${bare(output)}` }
}

function totpOf(given: Credential | undefined): Made | undefined {
  if (!given) return undefined
  const [known, how] = [parsed(secret, given.secretData), parsed(otpData, given.credentialData)]
  if (!known || !how) return { why: brokenText }
  if (how.subType !== "totp") return { why: "codes that count up instead of by time stay behind" }
  // The secret is the bytes of the text itself, unless it says that it is written in base32.
  const isEncoded = how.secretEncoding === "BASE32"
  const key = isEncoded ? known.value : base32(Buffer.from(known.value))
  return totp({ secret: key, digits: how.digits, seconds: how.period }, how.algorithm)
}
