import * as z from "zod/mini"
import type { Entry, Format } from "../person.ts"
import { fileError } from "../source/text.ts"
import { yamlOf } from "../source/yaml.ts"
import { maybe, noted, shaped } from "./entry.ts"

const file = z.object({ users: z.record(z.string(), z.unknown()) })

const user = z.object({
  displayname: maybe(z.string()),
  given_name: maybe(z.string()),
  family_name: maybe(z.string()),
  nickname: maybe(z.string()),
  email: maybe(z.string()),
  phone_number: maybe(z.string()),
  password: z.string(),
  disabled: maybe(z.boolean()),
  locale: maybe(z.string()),
  groups: maybe(z.array(z.string())),
  extra: maybe(z.record(z.string(), z.unknown())),
})
const entry = z.object({ name: z.string(), user: z.unknown() })

/** Authelia's file of users; second factors stand in its database, which it doesn't name. */
export const authelia: Format = {
  help: "users_database.yml",
  open: async (path) => {
    const found = z.safeParse(file, await yamlOf(path))
    if (!found.success) throw fileError(`${path} has no "users" that are named`)
    const all = Object.entries(found.data.users)
    return {
      entries: () => entriesOf(all),
      read: (value) => {
        const { name, user: given } = shaped(entry, value)
        return read(name, shaped(user, given))
      },
    }
  },
}

async function* entriesOf(all: readonly (readonly [string, unknown])[]): AsyncGenerator<Entry> {
  for (const [name, user] of all) yield { at: `user ${name}`, value: { name, user } }
}

const read = (name: string, given: z.output<typeof user>) => ({
  userName: name,
  displayName: given.displayname ?? "",
  givenName: given.given_name ?? "",
  familyName: given.family_name ?? "",
  nickName: given.nickname ?? "",
  language: given.locale ?? "",
  ...(given.email && { email: { value: given.email, verified: false } }),
  ...(given.phone_number && { phone: { value: given.phone_number, verified: false } }),
  // In PHC form, or crypt(3)'s; some versions write the word "{CRYPT}" before it.
  hash: given.password.replace(/^\{CRYPT\}/, ""),
  state: given.disabled ? ("inactive" as const) : ("active" as const),
  groups: given.groups ?? [],
  metadata: Object.fromEntries(
    Object.entries(given.extra ?? {}).map(([key, value]) => [key, noted(value)]),
  ),
})
