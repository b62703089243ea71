import { foldEmail } from "../../kernel/text/email.ts"
import { fold, foldName, type Searchable, statement, view } from "../../store/index.ts"
import {
  type AccessTokenType,
  domainInName,
  type Gender,
  type Human,
  type Profile,
  type UserEvent,
} from "../user-model/index.ts"

/** A user as listed; times are ms UTC, flags 0 or 1. What a kind does not have is empty. */
export type UserRow = {
  readonly id: string
  readonly org: string
  readonly status: Human["status"]
  readonly kind: "human" | "machine"
  readonly user_name: string
  readonly given_name: string
  readonly family_name: string
  readonly nick_name: string
  readonly display_name: string
  readonly preferred_language: string
  readonly gender: Gender
  readonly email: string
  readonly email_verified: number
  /** Position of the proof that the address is the user's; 0 where none was stored. */
  readonly email_proven: number
  readonly phone: string
  readonly phone_verified: number
  readonly change_required: number
  /** 0 where there is no password. */
  readonly password_changed: number
  readonly description: string
  readonly token_type: AccessTokenType
  readonly has_secret: number
  readonly created: number
  readonly changed: number
  readonly version: number
}

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
  ...foldedColumns.map((name) => `${name}_folded`),
  "listed_name_folded",
  "phone",
]

const insert = statement(
  `INSERT INTO users (instance, id, org, status, kind, user_name, user_name_folded, name_domain,
     given_name, given_name_folded, family_name, family_name_folded, nick_name,
     nick_name_folded, display_name, display_name_folded, listed_name_folded,
     preferred_language, gender, email, email_folded, email_exact,
     email_verified, email_proven, phone, phone_verified, phone_proven,
     change_required, password_changed, description, token_type, has_secret, created, changed,
     version)
   VALUES ($instance, $id, $owner, 'active', $kind, $userName, $userNameFolded, $nameDomain,
     $givenName, $givenNameFolded, $familyName, $familyNameFolded, $nickName,
     $nickNameFolded, $displayName, $displayNameFolded, $listedNameFolded,
     $preferredLanguage, $gender, $email, $emailFolded, $emailExact,
     $emailVerified, $emailProven, $phone, $phoneVerified, $phoneProven,
     0, 0, $description, $tokenType, 0, $time, $time, $version)`,
)

const update = (columns: string) =>
  statement(
    `UPDATE users SET ${columns}, changed = $time, version = $version
     WHERE instance = $instance AND id = $id`,
  )
const touch = statement(
  `UPDATE users SET changed = $time, version = $version
   WHERE instance = $instance AND id = $id`,
)
const setStatus = update("status = $status")
const setNames = update(
  "user_name = $userName, user_name_folded = $userNameFolded, name_domain = $nameDomain",
)
const setProfile = update(
  `given_name = $givenName, given_name_folded = $givenNameFolded, family_name = $familyName,
   family_name_folded = $familyNameFolded, nick_name = $nickName,
   nick_name_folded = $nickNameFolded, display_name = $displayName,
   display_name_folded = $displayNameFolded, listed_name_folded = $listedNameFolded,
   preferred_language = $preferredLanguage, gender = $gender`,
)
const setEmail = update(
  `email = $email, email_folded = $emailFolded, email_exact = $emailExact, email_verified = 0,
   email_proven = 0`,
)
const verifyEmail = update("email_verified = 1, email_proven = $emailProven")
const setPhone = update("phone = $phone, phone_verified = 0, phone_proven = 0")
const verifyPhone = update("phone_verified = 1, phone_proven = $phoneProven")
const setPassword = update("change_required = $changeRequired, password_changed = $time")
const setMachine = update(
  `display_name = $displayName, display_name_folded = $displayNameFolded,
   listed_name_folded = $listedNameFolded, description = $description, token_type = $tokenType`,
)
const setSecret = update("has_secret = $hasSecret")
const remove = statement("DELETE FROM users WHERE instance = $instance AND id = $id")

const addKey = statement(
  `INSERT INTO user_keys (instance, key_id, user_id, org, public_key, expires, created, changed,
     version)
   VALUES ($instance, $keyId, $id, $owner, $publicKey, $expires, $time, $time, $version)`,
)
const removeKey = statement(
  "DELETE FROM user_keys WHERE instance = $instance AND user_id = $id AND key_id = $keyId",
)
const removeKeys = statement("DELETE FROM user_keys WHERE instance = $instance AND user_id = $id")

const addToken = statement(
  `INSERT INTO user_tokens (instance, id, user_id, org, name, expires, scopes, created, changed,
     version)
   VALUES ($instance, $tokenId, $id, $owner, $name, $expires, $scopes, $time, $time, $version)`,
)
const removeToken = statement(
  "DELETE FROM user_tokens WHERE instance = $instance AND user_id = $id AND id = $tokenId",
)
const removeTokens = statement(
  "DELETE FROM user_tokens WHERE instance = $instance AND user_id = $id",
)

