import { aggregate, type Editor, type Event, partByKey } from "../../store/index.ts"
import type { AccessTokenJwtType } from "../key/index.ts"
import type { Channel } from "../message-provider/index.ts"
import {
  type CodeData,
  type ContactEvent,
  codeData,
  contactFolds,
  type Email,
  type FirstContacts,
  firstContacts,
  type Phone,
  type ReturnedCode,
  returnedWith,
} from "./contacts.ts"
import { type FactorEvent, type Factors, factorFolds } from "./factors.ts"
import { type IdpLink, type LinkEvent, linkFolds } from "./links.ts"
import {
  noted,
  notedContacts,
  notedPassword,
  originOfCode,
  originOfMachine,
  type PasswordProof,
  type WithOrigins,
} from "./origins.ts"
import { byOrganization, type VerifiedBy } from "./verifier.ts"
import { type ViewedCodeEvent, viewedCodeFolds } from "./viewed-code.ts"

export const genders = ["unspecified", "female", "male", "diverse"] as const
export type Gender = (typeof genders)[number]

export type Profile = {
  readonly givenName: string
  readonly familyName: string
  readonly nickName: string
  readonly displayName: string
  readonly preferredLanguage: string
  readonly gender: Gender
}

/** Opaque tokens by default; a service user may be given JWTs instead. */
export type AccessTokenType = "bearer" | "jwt"

/**
 * How the access tokens of a service user are written where they are JWTs. An absent type is
 * `at+jwt`; an absent algorithm is that of the instance.
 */
export type JwtFormat = {
  readonly jwtType?: AccessTokenJwtType | undefined
  readonly jwtAlgorithm?: string | undefined
}

/**
 * What a user signs in with, and every form of it that is taken for them: the name alone. Users of
 * old also hold it with the domain of their organisation, which counts no more.
 */
export type LoginNames = {
  readonly userName: string
  readonly loginNames: readonly string[]
  /** Names that the user left by a rename, which nobody else gets. */
  readonly reservedNames?: readonly string[]
}

/** A code, sealed; `expires` is ms UTC. `verifier`: of an address, if not always the user. */
export type Code = {
  readonly sealed: string
  readonly expires: number
} & VerifiedBy

/** A code for a new password, and whether the way that it went shows who reads it there. */
export type PasswordCode = Code & {
  readonly channel: Channel
  readonly returned: boolean
}

/** What the mail of an invitation says: a link instead of ours, and what one is invited to. */
export type InviteMail = {
  readonly urlTemplate: string
  readonly applicationName: string
  /** Whether somebody with a permission on the instance invites. */
  readonly isOfInstance?: boolean
}

/** `earlier`: of the passwords before, the last first; left out where none are kept. */
type Hashes = { readonly hash: string; readonly earlier?: readonly string[] }

export type UserEvent =
  | FactorEvent
  | ContactEvent
  | LinkEvent
  | ViewedCodeEvent
  | Event<
      "user.human.added",
      FirstContacts,
      LoginNames & { readonly profile: Profile; readonly email: string; readonly phone: string }
    >
  | Event<
      "user.machine.added",
      { readonly accessTokenType: AccessTokenType } & JwtFormat,
      LoginNames & { readonly name: string; readonly description: string }
    >
  | Event<"user.username.changed", Record<never, never>, LoginNames>
  | Event<
      "user.username.released",
      Record<never, never>,
      { readonly reservedNames: readonly string[] }
    >
  | Event<"user.domain.claimed", { readonly domain?: string }, LoginNames>
  | Event<"user.human.profile.changed", Record<never, never>, Profile>
  | Event<
      "user.human.invite.code.added",
      { readonly expires: number; readonly returned: boolean } & InviteMail & VerifiedBy,
      { readonly sealed: string }
    >
  | Event<"user.human.invite.check.succeeded">
  | Event<"user.human.avatar.added", Record<never, never>, { readonly file: string }>
  | Event<"user.human.avatar.removed">
  | Event<
      "user.human.password.changed",
      {
        readonly changeRequired: boolean
        readonly isFirst?: boolean
        readonly proof?: PasswordProof
      },
      Hashes
    >
  | Event<
      "user.human.password.code.added",
      {
        readonly expires: number
        readonly returned: boolean
        readonly urlTemplate: string
        readonly channel: Channel
        /** The sign-in that it was asked for in, to go on with; empty where in none. */
        readonly requestId: string
      } & VerifiedBy,
      { readonly sealed: string }
    >
  | Event<
      "user.human.password.hash.updated",
      { readonly changeRequired: boolean; readonly changed: number; readonly version: number },
      Hashes
    >
  | Event<
      "user.machine.changed",
      { readonly accessTokenType: AccessTokenType } & JwtFormat,
      { readonly name: string; readonly description: string }
    >
  | Event<
      "user.machine.key.added",
      { readonly keyId: string; readonly publicKey: string; readonly expires: number }
    >
  | Event<"user.machine.key.removed", { readonly keyId: string }>
  | Event<
      "user.machine.secret.set",
      { readonly secretId: string },
      { readonly hashedSecret: string }
    >
  | Event<"user.machine.secret.removed">
  | Event<"user.pat.added", { readonly tokenId: string } & PersonalToken, { readonly name: string }>
  | Event<"user.pat.removed", { readonly tokenId: string }>
  | Event<"user.metadata.set", { readonly key: string }, { readonly value: string }>
  | Event<"user.metadata.removed", { readonly key: string }>
  | Event<"user.deactivated">
  | Event<"user.reactivated">
  /** `isByTries` where a policy did it, after too many that failed: then nobody has decided it. */
  | Event<"user.locked", { readonly isByTries?: boolean }>
  | Event<"user.unlocked">
  | Event<"user.removed">
  | Event<"user.recovery.started">

