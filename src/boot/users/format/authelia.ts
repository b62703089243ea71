import * as z from "zod/mini"
import { fileError } from "../source/text.ts"
import { readYaml } from "../source/yaml.ts"
import type { FileEntry, UserFormat } from "../user.ts"
import { metadataText, optionalOrNull, parseEntry } from "./entry.ts"

const file = z.object({ users: z.record(z.string(), z.unknown()) })

const user = z.object({
  displayname: optionalOrNull(z.string()),
  given_name: optionalOrNull(z.string()),
  family_name: optionalOrNull(z.string()),
  nickname: optionalOrNull(z.string()),
  email: optionalOrNull(z.string()),
  phone_number: optionalOrNull(z.string()),
  password: z.string(),
  disabled: optionalOrNull(z.boolean()),
  locale: optionalOrNull(z.string()),
  groups: optionalOrNull(z.array(z.string())),
  extra: optionalOrNull(z.record(z.string(), z.unknown())),
})
const entry = z.object({ name: z.string(), user: z.unknown() })

/** Authelia's user file. Second factors are in its database, which is not read. */
export const authelia: UserFormat = {
  help: "users_database.yml",
  open: async (path) => {
    const found = z.safeParse(file, await readYaml(path))
    if (!found.success) throw fileError(`${path} does not contain "users"`)
    const all = Object.entries(found.data.users)
    return {
      entries: () => readEntries(all),
      read: (value) => {
        const { name, user: exported } = parseEntry(entry, value)
        return read(name, parseEntry(user, exported))
      },
    }
  },
}

async function* readEntries(
  all: readonly (readonly [string, unknown])[],
): AsyncGenerator<FileEntry> {
  for (const [name, user] of all) yield { at: `user ${name}`, value: { name, user } }
}

const read = (name: string, exported: z.output<typeof user>) => ({
  userName: name,
  displayName: exported.displayname ?? "",
  givenName: exported.given_name ?? "",
  familyName: exported.family_name ?? "",
  nickName: exported.nickname ?? "",
  language: exported.locale ?? "",
  ...(exported.email && { email: { value: exported.email, verified: false } }),
  ...(exported.phone_number && { phone: { value: exported.phone_number, verified: false } }),
  // PHC or crypt(3) format; some versions add the prefix "{CRYPT}".
  hash: exported.password.replace(/^\{CRYPT\}/, ""),
  state: exported.disabled ? ("inactive" as const) : ("active" as const),
  groups: exported.groups ?? [],
  metadata: Object.fromEntries(
    Object.entries(exported.extra ?? {}).map(([key, value]) => [key, metadataText(value)]),
  ),
})
