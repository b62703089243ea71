import * as z from "zod/mini"
import type { Loss, UserFormat } from "../user.ts"
import { type Conversion, jsonSource, metadataText, optionalOrNull, valueOrLoss } from "./entry.ts"
import { base32, pbkdf2, totpSecret, withoutPadding } from "./hash.ts"

const credential = z.object({
  type: z.string(),
  secretData: optionalOrNull(z.string()),
  credentialData: optionalOrNull(z.string()),
})
type Credential = z.output<typeof credential>

const user = z.object({
  id: optionalOrNull(z.string()),
  username: z.string(),
  firstName: optionalOrNull(z.string()),
  lastName: optionalOrNull(z.string()),
  email: optionalOrNull(z.string()),
  emailVerified: optionalOrNull(z.boolean()),
  enabled: optionalOrNull(z.boolean()),
  serviceAccountClientId: optionalOrNull(z.string()),
  attributes: optionalOrNull(z.record(z.string(), z.array(z.string()))),
  requiredActions: optionalOrNull(z.array(z.string())),
  credentials: optionalOrNull(z.array(credential)),
  federatedIdentities: optionalOrNull(
    z.array(
      z.object({
        identityProvider: z.string(),
        userId: z.string(),
        userName: optionalOrNull(z.string()),
      }),
    ),
  ),
  realmRoles: optionalOrNull(z.array(z.string())),
  clientRoles: optionalOrNull(z.record(z.string(), z.array(z.string()))),
  groups: optionalOrNull(z.array(z.string())),
})
type User = z.output<typeof user>

/**
 * UserRepresentation and CredentialRepresentation of Keycloak's realm export, version 8 or later.
 */
export const keycloak: UserFormat = {
  help: "Output of kc.sh export --realm R --users same_file",
  open: async (path) => jsonSource(path, user, read),
}

function read(exported: User) {
  // The service account of a client is not a user.
  if (exported.serviceAccountClientId) return undefined
  const lost: Loss[] = []
  const { locale, phoneNumber, phoneNumberVerified, ...attributes } = exported.attributes ?? {}
  const credentials = exported.credentials ?? []
  const of = (type: string) => credentials.find((each) => each.type === type)
  for (const { type } of credentials) {
    if (type === "password" || type === "otp") continue
    lost.push({ part: "factors", why: `the factor ${type} can't be imported` })
  }
  const second = credentials.filter(({ type }) => type === "otp").length > 1
  if (second) lost.push({ part: "otp", why: "only one authenticator app per user can be imported" })
  const [phone] = phoneNumber ?? []
  return {
    id: exported.id ?? "",
    userName: exported.username,
    givenName: exported.firstName ?? "",
    familyName: exported.lastName ?? "",
    language: locale?.[0] ?? "",
    ...(exported.email && {
      email: { value: exported.email, verified: exported.emailVerified ?? false },
    }),
    ...(phone && { phone: { value: phone, verified: phoneNumberVerified?.[0] === "true" } }),
    hash: valueOrLoss(lost, "passwords", parseHash(of("password"))),
    changePassword: exported.requiredActions?.includes("UPDATE_PASSWORD") ?? false,
    totp: valueOrLoss(lost, "otp", parseTotp(of("otp"))),
    state: exported.enabled === false ? ("inactive" as const) : ("active" as const),
    links: (exported.federatedIdentities ?? []).map(({ identityProvider, userId, userName }) => ({
      provider: identityProvider,
      externalId: userId,
      name: userName ?? userId,
    })),
    // "/staff/editors": the first slash of the path is not part of the name.
    groups: (exported.groups ?? []).map((path) => path.replace(/^\//, "")),
    roles: rolesOf(exported),
    metadata: Object.fromEntries(
      Object.entries(attributes).map(([key, values]) => [
        key,
        metadataText(values.length === 1 ? values[0] : values),
      ]),
    ),
    lost,
  }
}

/** Whether Keycloak gives the role to all users. */
const isDefaultRole = (role: string) =>
  role.startsWith("default-roles-") || ["offline_access", "uma_authorization"].includes(role)

function rolesOf({ realmRoles, clientRoles }: User): readonly string[] & string[] {
  const ofClients = Object.entries(clientRoles ?? {}).flatMap(([client, roles]) =>
    client === "account" ? [] : roles.map((role) => `${client}:${role}`),
  )
  return [...(realmRoles ?? []).filter((role) => !isDefaultRole(role)), ...ofClients]
}

const secret = z.object({ value: z.string(), salt: optionalOrNull(z.string()) })
const passwordData = z.object({
  algorithm: z.string(),
  hashIterations: z.number(),
  additionalParameters: optionalOrNull(z.record(z.string(), z.array(z.string()))),
})
const otpData = z.object({
  subType: z.string(),
  digits: z.number(),
  period: z.number(),
  algorithm: z.string(),
  secretEncoding: optionalOrNull(z.string()),
})

/** Both fields contain JSON as a string. */
function parseJson<T>(schema: z.ZodMiniType<T>, json: string | null | undefined): T | undefined {
  try {
    return z.safeParse(schema, JSON.parse(json ?? "")).data
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

const invalidCredentialText =
  "secretData or credentialData is invalid; the export must be from Keycloak 8 or later"

function parseHash(exported: Credential | undefined): Conversion | undefined {
  if (!exported) return undefined
  const [known, data] = [
    parseJson(secret, exported.secretData),
    parseJson(passwordData, exported.credentialData),
  ]
  if (!known || !data) return { reason: invalidCredentialText }
  const { value: output, salt } = known
  const { algorithm, hashIterations: rounds, additionalParameters: more } = data
  if (algorithm !== "argon2") {
    const digest = algorithm === "pbkdf2" ? "sha1" : algorithm
    return pbkdf2(digest, { rounds, salt: salt ?? "", output })
  }
  const [type = "id", version = "1.3"] = [more?.type?.[0], more?.version?.[0]]
  const [memory, lanes] = [more?.memory?.[0] ?? "7168", more?.parallelism?.[0] ?? "1"]
  if (version !== "1.3") return { reason: `argon2 version ${version} is not supported` }
  const cost = `m=${memory},t=${rounds},p=${lanes}`
  return {
    value: `$argon2${type}$v=19$${cost}$${withoutPadding(salt ?? "")}$${withoutPadding(output)}`,
  }
}

function parseTotp(exported: Credential | undefined): Conversion | undefined {
  if (!exported) return undefined
  const [known, data] = [
    parseJson(secret, exported.secretData),
    parseJson(otpData, exported.credentialData),
  ]
  if (!known || !data) return { reason: invalidCredentialText }
  if (data.subType !== "totp") return { reason: "counter-based codes (HOTP) are not supported" }
  // The secret is the bytes of the string, unless it is marked as base32.
  const isEncoded = data.secretEncoding === "BASE32"
  const key = isEncoded ? known.value : base32(Buffer.from(known.value))
  return totpSecret({ secret: key, digits: data.digits, seconds: data.period }, data.algorithm)
}
