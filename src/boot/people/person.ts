import * as z from "zod/mini"
import type { Part } from "./names.ts"

const text = z._default(z.string(), "")
const texts = z._default(z.readonly(z.array(z.string())), [])

const contact = z.lazy(() => z.strictObject({ value: z.string(), verified: z.boolean() }))

/** An account elsewhere: at which provider, by its id here, who, and by which name. */
const link = z.lazy(() =>
  z.strictObject({ provider: z.string(), externalId: z.string(), name: z.string() }),
)

/**
 * A person as every format is read into, as `latchkey users export --format json` writes them, and
 * as a server is handed them.
 */
export const person = z.lazy(() =>
  z.strictObject({
    /** Derived from the user name where the source has none, so that it is the same each time. */
    id: text,
    userName: z.string(),
    givenName: text,
    familyName: text,
    displayName: text,
    nickName: text,
    /** BCP 47. */
    language: text,
    gender: z._default(z.enum(["unspecified", "female", "male", "diverse"]), "unspecified"),
    email: z.optional(contact),
    phone: z.optional(contact),
    /** In a form that the server checks passwords against: PHC, crypt(3) and their like. */
    hash: text,
    changePassword: z._default(z.boolean(), false),
    /** The secret of an authenticator app in base32 (RFC 4648 §6). */
    totp: text,
    state: z._default(z.enum(["active", "inactive", "locked"]), "active"),
    links: z._default(z.readonly(z.array(link)), []),
    /** Names of groups, and keys of roles on the project that the import names. */
    groups: texts,
    roles: texts,
    metadata: z._default(z.record(z.string(), z.string()), {}),
  }),
)
export type Person = Readonly<z.output<typeof person>>

/** What stands in the source and can't be taken over, and why. */
export type Lost = { readonly part: Part; readonly why: string }

/** What a format makes of an entry; whatever it doesn't say is empty. */
export type Read = z.input<typeof person> & { readonly lost?: readonly Lost[] }

/** One entry of a file; `at` says where it stands ("line 7"), `wrong` why it can't be read. */
export type Entry = {
  readonly at: string
  readonly value: unknown
  readonly wrong?: string | undefined
}

/** A file of another product, opened. */
export type Source = {
  /** From the beginning, each time that it is called. */
  readonly entries: () => AsyncIterable<Entry>
  /** Throws a Fault that says what is amiss; undefined for what is no person. */
  readonly read: (value: unknown) => Read | undefined
}

/** How a product writes people down. */
export type Format = {
  /** What the file is, for who has to make it. */
  readonly help: string
  readonly open: (path: string) => Promise<Source>
}