export type UserStatus = "active" | "inactive" | "locked"

type Identity = LoginNames &
  WithOrigins & {
    readonly status: UserStatus
    /** When anything about the user last changed, ms UTC; asking for a code changes nothing. */
    readonly changed: number
    /** Version of the stream when they were last locked or deactivated; absent where never. */
    readonly stoppedIn?: number
    /** The users who locked or deactivated them since they were last active; absent where none. */
    readonly stoppers?: readonly string[]
  }

export type Human = Identity & {
  readonly kind: "human"
  readonly profile: Profile
  readonly email: Email
  readonly emailCode: Code | null
  readonly phone: Phone | null
  readonly phoneCode: Code | null
  readonly password: Password | null
  /** While somebody may choose a new one by it. */
  readonly passwordCode?: PasswordCode | undefined
  /** While somebody who can't sign in yet is invited to. */
  readonly invite?: (Code & InviteMail) | undefined
  /** Absent where nothing was ever set up. */
  readonly factors?: Factors
  /** What they sign in with elsewhere; absent where they never did. */
  readonly links?: readonly IdpLink[]
  /** The name of a picture of them, where there is one. */
  readonly avatar?: string | undefined
  /** Codes whose last one was returned to a caller, or viewed by one in its message. */
  readonly returnedCodes?: readonly ReturnedCode[]
}

/** `version` is that of the stream when it was set: what signed in with an older one is over. */
export type Password = Hashes & {
  readonly changeRequired: boolean
  readonly changed: number
  readonly version: number
}

export type Machine = Identity & {
  readonly kind: "machine"
  readonly name: string
  readonly description: string
  readonly accessTokenType: AccessTokenType
  readonly jwtType?: JwtFormat["jwtType"]
  readonly jwtAlgorithm?: string | undefined
  /** Expiry by key id, ms UTC. */
  readonly keys: Readonly<Record<string, number>>
  readonly secret: MachineSecret | null
  /** By token id. */
  readonly personalTokens: Readonly<Record<string, PersonalToken & { readonly created: number }>>
}

/** What a service user may use as it is; `expires` is ms UTC. */
export type PersonalToken = { readonly expires: number; readonly scopes: readonly string[] }

/** What a service user shows as a client; only a keyed hash of it is kept. */
export type MachineSecret = { readonly id: string; readonly hash: string }

export type User = { readonly status: "absent" | "removed" } | Human | Machine

const absent: User = { status: "absent" }

const nobody: Profile = {
  givenName: "",
  familyName: "",
  nickName: "",
  displayName: "",
  preferredLanguage: "",
  gender: "unspecified",
}

/** Names are gone from the events of a removed user. */
const nameless: LoginNames = { userName: "", loginNames: [] }

export const hasLeft = (state: User): state is Exclude<User, Human | Machine> =>
  state.status === "absent" || state.status === "removed"

type At = { readonly time: number }

