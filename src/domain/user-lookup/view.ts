import { foldEmail } from "../../protocol/email.ts"
import {
  bool,
  type ChangesOf,
  type Envelope,
  fold,
  foldName,
  integer,
  json,
  nullable,
  type RowOf,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import {
  type AccessTokenType,
  domainOfName,
  type Gender,
  type Human,
  type Profile,
  type UserEvent,
} from "../user-model/index.ts"

/** Columns with a folded copy for case-insensitive comparison. */
const foldedColumns = [
  "user_name",
  "given_name",
  "family_name",
  "nick_name",
  "display_name",
  "email",
] as const

/** Columns with substring search. */
const searchedColumns = [
  ...foldedColumns,
  ...foldedColumns.map((name) => `${name}_folded` as const),
  "listed_name_folded",
  "phone",
] as const

export const userTable = table(
  "users",
  {
    id: text(),
    org: text(),
    status: text<Human["status"]>(),
    kind: text<"human" | "machine">(),
    user_name: text(),
    user_name_folded: text(),
    name_domain: text(),
    given_name: text(),
    given_name_folded: text(),
    family_name: text(),
    family_name_folded: text(),
    nick_name: text(),
    nick_name_folded: text(),
    display_name: text(),
    display_name_folded: text(),
    listed_name_folded: text(),
    preferred_language: text(),
    gender: text<Gender>(),
    email: text(),
    email_folded: text(),
    email_exact: nullable(text()),
    email_verified: bool(),
    /** Event position of the verification by the user; 0 if none was stored. */
    email_proven: integer(),
    phone: text(),
    phone_verified: bool(),
    phone_proven: integer(),
    change_required: bool(),
    /** 0 if there is no password. */
    password_changed: integer(),
    description: text(),
    token_type: text<AccessTokenType>(),
    has_secret: bool(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  {
    key: ["id"],
    indexes: {
      org: ["org", "created"],
      // Includes columns that are equal for nearly all users, so that counting doesn't read the
      // rows.
      created: ["created", "id", "status", "kind", "nick_name_folded", "nick_name", "phone"],
      // With the organization, whose domains are part of login names.
      name: ["user_name_folded", "user_name", "org"],
      given: ["given_name_folded", "given_name"],
      family: ["family_name_folded", "family_name"],
      nick: ["nick_name_folded", "nick_name", "created"],
      display: ["display_name_folded", "display_name"],
      // Searched together with the display name.
      listed: ["listed_name_folded", "display_name_folded"],
      email: ["email_folded", "email"],
      phone: ["phone"],
      status: ["status", "created"],
      kind: ["kind", "created"],
      domain: ["name_domain"],
    },
    dominant: { nick: "", phone: "", status: "active", kind: "human", domain: "" },
    texts: searchedColumns,
  },
)

/** A listed user; times are ms UTC. Columns that don't apply to the kind are empty. */
export type UserRow = RowOf<typeof userTable>

const keyTable = table(
  "user_keys",
  {
    key_id: text(),
    user_id: text(),
    org: text(),
    public_key: text(),
    expires: integer(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  { key: ["user_id", "key_id"] },
)

/** A listed key of a service account. */
export type UserKeyRow = RowOf<typeof keyTable>

const tokenTable = table(
  "user_tokens",
  {
    id: text(),
    user_id: text(),
    org: text(),
    name: text(),
    expires: integer(),
    scopes: json<readonly string[]>(),
    created: integer(),
    changed: integer(),
    version: integer(),
  },
  { key: ["user_id", "id"] },
)

/** A listed personal access token, without the token itself. */
export type UserTokenRow = RowOf<typeof tokenTable>

const updateRow = (
  db: ViewWriter,
  { id, time, version }: Envelope,
  changes: ChangesOf<typeof userTable>,
) => userTable.update(db, { id }, { ...changes, changed: time, version })

const touchRow = (db: ViewWriter, event: Envelope) => updateRow(db, event, {})

/** Columns of a credential, as set by the event that adds it. */
const addedColumns = ({ id, owner, time, version }: Envelope) => ({
  user_id: id,
  org: owner,
  created: time,
  changed: time,
  version,
})

/** The name of a service account is stored as display name. */
export const userView = view<UserEvent>({
  name: "user",
  revision: 3,
  tables: [userTable, keyTable, tokenTable],
  on: {
    "user.human.added": (db, event) => {
      const { data, private: secret, position } = event
      const { emailVerified, emailVerifier, phoneVerified, phoneVerifier } = data
      userTable.insert(db, {
        ...newUserColumns(event),
        ...nameColumns(secret),
        ...profileColumns(secret?.profile),
        kind: "human",
        ...emailColumns(secret?.email ?? ""),
        email_verified: emailVerified,
        email_proven: emailVerified && emailVerifier?.by === "user" ? position : 0,
        phone: secret?.phone ?? "",
        phone_verified: phoneVerified,
        phone_proven: phoneVerified && phoneVerifier?.by === "user" ? position : 0,
      })
    },
    "user.machine.added": (db, event) =>
      userTable.insert(db, {
        ...newUserColumns(event),
        ...nameColumns(event.private),
        ...machineColumns(event.private),
        kind: "machine",
        token_type: event.data.accessTokenType,
      }),
    "user.username.changed": (db, event) => updateRow(db, event, nameColumns(event.private)),
    "user.username.released": touchRow,
    "user.domain.claimed": (db, event) => updateRow(db, event, nameColumns(event.private)),
    "user.human.profile.changed": (db, event) =>
      updateRow(db, event, profileColumns(event.private ?? undefined)),
    "user.human.email.changed": (db, event) =>
      updateRow(db, event, {
        ...emailColumns(event.private?.email ?? ""),
        email_verified: false,
        email_proven: 0,
      }),
    "user.human.email.verified": (db, event) => {
      const email_proven = event.data.verifier?.by === "user" ? event.position : 0
      updateRow(db, event, { email_verified: true, email_proven })
    },
    "user.human.email.code.added": touchRow,
    "user.human.phone.changed": (db, event) => updatePhone(db, event, event.private?.phone ?? ""),
    "user.human.phone.verified": (db, event) => {
      const phone_proven = event.data.verifier?.by === "user" ? event.position : 0
      updateRow(db, event, { phone_verified: true, phone_proven })
    },
    "user.human.phone.code.added": touchRow,
    "user.human.phone.removed": (db, event) => updatePhone(db, event, ""),
    "user.human.invite.code.added": touchRow,
    "user.human.invite.check.succeeded": touchRow,
    "user.human.avatar.added": touchRow,
    "user.human.avatar.removed": touchRow,
    "user.human.password.changed": (db, event) =>
      updateRow(db, event, {
        change_required: event.data.changeRequired,
        password_changed: event.time,
      }),
    "user.machine.changed": (db, event) =>
      updateRow(db, event, {
        ...machineColumns(event.private),
        token_type: event.data.accessTokenType,
      }),
    "user.machine.key.added": (db, event) => {
      const { keyId, publicKey, expires } = event.data
      keyTable.insert(db, { ...addedColumns(event), key_id: keyId, public_key: publicKey, expires })
      touchRow(db, event)
    },
    "user.machine.key.removed": (db, event) => {
      keyTable.remove(db, { user_id: event.id, key_id: event.data.keyId })
      touchRow(db, event)
    },
    "user.machine.secret.set": (db, event) => updateRow(db, event, { has_secret: true }),
    "user.machine.secret.removed": (db, event) => updateRow(db, event, { has_secret: false }),
    "user.pat.added": (db, event) => {
      const { tokenId, expires, scopes } = event.data
      const name = event.private?.name ?? ""
      tokenTable.insert(db, { ...addedColumns(event), id: tokenId, name, expires, scopes })
      touchRow(db, event)
    },
    "user.pat.removed": (db, event) => {
      tokenTable.remove(db, { user_id: event.id, id: event.data.tokenId })
      touchRow(db, event)
    },
    "user.metadata.set": touchRow,
    "user.metadata.removed": touchRow,
    "user.deactivated": (db, event) => updateRow(db, event, { status: "inactive" }),
    "user.reactivated": (db, event) => updateRow(db, event, { status: "active" }),
    "user.locked": (db, event) => updateRow(db, event, { status: "locked" }),
    "user.unlocked": (db, event) => updateRow(db, event, { status: "active" }),
    "user.removed": (db, { id }) => {
      userTable.remove(db, { id })
      keyTable.remove(db, { user_id: id })
      tokenTable.remove(db, { user_id: id })
    },
  },
})

const updatePhone = (db: ViewWriter, event: Envelope, phone: string) =>
  updateRow(db, event, { phone, phone_verified: false, phone_proven: 0 })

/** Columns of a new user that don't depend on the kind. */
const newUserColumns = ({ id, owner, time, version }: Envelope) =>
  ({
    id,
    org: owner,
    status: "active",
    ...profileColumns(undefined),
    ...emailColumns(""),
    email_verified: false,
    email_proven: 0,
    phone: "",
    phone_verified: false,
    phone_proven: 0,
    change_required: false,
    password_changed: 0,
    description: "",
    token_type: "bearer",
    has_secret: false,
    created: time,
    changed: time,
    version,
  }) as const

/**
 * The names of a removed user are erased; a replay still processes the row before it deletes it.
 */
function nameColumns(secret: { userName: string } | null) {
  const { userName = "" } = secret ?? {}
  return {
    user_name: userName,
    user_name_folded: fold(userName),
    name_domain: domainOfName(userName),
  }
}

function profileColumns(profile: Profile | undefined) {
  const { givenName = "", familyName = "", nickName = "", displayName = "" } = profile ?? {}
  return {
    given_name: givenName,
    given_name_folded: foldName(givenName),
    family_name: familyName,
    family_name_folded: foldName(familyName),
    nick_name: nickName,
    nick_name_folded: foldName(nickName),
    display_name: displayName,
    display_name_folded: foldName(displayName),
    // Family name first, as in directories.
    listed_name_folded: foldName(`${familyName} ${givenName}`.trim() || displayName),
    preferred_language: profile?.preferredLanguage ?? "",
    gender: profile?.gender ?? "unspecified",
  } as const
}

function machineColumns(secret: { name: string; description: string } | null) {
  const { name = "", description = "" } = secret ?? {}
  const folded = foldName(name)
  return {
    display_name: name,
    display_name_folded: folded,
    listed_name_folded: folded,
    description,
  }
}

/**
 * SQL condition for users with an address; `emailValues` returns its parameters. Rows of an earlier
 * version, used until they are rebuilt, have the exact form in `email_folded`.
 */
export const hasEmail = `email_folded IN ($emailFolded, $emailExact)
   AND coalesce(email_exact, email_folded) = $emailExact`

/** The search forms of an address: with a unified sigma, and exact. */
export function emailValues(address: string) {
  const emailExact = foldEmail(address)
  return { emailFolded: fold(emailExact), emailExact }
}

/** The columns of an address; the exact form is null if both are equal. */
function emailColumns(email: string) {
  const { emailFolded, emailExact } = emailValues(email)
  return {
    email,
    email_folded: emailFolded,
    email_exact: emailExact === emailFolded ? null : emailExact,
  }
}

/** Searches return users of the caller's organizations, and the caller. */
export const users = userTable.searchable({
  key: "id",
  sort: "created",
  owner: { org: "org", self: "id" },
  columns: ["org", "status", "kind", ...searchedColumns, "created"],
  names: ["given_name", "family_name", "nick_name", "display_name", "listed_name"],
  also: { display_name_folded: "listed_name_folded" },
})

export const userKeys = keyTable.searchable({
  key: "key_id",
  sort: "created",
  owner: { org: "org", self: "user_id" },
  columns: ["user_id", "org", "expires", "created"],
})

export const userTokens = tokenTable.searchable({
  key: "id",
  sort: "created",
  owner: { org: "org", self: "user_id" },
  columns: ["user_id", "org", "expires", "created"],
})
