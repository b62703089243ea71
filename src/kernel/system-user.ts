import * as z from "zod/mini"
import { importPublicKey } from "./crypto/signing-key.ts"
import { Fault } from "./fault.ts"

/** Who manages several instances: they sign their tokens themselves, with a key that we know. */
export type SystemUser = {
  readonly name: string
  /** In PEM. */
  readonly publicKey: string
  readonly roles: readonly string[]
}

const roles = ["SYSTEM_OWNER", "SYSTEM_OWNER_VIEWER"] as const

/** A name is an issuer of tokens, and never one that is an address, as ours are. */
const name = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

const schema = z.lazy(() =>
  z.array(
    z.strictObject({
      name: z.string().check(z.regex(name)),
      public_key: z.string(),
      roles: z._default(z.array(z.enum(roles)).check(z.minLength(1)), ["SYSTEM_OWNER"]),
    }),
  ),
)

/** Reads system users as they are configured; answers what is wrong as a text. */
export function systemUsersOf(given: unknown): readonly SystemUser[] | string {
  const parsed = schema.safeParse(given)
  if (!parsed.success) return wrong(parsed.error.issues[0]?.path ?? [])
  const names = parsed.data.map((each) => each.name)
  const twice = names.find((each, at) => names.indexOf(each) !== at)
  if (twice !== undefined) return `names ${twice} twice; a second key needs a name of its own`
  const users: SystemUser[] = []
  for (const { name, public_key: pem, roles } of parsed.data) {
    const key = keyOf(pem)
    if (key instanceof Fault) return `has a public_key for ${name} that won't do: ${key.message}`
    users.push({ name, publicKey: key, roles })
  }
  return users
}

function keyOf(pem: string): string | Fault {
  try {
    return importPublicKey(pem)
  } catch (cause) {
    if (cause instanceof Fault) return cause
    throw cause
  }
}

/** Where it is wrong, without the value. */
function wrong([index, field]: readonly PropertyKey[]): string {
  const shape = "must be a list of tables with name, public_key and, if need be, roles"
  if (typeof index !== "number" || field === undefined) return shape
  const rule = rules[String(field)]
  return rule ? `has a wrong ${String(field)} in table ${index + 1}: ${rule}` : shape
}

const rules: Readonly<Record<string, string>> = {
  name: "1 to 100 letters, digits, dots, dashes or underscores",
  public_key: "a public key in PEM",
  roles: `any of ${roles.join(", ")}`,
}