function human(state: User, { time }: At, change: (state: Human) => Partial<Human>): User {
  if (hasLeft(state) || state.kind !== "human") return state
  return { ...state, changed: time, ...change(state) }
}

function machine(state: User, { time }: At, change: (state: Machine) => Partial<Machine>): User {
  if (hasLeft(state) || state.kind !== "machine") return state
  return { ...state, ...change(state), changed: time }
}

function turned(state: User, { time }: At, status: UserStatus): User {
  return hasLeft(state) ? state : { ...state, status, changed: time }
}

function started(state: User, event: At): User {
  const next = turned(state, event, "active")
  if (hasLeft(next)) return next
  const { stoppers: _, ...rest } = next
  return rest
}

type Stop = At & {
  readonly version: number
  readonly editor: Editor
  readonly data: { readonly isByTries?: boolean }
}

function stopped(state: User, event: Stop, status: UserStatus): User {
  const next = turned(state, event, status)
  if (hasLeft(next)) return next
  const { version, editor, data } = event
  const { stoppers = [] } = next
  // What the system does, it does without a client; its names are no ids of users.
  const isUsers = editor.client !== "" && !data.isByTries
  const isNew = isUsers && !stoppers.includes(editor.user)
  return { ...next, stoppedIn: version, ...(isNew && { stoppers: [...stoppers, editor.user] }) }
}

function renamed(state: User, event: At & { readonly private: LoginNames | null }): User {
  return hasLeft(state) ? state : { ...state, ...(event.private ?? nameless), changed: event.time }
}

/** Something changed that is not kept here. */
function touched(state: User, { time }: At): User {
  return hasLeft(state) ? state : { ...state, changed: time }
}

/** People and service users. */
export const user = aggregate<UserEvent, User>({
  stream: "user",
  revision: 10,
  // Each entry of the metadata is one by itself.
  part: partByKey("key"),
  initial: absent,
  evolve: {
    "user.human.added": (_, { private: secret, ...event }) => ({
      kind: "human",
      status: "active",
      changed: event.time,
      userName: secret?.userName ?? "",
      loginNames: secret?.loginNames ?? [],
      profile: secret?.profile ?? nobody,
      ...firstContacts({ ...event, private: secret }),
      ...notedContacts(event, { hasPhone: Boolean(secret?.phone) }),
      emailCode: null,
      phoneCode: null,
      password: null,
    }),
    "user.machine.added": (_, { data, private: secret, time }) => ({
      kind: "machine",
      status: "active",
      changed: time,
      userName: secret?.userName ?? "",
      loginNames: secret?.loginNames ?? [],
      name: secret?.name ?? "",
      description: secret?.description ?? "",
      ...data,
      keys: {},
      secret: null,
      personalTokens: {},
    }),
    "user.username.changed": renamed,
    "user.username.released": (state, { private: secret, time }) =>
      hasLeft(state)
        ? state
        : { ...state, reservedNames: secret?.reservedNames ?? [], changed: time },
    "user.domain.claimed": renamed,
    "user.human.profile.changed": (state, event) =>
      human(state, event, () => ({ profile: event.private ?? nobody })),
    "user.human.password.changed": (state, event) =>
      human(state, event, (person) => ({
        password: passwordOf(event),
        passwordCode: undefined,
        invite: undefined,
        ...notedPassword(person, event),
      })),
    "user.human.password.code.added": (state, event) =>
      human(state, event, (person) => ({
        passwordCode: passwordCodeOf(event),
        changed: person.changed,
        ...noted(person, "password_code", {
          origin: originOfCode(person, event, {
            kind: "password_code",
            to: event.data.channel === "sms" ? "phone" : "email",
          }),
        }),
      })),
    // The password is the same, and so is what hangs from it.
    "user.human.password.hash.updated": (state, { data, private: secret, ...event }) =>
      human(state, event, ({ changed }) => ({
        password: secret && { ...data, ...secret },
        changed,
      })),
    "user.human.invite.code.added": (state, event) =>
      human(state, event, (person) => ({
        invite: inviteOf(event),
        changed: person.changed,
        ...returnedWith(person.returnedCodes, "invite", event.data),
        ...noted(person, "invitation", {
          origin: originOfCode(person, event, { kind: "invitation", to: "email" }),
        }),
      })),
    "user.human.invite.check.succeeded": (state, event) =>
      human(state, event, () => ({ invite: undefined })),
    "user.human.avatar.added": (state, event) =>
      human(state, event, () => ({ avatar: event.private?.file })),
    "user.human.avatar.removed": (state, event) =>
      human(state, event, () => ({ avatar: undefined })),
    "user.machine.changed": (state, event) =>
      machine(state, event, () => ({
        name: event.private?.name ?? "",
        description: event.private?.description ?? "",
        accessTokenType: event.data.accessTokenType,
        jwtType: event.data.jwtType,
        jwtAlgorithm: event.data.jwtAlgorithm,
      })),
    "user.machine.key.added": (state, event) =>
      machine(state, event, (present) => {
        const { keyId: id, expires } = event.data
        const origin = originOfMachine(event)
        return {
          keys: { ...present.keys, [id]: expires },
          ...noted(present, "service_key", { id, origin }),
        }
      }),
    "user.machine.key.removed": (state, event) =>
      machine(state, event, (present) => {
        const { keyId: id } = event.data
        const { [id]: _, ...keys } = present.keys
        return { keys, ...noted(present, "service_key", { id }) }
      }),
    "user.machine.secret.set": (state, event) =>
      machine(state, event, (present) => ({
        secret: secretOf(event),
        ...noted(present, "client_secret", { origin: originOfMachine(event) }),
      })),
    "user.machine.secret.removed": (state, event) =>
      machine(state, event, (present) => ({ secret: null, ...noted(present, "client_secret") })),
    "user.pat.added": (state, event) =>
      machine(state, event, (present) => {
        const { tokenId: id, ...token } = event.data
        const added = { ...token, created: event.time }
        const origin = originOfMachine(event)
        return {
          personalTokens: { ...present.personalTokens, [id]: added },
          ...noted(present, "access_token", { id, origin }),
        }
      }),
    "user.pat.removed": (state, event) =>
      machine(state, event, (present) => {
        const { tokenId: id } = event.data
        const { [id]: _, ...personalTokens } = present.personalTokens
        return { personalTokens, ...noted(present, "access_token", { id }) }
      }),
    "user.metadata.set": touched,
    "user.metadata.removed": touched,
    ...contactFolds,
    ...factorFolds,
    ...linkFolds,
    ...viewedCodeFolds,
    "user.deactivated": (state, event) => stopped(state, event, "inactive"),
    "user.reactivated": started,
    "user.locked": (state, event) => stopped(state, event, "locked"),
    "user.unlocked": started,
    "user.removed": () => ({ status: "removed" }),
    "user.recovery.started": (state) => state,
  },
})

