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
  domainInName,
  type Gender,
  type Human,
  type Profile,
  type UserEvent,
} from "../user-model/index.ts"

/** Texts that are also kept folded, for comparisons that ignore case. */
const foldedColumns = [
  "user_name",
  "given_name",
  "family_name",
  "nick_name",
  "display_name",
  "email",
] as const

/** Texts that are looked for anywhere in them. */
const texts = [
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
    /** Position of the proof that the address is the user's; 0 where none was stored. */
    email_proven: integer(),
    phone: text(),
    phone_verified: bool(),
    phone_proven: integer(),
    change_required: bool(),
    /** 0 where there is no password. */
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
      // With what nearly all are alike in, which is then counted without a look at the rows.
      created: ["created", "id", "status", "kind", "nick_name_folded", "nick_name", "phone"],
      // With the organisation, whose domains are parts of its people's login names.
      name: ["user_name_folded", "user_name", "org"],
      given: ["given_name_folded", "given_name"],
      family: ["family_name_folded", "family_name"],
      nick: ["nick_name_folded", "nick_name", "created"],
      display: ["display_name_folded", "display_name"],
      // Looked through together with the display name.
      listed: ["listed_name_folded", "display_name_folded"],
      email: ["email_folded", "email"],
      phone: ["phone"],
      status: ["status", "created"],
      kind: ["kind", "created"],
      domain: ["name_domain"],
    },
    dominant: { nick: "", phone: "", status: "active", kind: "human", domain: "" },
    texts,
  },
)

/** A user as listed; times are ms UTC. What a kind does not have is empty. */
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

/** A key of a service user as listed. */
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

/** A personal access token as listed; what it is nobody can show. */
export type UserTokenRow = RowOf<typeof tokenTable>

const change = (
  db: ViewWriter,
  { id, time, version }: Envelope,
  changes: ChangesOf<typeof userTable>,
) => userTable.update(db, { id }, { ...changes, changed: time, version })

const touch = (db: ViewWriter, event: Envelope) => change(db, event, {})

/** Columns of what belongs to a user, as the event that adds it sets them. */
const addedBy = ({ id, owner, time, version }: Envelope) => ({
  user_id: id,
  org: owner,
  created: time,
  changed: time,
  version,
})

/** A service user's name is kept where a person's display name is: both are what one reads. */
export const userView = view<UserEvent>({
  name: "user",
  revision: 3,
  tables: [userTable, keyTable, tokenTable],
  on: {
    "user.human.added": (db, event) => {
      const { data, private: secret, position } = event
      const { emailVerified, emailVerifier, phoneVerified, phoneVerifier } = data
      userTable.insert(db, {
        ...blankBy(event),
        ...namesOf(secret),
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
        ...blankBy(event),
        ...namesOf(event.private),
        ...machineColumns(event.private),
        kind: "machine",
        token_type: event.data.accessTokenType,
      }),
    "user.username.changed": (db, event) => change(db, event, namesOf(event.private)),
    "user.username.released": touch,
    "user.domain.claimed": (db, event) => change(db, event, namesOf(event.private)),
    "user.human.profile.changed": (db, event) =>
      change(db, event, profileColumns(event.private ?? undefined)),
    "user.human.email.changed": (db, event) =>
      change(db, event, {
        ...emailColumns(event.private?.email ?? ""),
        email_verified: false,
        email_proven: 0,
      }),
    "user.human.email.verified": (db, event) => {
      const email_proven = event.data.verifier?.by === "user" ? event.position : 0
      change(db, event, { email_verified: true, email_proven })
    },
    "user.human.email.code.added": touch,
    "user.human.phone.changed": (db, event) => changePhone(db, event, event.private?.phone ?? ""),
    "user.human.phone.verified": (db, event) => {
      const phone_proven = event.data.verifier?.by === "user" ? event.position : 0
      change(db, event, { phone_verified: true, phone_proven })
    },
    "user.human.phone.code.added": touch,
    "user.human.phone.removed": (db, event) => changePhone(db, event, ""),
    "user.human.invite.code.added": touch,
    "user.human.invite.check.succeeded": touch,
    "user.human.avatar.added": touch,
    "user.human.avatar.removed": touch,
    "user.human.password.changed": (db, event) =>
      change(db, event, {
        change_required: event.data.changeRequired,
        password_changed: event.time,
      }),
    "user.machine.changed": (db, event) =>
      change(db, event, {
        ...machineColumns(event.private),
        token_type: event.data.accessTokenType,
      }),
    "user.machine.key.added": (db, event) => {
      const { keyId, publicKey, expires } = event.data
      keyTable.insert(db, { ...addedBy(event), key_id: keyId, public_key: publicKey, expires })
      touch(db, event)
    },
    "user.machine.key.removed": (db, event) => {
      keyTable.remove(db, { user_id: event.id, key_id: event.data.keyId })
      touch(db, event)
    },
    "user.machine.secret.set": (db, event) => change(db, event, { has_secret: true }),
    "user.machine.secret.removed": (db, event) => change(db, event, { has_secret: false }),
    "user.pat.added": (db, event) => {
      const { tokenId, expires, scopes } = event.data
      const name = event.private?.name ?? ""
      tokenTable.insert(db, { ...addedBy(event), id: tokenId, name, expires, scopes })
      touch(db, event)
    },
    "user.pat.removed": (db, event) => {
      tokenTable.remove(db, { user_id: event.id, id: event.data.tokenId })
      touch(db, event)
    },
    "user.metadata.set": touch,
    "user.metadata.removed": touch,
    "user.deactivated": (db, event) => change(db, event, { status: "inactive" }),
    "user.reactivated": (db, event) => change(db, event, { status: "active" }),
    "user.locked": (db, event) => change(db, event, { status: "locked" }),
    "user.unlocked": (db, event) => change(db, event, { status: "active" }),
    "user.removed": (db, { id }) => {
      userTable.remove(db, { id })
      keyTable.remove(db, { user_id: id })
      tokenTable.remove(db, { user_id: id })
    },
  },
})

const changePhone = (db: ViewWriter, event: Envelope, phone: string) =>
  change(db, event, { phone, phone_verified: false, phone_proven: 0 })

/** A new user with nothing that depends on the kind. */
const blankBy = ({ id, owner, time, version }: Envelope) =>
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

/** The names of a removed user are erased; a replay passes through such a row and deletes it. */
function namesOf(secret: { userName: string } | null) {
  const { userName = "" } = secret ?? {}
  return {
    user_name: userName,
    user_name_folded: fold(userName),
    name_domain: domainInName(userName),
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
    // As directories have it, surname first.
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
 * A condition on users that they have an address, which `emailValues` gives the values of. Rows of
 * an earlier version, which serve until they are made anew, have the exact form in `email_folded`.
 */
export const hasEmail = `email_folded IN ($emailFolded, $emailExact)
   AND coalesce(email_exact, email_folded) = $emailExact`

/** An address in the form in which it is looked for, with one sigma, and as it is compared. */
export function emailValues(address: string) {
  const emailExact = foldEmail(address)
  return { emailFolded: fold(emailExact), emailExact }
}

/** The same as a row has it: once where both are one. */
function emailColumns(email: string) {
  const { emailFolded, emailExact } = emailValues(email)
  return {
    email,
    email_folded: emailFolded,
    email_exact: emailExact === emailFolded ? null : emailExact,
  }
}

/** Searches see the users of the caller's organisations, and the caller. */
export const users = userTable.searchable({
  key: "id",
  sort: "created",
  owner: { org: "org", self: "id" },
  columns: ["org", "status", "kind", ...texts, "created"],
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
