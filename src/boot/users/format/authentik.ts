import * as z from "zod/mini"
import { jsonEntries } from "../source/json.ts"
import type { Loss, UserFormat, UserSource } from "../user.ts"
import { type Conversion, metadataText, optionalOrNull, parseEntry, valueOrLoss } from "./entry.ts"
import { base32, encodeSalt, pbkdf2, totpSecret, withoutPadding } from "./hash.ts"

const id = z.union([z.string(), z.number()])
const row = z.object({ model: z.string(), pk: id, fields: z.record(z.string(), z.unknown()) })

const user = z.object({
  uuid: optionalOrNull(z.string()),
  username: z.string(),
  name: optionalOrNull(z.string()),
  email: optionalOrNull(z.string()),
  password: optionalOrNull(z.string()),
  is_active: optionalOrNull(z.boolean()),
  type: optionalOrNull(z.string()),
  attributes: optionalOrNull(z.record(z.string(), z.unknown())),
  /** Named `ak_groups` before 2025. */
  groups: optionalOrNull(z.array(z.string())),
  ak_groups: optionalOrNull(z.array(z.string())),
})
const device = z.object({ user: id, confirmed: optionalOrNull(z.boolean()) })
const totpDevice = z.extend(device, { key: z.string(), step: z.number(), digits: z.number() })
const connection = z.object({ user: id, source: id, identifier: optionalOrNull(z.string()) })

/** Data about users from other rows of the file, by user ID. */
type RelatedData = {
  readonly groups: Map<string, string>
  readonly slugs: Map<string, string>
  readonly totp: Map<string, Conversion>
  readonly links: Map<string, { provider: string; externalId: string; name: string }[]>
  readonly factors: Map<string, string[]>
}

/** Django's dumpdata of authentik's models: groups and factors are separate rows. */
export const authentik: UserFormat = {
  help: "Output of ak dumpdata for authentik_core and the authenticator stages",
  open: async (path): Promise<UserSource> => {
    const related: RelatedData = {
      groups: new Map(),
      slugs: new Map(),
      totp: new Map(),
      links: new Map(),
      factors: new Map(),
    }
    for await (const { value } of jsonEntries(path)) {
      const found = z.safeParse(row, value)
      // An invalid row is reported when it is imported.
      if (found.success && isValidRow(found.data)) collectRow(related, found.data)
    }
    return {
      entries: () => jsonEntries(path),
      read: (value) => {
        const { model, pk, fields } = parseEntry(row, value)
        const beside = schemaFor(model)
        if (beside) parseEntry(beside, fields)
        if (model !== "authentik_core.user") return undefined
        return read(related, String(pk), parseEntry(user, fields))
      },
    }
  },
}

/** The schema of a row with data about users; undefined for rows that are not used. */
function schemaFor(model: string) {
  if (model.endsWith(".totpdevice")) return totpDevice
  if (model.endsWith("device")) return device
  return model === "authentik_core.usersourceconnection" ? connection : undefined
}

const isValidRow = ({ model, fields }: z.output<typeof row>): boolean => {
  const shape = schemaFor(model)
  return shape === undefined || z.safeParse(shape, fields).success
}

function collectRow(related: RelatedData, { model, pk, fields }: z.output<typeof row>): void {
  if (model === "authentik_core.group") related.groups.set(String(pk), metadataText(fields.name))
  else if (model === "authentik_core.source")
    related.slugs.set(String(pk), metadataText(fields.slug))
  else if (model.endsWith(".totpdevice")) collectTotp(related, fields)
  else if (model.endsWith("device")) collectFactor(related, model, fields)
  else if (model === "authentik_core.usersourceconnection") collectLink(related, fields)
}

function collectTotp({ totp: all }: RelatedData, fields: unknown): void {
  const { user: userKey, confirmed, key, step, digits } = parseEntry(totpDevice, fields)
  if (confirmed === false) return
  const secret = base32(Buffer.from(key, "hex"))
  all.set(String(userKey), totpSecret({ secret, digits, seconds: step }))
}

function collectFactor({ factors }: RelatedData, model: string, fields: unknown): void {
  const { user: userKey, confirmed } = parseEntry(device, fields)
  if (confirmed !== false) {
    factors.set(String(userKey), [...(factors.get(String(userKey)) ?? []), model])
  }
}

function collectLink({ links }: RelatedData, fields: unknown): void {
  const { user: userKey, source, identifier } = parseEntry(connection, fields)
  if (!identifier) return
  const link = { provider: String(source), externalId: identifier, name: identifier }
  links.set(String(userKey), [...(links.get(String(userKey)) ?? []), link])
}

function read(related: RelatedData, pk: string, exported: z.output<typeof user>) {
  // Outposts and service accounts are not users.
  if (exported.type?.includes("service_account")) return undefined
  const factors = related.factors.get(pk) ?? []
  const lost: Loss[] = factors.map((model) => ({
    part: "factors",
    why: `the factor ${model} can't be imported`,
  }))
  return {
    id: exported.uuid ?? "",
    userName: exported.username,
    displayName: exported.name ?? "",
    ...(exported.email && { email: { value: exported.email, verified: false } }),
    hash: valueOrLoss(lost, "passwords", parseHash(exported.password ?? "")),
    totp: valueOrLoss(lost, "otp", related.totp.get(pk)),
    state: exported.is_active === false ? ("inactive" as const) : ("active" as const),
    links: (related.links.get(pk) ?? []).map((link) => ({
      ...link,
      provider: related.slugs.get(link.provider) ?? link.provider,
    })),
    groups: (exported.groups ?? exported.ak_groups ?? []).map(
      (each) => related.groups.get(each) ?? each,
    ),
    metadata: Object.fromEntries(
      Object.entries(exported.attributes ?? {}).map(([key, value]) => [key, metadataText(value)]),
    ),
    lost,
  }
}

/** Converts a hash of Django's hashers; the prefix names the hasher. */
function parseHash(hash: string): Conversion | undefined {
  // In Django, "!" marks an unusable password.
  if (hash === "" || hash.startsWith("!")) return undefined
  const [hasher = "", ...rest] = hash.split("$")
  if (hasher.startsWith("pbkdf2_")) {
    const [rounds, salt = "", output = ""] = rest
    const digest = hasher.slice("pbkdf2_".length)
    return pbkdf2(digest, { rounds: Number(rounds), salt: encodeSalt(salt), output })
  }
  if (hasher === "argon2" || hasher === "bcrypt") {
    return { value: hash.slice(hash.indexOf("$")).replace(/^\$\$/, "$") }
  }
  if (hasher === "scrypt") {
    const [salt = "", n, r, p, output = ""] = rest
    const cost = `ln=${Math.log2(Number(n))},r=${r},p=${p}`
    return { value: `$scrypt$${cost}$${encodeSalt(salt)}$${withoutPadding(output)}` }
  }
  return { reason: `the Django hasher ${hasher} is not supported` }
}
