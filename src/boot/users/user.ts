import * as z from "zod/mini"
import type { Part } from "./names.ts"

const text = z._default(z.string(), "")
const texts = z._default(z.readonly(z.array(z.string())), [])

const contact = z.lazy(() => z.strictObject({ value: z.string(), verified: z.boolean() }))

/**
 * An account at an identity provider: the ID of the provider here, the user's ID there, and a name.
 */
const link = z.lazy(() =>
  z.strictObject({ provider: z.string(), externalId: z.string(), name: z.string() }),
)

/**
 * A user as all formats are converted to, as `latchkey users export --format json` writes it, and
 * as the server receives it.
 */
export const userSchema = z.lazy(() =>
  z.strictObject({
    /** Derived from the user name if the source has none, so that it is the same in every run. */
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
    /** In a format that the server can verify: PHC, crypt(3) and similar. */
    hash: text,
    changePassword: z._default(z.boolean(), false),
    /** The secret of an authenticator app in base32 (RFC 4648 §6). */
    totp: text,
    state: z._default(z.enum(["active", "inactive", "locked"]), "active"),
    links: z._default(z.readonly(z.array(link)), []),
    /** The names of groups, and the keys of roles on the project of the import. */
    groups: texts,
    roles: texts,
    metadata: z._default(z.record(z.string(), z.string()), {}),
  }),
)
export type TransferUser = Readonly<z.output<typeof userSchema>>

/** Data of the source that can't be imported, with the reason. */
export type Loss = { readonly part: Part; readonly why: string }

/** The data that a format reads from an entry; other fields are empty. */
export type ReadUser = z.input<typeof userSchema> & { readonly lost?: readonly Loss[] }

/** One entry of a file; `at` is its position ("line 7") and `wrong` why it can't be parsed. */
export type FileEntry = {
  readonly at: string
  readonly value: unknown
  readonly problem?: string | undefined
}

/** An opened file of another product. */
export type UserSource = {
  /** Reads from the beginning with every call. */
  readonly entries: () => AsyncIterable<FileEntry>
  /** Throws a Fault if the entry is invalid; returns undefined if it is not a user. */
  readonly read: (value: unknown) => ReadUser | undefined
}

/** The export format of a product. */
export type UserFormat = {
  /** How to create the file. */
  readonly help: string
  readonly open: (path: string) => Promise<UserSource>
}
