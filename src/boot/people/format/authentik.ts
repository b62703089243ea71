import * as z from "zod/mini"
import type { Format, Lost, Source } from "../person.ts"
import { jsonEntries } from "../source/json.ts"
import { type Made, maybe, noted, shaped, takenOf } from "./entry.ts"
import { bare, base32, pbkdf2, saltOf, totp } from "./hash.ts"

const id = z.union([z.string(), z.number()])
const row = z.object({ model: z.string(), pk: id, fields: z.record(z.string(), z.unknown()) })

const user = z.object({
  uuid: maybe(z.string()),
  username: z.string(),
  name: maybe(z.string()),
  email: maybe(z.string()),
  password: maybe(z.string()),
  is_active: maybe(z.boolean()),
  type: maybe(z.string()),
  attributes: maybe(z.record(z.string(), z.unknown())),
  /** Named `ak_groups` before 2025. */
  groups: maybe(z.array(z.string())),
  ak_groups: maybe(z.array(z.string())),
})
const device = z.object({ user: id, confirmed: maybe(z.boolean()) })
const totpDevice = z.extend(device, { key: z.string(), step: z.number(), digits: z.number() })
const connection = z.object({ user: id, source: id, identifier: maybe(z.string()) })

/** What stands elsewhere in the file about the people in it, by their numbers. */
type Known = {
  readonly groups: Map<string, string>
  readonly slugs: Map<string, string>
  readonly totp: Map<string, Made>
  readonly links: Map<string, { provider: string; externalId: string; name: string }[]>
  readonly factors: Map<string, string[]>
}

/** Django's dumpdata of authentik's models: groups and factors are rows beside users. */
export const authentik: Format = {
  help: "what ak dumpdata writes of authentik_core and of the authenticator stages",
  open: async (path): Promise<Source> => {
    const known: Known = {
      groups: new Map(),
      slugs: new Map(),
      totp: new Map(),
      links: new Map(),
      factors: new Map(),
    }
    for await (const { value } of jsonEntries(path)) {
      const found = z.safeParse(row, value)
      // A row that is of another shape is named when its turn comes.
      if (found.success && isWhole(found.data)) note(known, found.data)
    }
    return {
      entries: () => jsonEntries(path),
      read: (value) => {
        const { model, pk, fields } = shaped(row, value)
        const beside = shapeOf(model)
        if (beside) shaped(beside, fields)
        if (model !== "authentik_core.user") return undefined
        return read(known, String(pk), shaped(user, fields))
      },
    }
  },
}

/** What a row about somebody else's must have; undefined where nothing is read of it. */
function shapeOf(model: string) {
  if (model.endsWith(".totpdevice")) return totpDevice
  if (model.endsWith("device")) return device
  return model === "authentik_core.usersourceconnection" ? connection : undefined
}

const isWhole = ({ model, fields }: z.output<typeof row>): boolean => {
  const shape = shapeOf(model)
  return shape === undefined || z.safeParse(shape, fields).success
}

function note(known: Known, { model, pk, fields }: z.output<typeof row>): void {
  if (model === "authentik_core.group") known.groups.set(String(pk), noted(fields.name))
  else if (model === "authentik_core.source") known.slugs.set(String(pk), noted(fields.slug))
  else if (model.endsWith(".totpdevice")) noteTotp(known, fields)
  else if (model.endsWith("device")) noteFactor(known, model, fields)
  else if (model === "authentik_core.usersourceconnection") noteLink(known, fields)
}

function noteTotp({ totp: all }: Known, fields: unknown): void {
  const { user: whose, confirmed, key, step, digits } = shaped(totpDevice, fields)
  if (confirmed === false) return
  const secret = base32(Buffer.from(key, "hex"))
  all.set(String(whose), totp({ secret, digits, seconds: step }))
}

function noteFactor({ factors }: Known, model: string, fields: unknown): void {
  const { user: whose, confirmed } = shaped(device, fields)
  if (confirmed !== false) {
    factors.set(String(whose), [...(factors.get(String(whose)) ?? []), model])
  }
}

function noteLink({ links }: Known, fields: unknown): void {
  const { user: whose, source, identifier } = shaped(connection, fields)
  if (!identifier) return
  const link = { provider: String(source), externalId: identifier, name: identifier }
  links.set(String(whose), [...(links.get(String(whose)) ?? []), link])
}

function read(known: Known, pk: string, given: z.output<typeof user>) {
  // Outposts and service accounts are no people.
  if (given.type?.includes("service_account")) return undefined
  const factors = known.factors.get(pk) ?? []
  const lost: Lost[] = factors.map((model) => ({
    part: "factors",
    why: `a factor of the kind ${model} stays behind`,
  }))
  return {
    id: given.uuid ?? "",
    userName: given.username,
    displayName: given.name ?? "",
    ...(given.email && { email: { value: given.email, verified: false } }),
    hash: takenOf(lost, "passwords", hashOf(given.password ?? "")),
    totp: takenOf(lost, "otp", known.totp.get(pk)),
    state: given.is_active === false ? ("inactive" as const) : ("active" as const),
    links: (known.links.get(pk) ?? []).map((link) => ({
      ...link,
      provider: known.slugs.get(link.provider) ?? link.provider,
    })),
    groups: (given.groups ?? given.ak_groups ?? []).map((each) => known.groups.get(each) ?? each),
    metadata: Object.fromEntries(
      Object.entries(given.attributes ?? {}).map(([key, value]) => [key, noted(value)]),
    ),
    lost,
  }
}

/** What Django's hashers write: the first word names one of them. */
function hashOf(hash: string): Made | undefined {
  // Django: "!" is a password that nobody can have.
  if (hash === "" || hash.startsWith("!")) return undefined
  const [hasher = "", ...rest] = hash.split("$")
  if (hasher.startsWith("pbkdf2_")) {
    const [rounds, salt = "", output = ""] = rest
    const digest = hasher.slice("pbkdf2_".length)
    return pbkdf2(digest, { rounds: Number(rounds), salt: saltOf(salt), output })
  }
  if (hasher === "argon2" || hasher === "bcrypt") {
    return { value: hash.slice(hash.indexOf("$")).replace(/^\$\$/, "$") }
  }
  if (hasher === "scrypt") {
    const [salt = "", n, r, p, output = ""] = rest
    const cost = `ln=${Math.log2(Number(n))},r=${r},p=${p}`
    return { value: `$scrypt$${cost}$${saltOf(salt)}$${bare(output)}` }
  }
  return { why: `Django's ${hasher} isn't understood` }
}