/** A service user's name is kept where a person's display name is: both are what one reads. */
export const userView = view<UserEvent>({
  name: "user",
  revision: 3,
  texts: { users: texts },
  tables: {
    users: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, status TEXT NOT NULL, kind TEXT NOT NULL,
        user_name TEXT NOT NULL, user_name_folded TEXT NOT NULL,
        name_domain TEXT NOT NULL,
        given_name TEXT NOT NULL, given_name_folded TEXT NOT NULL,
        family_name TEXT NOT NULL, family_name_folded TEXT NOT NULL,
        nick_name TEXT NOT NULL, nick_name_folded TEXT NOT NULL,
        display_name TEXT NOT NULL, display_name_folded TEXT NOT NULL,
        listed_name_folded TEXT NOT NULL,
        preferred_language TEXT NOT NULL, gender TEXT NOT NULL,
        email TEXT NOT NULL, email_folded TEXT NOT NULL, email_exact TEXT,
        email_verified INTEGER NOT NULL, email_proven INTEGER NOT NULL,
        phone TEXT NOT NULL, phone_verified INTEGER NOT NULL,
        phone_proven INTEGER NOT NULL,
        change_required INTEGER NOT NULL, password_changed INTEGER NOT NULL,
        description TEXT NOT NULL, token_type TEXT NOT NULL, has_secret INTEGER NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL, version INTEGER NOT NULL`,
      key: "id",
      indexes: {
        org: "org, created",
        // With what nearly all are alike in, which is then counted without a look at the rows.
        created: "created, id, status, kind, nick_name_folded, nick_name, phone",
        // With the organisation, whose domains are parts of its people's login names.
        name: "user_name_folded, user_name, org",
        given: "given_name_folded, given_name",
        family: "family_name_folded, family_name",
        nick: "nick_name_folded, nick_name, created",
        display: "display_name_folded, display_name",
        // Looked through together with the display name.
        listed: "listed_name_folded, display_name_folded",
        email: "email_folded, email",
        phone: "phone",
        status: "status, created",
        kind: "kind, created",
        domain: "name_domain",
      },
      dominant: { nick: "", phone: "", status: "active", kind: "human", domain: "" },
    },
    user_keys: {
      columns: `key_id TEXT NOT NULL, user_id TEXT NOT NULL, org TEXT NOT NULL,
        public_key TEXT NOT NULL, expires INTEGER NOT NULL, created INTEGER NOT NULL,
        changed INTEGER NOT NULL, version INTEGER NOT NULL`,
      key: "user_id, key_id",
    },
    user_tokens: {
      columns: `id TEXT NOT NULL, user_id TEXT NOT NULL, org TEXT NOT NULL, name TEXT NOT NULL,
        expires INTEGER NOT NULL, scopes TEXT NOT NULL, created INTEGER NOT NULL,
        changed INTEGER NOT NULL, version INTEGER NOT NULL`,
      key: "user_id, id",
    },
  },
  on: {
    "user.human.added": (db, { data, private: secret, position }) =>
      db.run(insert, {
        ...blank,
        ...namesOf(secret),
        ...profileColumns(secret?.profile),
        kind: "human",
        email: secret?.email ?? "",
        ...emailColumns(secret?.email ?? ""),
        emailVerified: data.emailVerified,
        emailProven: data.emailVerified && data.emailVerifier?.by === "user" ? position : 0,
        phone: secret?.phone ?? "",
        phoneVerified: data.phoneVerified,
        phoneProven: data.phoneVerified && data.phoneVerifier?.by === "user" ? position : 0,
      }),
    "user.machine.added": (db, { data, private: secret }) =>
      db.run(insert, {
        ...blank,
        ...namesOf(secret),
        ...machineColumns(secret),
        kind: "machine",
        tokenType: data.accessTokenType,
      }),
    "user.username.changed": (db, { private: secret }) => db.run(setNames, namesOf(secret)),
    "user.username.released": (db) => db.run(touch),
    "user.domain.claimed": (db, { private: secret }) => db.run(setNames, namesOf(secret)),
    "user.human.profile.changed": (db, { private: secret }) =>
      db.run(setProfile, profileColumns(secret ?? undefined)),
    "user.human.email.changed": (db, { private: secret }) => {
      const email = secret?.email ?? ""
      db.run(setEmail, { email, ...emailColumns(email) })
    },
    "user.human.email.verified": (db, { data, position }) =>
      db.run(verifyEmail, { emailProven: data.verifier?.by === "user" ? position : 0 }),
    "user.human.email.code.added": (db) => db.run(touch),
    "user.human.phone.changed": (db, { private: secret }) =>
      db.run(setPhone, { phone: secret?.phone ?? "" }),
    "user.human.phone.verified": (db, { data, position }) =>
      db.run(verifyPhone, { phoneProven: data.verifier?.by === "user" ? position : 0 }),
    "user.human.phone.code.added": (db) => db.run(touch),
    "user.human.phone.removed": (db) => db.run(setPhone, { phone: "" }),
    "user.human.invite.code.added": (db) => db.run(touch),
    "user.human.invite.check.succeeded": (db) => db.run(touch),
    "user.human.avatar.added": (db) => db.run(touch),
    "user.human.avatar.removed": (db) => db.run(touch),
    "user.human.password.changed": (db, { data }) =>
      db.run(setPassword, { changeRequired: data.changeRequired }),
    "user.machine.changed": (db, { data, private: secret }) =>
      db.run(setMachine, { ...machineColumns(secret), tokenType: data.accessTokenType }),
    "user.machine.key.added": (db, { data }) => {
      db.run(addKey, data)
      db.run(touch)
    },
    "user.machine.key.removed": (db, { data }) => {
      db.run(removeKey, data)
      db.run(touch)
    },
    "user.machine.secret.set": (db) => db.run(setSecret, { hasSecret: true }),
    "user.machine.secret.removed": (db) => db.run(setSecret, { hasSecret: false }),
    "user.pat.added": (db, { data: { scopes, ...data }, private: secret }) => {
      db.run(addToken, { ...data, name: secret?.name ?? "", scopes: JSON.stringify(scopes) })
      db.run(touch)
    },
    "user.pat.removed": (db, { data }) => {
      db.run(removeToken, data)
      db.run(touch)
    },
    "user.metadata.set": (db) => db.run(touch),
    "user.metadata.removed": (db) => db.run(touch),
    "user.deactivated": (db) => db.run(setStatus, { status: "inactive" }),
    "user.reactivated": (db) => db.run(setStatus, { status: "active" }),
    "user.locked": (db) => db.run(setStatus, { status: "locked" }),
    "user.unlocked": (db) => db.run(setStatus, { status: "active" }),
    "user.removed": (db) => {
      db.run(remove)
      db.run(removeKeys)
      db.run(removeTokens)
    },
  },
})

const blank = {
  givenName: "",
  givenNameFolded: "",
  familyName: "",
  familyNameFolded: "",
  nickName: "",
  nickNameFolded: "",
  preferredLanguage: "",
  gender: "unspecified",
  email: "",
  ...emailColumns(""),
  emailVerified: false,
  emailProven: 0,
  phone: "",
  phoneVerified: false,
  phoneProven: 0,
  description: "",
  tokenType: "bearer",
} as const

/** The names of a removed user are erased; a replay passes through such a row and deletes it. */
function namesOf(secret: { userName: string } | null) {
  const { userName = "" } = secret ?? {}
  return { userName, userNameFolded: fold(userName), nameDomain: domainInName(userName) }
}

function profileColumns(profile: Profile | undefined) {
  const { givenName = "", familyName = "", nickName = "", displayName = "" } = profile ?? {}
  return {
    givenName,
    givenNameFolded: foldName(givenName),
    familyName,
    familyNameFolded: foldName(familyName),
    nickName,
    nickNameFolded: foldName(nickName),
    displayName,
    displayNameFolded: foldName(displayName),
    // As directories have it, surname first.
    listedNameFolded: foldName(`${familyName} ${givenName}`.trim() || displayName),
    preferredLanguage: profile?.preferredLanguage ?? "",
    gender: profile?.gender ?? "unspecified",
  }
}

function machineColumns(secret: { name: string; description: string } | null) {
  const { name = "", description = "" } = secret ?? {}
  const folded = foldName(name)
  return { displayName: name, displayNameFolded: folded, listedNameFolded: folded, description }
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
function emailColumns(address: string) {
  const { emailFolded, emailExact } = emailValues(address)
  return { emailFolded, emailExact: emailExact === emailFolded ? null : emailExact }
}

/** Searches see the users of the caller's organisations, and the caller. */
export const users: Searchable = {
  table: "users",
  key: "id",
  sort: "created",
  owner: { org: "org", self: "id" },
  columns: ["org", "status", "kind", ...texts, "created"],
  names: ["given_name", "family_name", "nick_name", "display_name", "listed_name"],
  also: { display_name_folded: "listed_name_folded" },
}

/** A key of a service user as listed. */
export type UserKeyRow = {
  readonly key_id: string
  readonly user_id: string
  readonly org: string
  readonly expires: number
  readonly created: number
  readonly changed: number
  readonly version: number
}

export const userKeys: Searchable = {
  table: "user_keys",
  key: "key_id",
  sort: "created",
  owner: { org: "org", self: "user_id" },
  columns: ["user_id", "org", "expires", "created"],
}

/** A personal access token as listed; what it is nobody can show. */
export type UserTokenRow = {
  readonly id: string
  readonly user_id: string
  readonly org: string
  readonly name: string
  readonly expires: number
  /** JSON. */
  readonly scopes: string
  readonly created: number
  readonly changed: number
  readonly version: number
}

export const userTokens: Searchable = {
  table: "user_tokens",
  key: "id",
  sort: "created",
  owner: { org: "org", self: "user_id" },
  columns: ["user_id", "org", "expires", "created"],
}
