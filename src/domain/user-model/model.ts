import { aggregate, type Editor, type Event, partByKey } from "../../store/index.ts"
import type { Channel } from "../message-provider/index.ts"
import {
  type CodeData,
  type ContactEvent,
  codeData,
  contactFolds,
  type FirstContacts,
  firstContacts,
  returnedWith,
} from "./contacts.ts"
import { type FactorEvent, factorFolds } from "./factors.ts"
import { type LinkEvent, linkFolds } from "./links.ts"
import {
  noted,
  notedContacts,
  notedPassword,
  originOfCode,
  originOfMachine,
  type PasswordProof,
} from "./origins.ts"
import {
  type AccessTokenType,
  type Hashes,
  type Human,
  hasLeft,
  type InviteMail,
  type JwtFormat,
  type LoginNames,
  type Machine,
  type MachineSecret,
  type Password,
  type PasswordCode,
  type PersonalToken,
  type Profile,
  type User,
  type UserStatus,
} from "./state.ts"
import { byOrganization, type VerifiedBy } from "./verifier.ts"
import { type ViewedCodeEvent, viewedCodeFolds } from "./viewed-code.ts"

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