/** Nothing once a newer code, its use or the removal of the user has erased it. */
function passwordCodeOf(event: {
  readonly data: Omit<PasswordCode, "sealed"> & { readonly urlTemplate: string }
  readonly private: { readonly sealed: string } | null
}): Human["passwordCode"] {
  const { expires, channel, returned, urlTemplate } = event.data
  const { sealed } = event.private ?? {}
  if (sealed === undefined) return undefined
  // Earlier versions did not store the verifier: the caller could read a code in their own link.
  const verifier = event.data.verifier ?? (urlTemplate ? byOrganization : undefined)
  return { sealed, expires, channel, returned, ...(verifier && { verifier }) }
}

/** Nothing once a newer code or the removal of the user has erased it. */
function inviteOf(event: {
  readonly data: CodeData & InviteMail
  readonly private: { readonly sealed: string } | null
}): Human["invite"] {
  const { urlTemplate, applicationName, isOfInstance } = event.data
  const { sealed } = event.private ?? {}
  if (sealed === undefined) return undefined
  const mail = { urlTemplate, applicationName, ...(isOfInstance && { isOfInstance }) }
  return { sealed, ...codeData(event.data), ...mail }
}

/** Null once a newer secret or its removal has erased the hash. */
const secretOf = (event: {
  readonly data: { readonly secretId: string }
  readonly private: { readonly hashedSecret: string } | null
}): MachineSecret | null =>
  event.private && { id: event.data.secretId, hash: event.private.hashedSecret }

/** Null once a newer password or the removal of the user has erased the hash. */
const passwordOf = (event: {
  readonly data: { readonly changeRequired: boolean }
  readonly private: Hashes | null
  readonly time: number
  readonly version: number
}): Password | null =>
  event.private && {
    ...event.private,
    changeRequired: event.data.changeRequired,
    changed: event.time,
    version: event.version,
  }
