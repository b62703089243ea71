import * as z from "zod/mini"
import { importPublicKey } from "./crypto/signing-key.ts"
import { Fault } from "./fault.ts"

/**
 * A user who manages several instances: they sign their own tokens, with a key from the
 * configuration.
 */
export type SystemUser = {
  readonly name: string
  /** In PEM. */
  readonly publicKey: string
  readonly roles: readonly string[]
}

const systemRoles = ["SYSTEM_OWNER", "SYSTEM_OWNER_VIEWER"] as const

/** A name is a token issuer, and can't be a URL, as instance issuers are. */
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

const schema = z.lazy(() =>
  z.array(
    z.strictObject({
      name: z.string().check(z.regex(namePattern)),
      public_key: z.string(),
      roles: z._default(z.array(z.enum(systemRoles)).check(z.minLength(1)), ["SYSTEM_OWNER"]),
    }),
  ),
)

/** Parses the configured system users; returns an error as text. */
export function parseSystemUsers(input: unknown): readonly SystemUser[] | string {
  const parsed = schema.safeParse(input)
  if (!parsed.success) return describeError(parsed.error.issues[0]?.path ?? [])
  const names = parsed.data.map((each) => each.name)
  const duplicate = names.find((each, at) => names.indexOf(each) !== at)
  if (duplicate !== undefined)
    return `contains ${duplicate} twice; use another name for a second key`
  const users: SystemUser[] = []
  for (const { name, public_key: pem, roles } of parsed.data) {
    const key = parseKey(pem)
    if (key instanceof Fault) return `has an invalid public_key for ${name}: ${key.message}`
    users.push({ name, publicKey: key, roles })
  }
  return users
}

function parseKey(pem: string): string | Fault {
  try {
    return importPublicKey(pem)
  } catch (cause) {
    if (cause instanceof Fault) return cause
    throw cause
  }
}

/** Describes the location of an error, without the value. */
function describeError([index, field]: readonly PropertyKey[]): string {
  const shape = "must be a list of tables with name, public_key and optionally roles"
  if (typeof index !== "number" || field === undefined) return shape
  const rule = fieldRules[String(field)]
  return rule ? `has an invalid value for ${String(field)} in table ${index + 1}: ${rule}` : shape
}

const fieldRules: Readonly<Record<string, string>> = {
  name: "1 to 100 letters, digits, dots, dashes or underscores",
  public_key: "a public key in PEM",
  roles: `any of ${systemRoles.join(", ")}`,
}
