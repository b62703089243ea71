import { aggregate, type Editor, type Event, streamPartByKey } from "../../store/index.ts"
import type { Channel } from "../message-provider/index.ts"
import {
  type CodeData,
  type ContactEvent,
  codeData,
  contactReducers,
  type InitialContacts,
  initialContacts,
  withReturned,
} from "./contacts.ts"
import { type FactorEvent, factorReducers } from "./factors.ts"
import { type LinkEvent, linkReducers } from "./links.ts"
import {
  codeOrigin,
  contactOrigins,
  findMachineOrigin,
  type PasswordProof,
  withOriginOf,
  withPasswordOrigin,
} from "./origins.ts"
import {
  type AccessTokenType,
  type Hashes,
  type Human,
  type InviteMail,
  isAbsent,
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
import { type ViewedCodeEvent, viewedCodeReducers } from "./viewed-code.ts"

export type UserEvent =
  | FactorEvent
  | ContactEvent
  | LinkEvent
  | ViewedCodeEvent
  | Event<
      "user.human.added",
      InitialContacts,
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
        /** The sign-in to continue after the reset; empty if none. */
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
  /** `isByTries`: locked by a policy after too many failures; the event has no editor. */
  | Event<"user.locked", { readonly isByTries?: boolean }>
  | Event<"user.unlocked">
  | Event<"user.removed">
  | Event<"user.recovery.started">

const absent: User = { status: "absent" }

const emptyProfile: Profile = {
  givenName: "",
  familyName: "",
  nickName: "",
  displayName: "",
  preferredLanguage: "",
  gender: "unspecified",
}

/** The names of a removed user are erased from its events. */
const noNames: LoginNames = { userName: "", loginNames: [] }

type EventTime = { readonly time: number }

function changeHuman(
  state: User,
  { time }: EventTime,
  change: (state: Human) => Partial<Human>,
): User {
  if (isAbsent(state) || state.kind !== "human") return state
  return { ...state, changed: time, ...change(state) }
}

function changeMachine(
  state: User,
  { time }: EventTime,
  change: (state: Machine) => Partial<Machine>,
): User {
  if (isAbsent(state) || state.kind !== "machine") return state
  return { ...state, ...change(state), changed: time }
}

function withStatus(state: User, { time }: EventTime, status: UserStatus): User {
  return isAbsent(state) ? state : { ...state, status, changed: time }
}

function activate(state: User, event: EventTime): User {
  const next = withStatus(state, event, "active")
  if (isAbsent(next)) return next
  const { stoppers: _, ...rest } = next
  return rest
}

type StopEvent = EventTime & {
  readonly version: number
  readonly editor: Editor
  readonly data: { readonly isByTries?: boolean }
}

function withStop(state: User, event: StopEvent, status: UserStatus): User {
  const next = withStatus(state, event, status)
  if (isAbsent(next)) return next
  const { version, editor, data } = event
  const { stoppers = [] } = next
  // Actions of the system have no client, and its names are not user IDs.
  const isUsers = editor.client !== "" && !data.isByTries
  const isNew = isUsers && !stoppers.includes(editor.user)
  return { ...next, stoppedIn: version, ...(isNew && { stoppers: [...stoppers, editor.user] }) }
}

function rename(state: User, event: EventTime & { readonly private: LoginNames | null }): User {
  return isAbsent(state) ? state : { ...state, ...(event.private ?? noNames), changed: event.time }
}

/** A change of data that is not part of this state. */
function touch(state: User, { time }: EventTime): User {
  return isAbsent(state) ? state : { ...state, changed: time }
}

/** Human users and service accounts. */
export const user = aggregate<UserEvent, User>({
  stream: "user",
  revision: 10,
  // Metadata entries are separate parts of the stream.
  part: streamPartByKey("key"),
  initial: absent,
  evolve: {
    "user.human.added": (_, { private: secret, ...event }) => ({
      kind: "human",
      status: "active",
      changed: event.time,
      userName: secret?.userName ?? "",
      loginNames: secret?.loginNames ?? [],
      profile: secret?.profile ?? emptyProfile,
      ...initialContacts({ ...event, private: secret }),
      ...contactOrigins(event, { hasPhone: Boolean(secret?.phone) }),
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
    "user.username.changed": rename,
    "user.username.released": (state, { private: secret, time }) =>
      isAbsent(state)
        ? state
        : { ...state, reservedNames: secret?.reservedNames ?? [], changed: time },
    "user.domain.claimed": rename,
    "user.human.profile.changed": (state, event) =>
      changeHuman(state, event, () => ({ profile: event.private ?? emptyProfile })),
    "user.human.password.changed": (state, event) =>
      changeHuman(state, event, (person) => ({
        password: toPassword(event),
        passwordCode: undefined,
        invite: undefined,
        ...withPasswordOrigin(person, event),
      })),
    "user.human.password.code.added": (state, event) =>
      changeHuman(state, event, (person) => ({
        passwordCode: toPasswordCode(event),
        changed: person.changed,
        ...withOriginOf(person, "password_code", {
          origin: codeOrigin(person, event, {
            kind: "password_code",
            to: event.data.channel === "sms" ? "phone" : "email",
          }),
        }),
      })),
    // The password is unchanged, so sessions stay valid.
    "user.human.password.hash.updated": (state, { data, private: secret, ...event }) =>
      changeHuman(state, event, ({ changed }) => ({
        password: secret && { ...data, ...secret },
        changed,
      })),
    "user.human.invite.code.added": (state, event) =>
      changeHuman(state, event, (person) => ({
        invite: toInvite(event),
        changed: person.changed,
        ...withReturned(person.returnedCodes, "invite", event.data),
        ...withOriginOf(person, "invitation", {
          origin: codeOrigin(person, event, { kind: "invitation", to: "email" }),
        }),
      })),
    "user.human.invite.check.succeeded": (state, event) =>
      changeHuman(state, event, () => ({ invite: undefined })),
    "user.human.avatar.added": (state, event) =>
      changeHuman(state, event, () => ({ avatar: event.private?.file })),
    "user.human.avatar.removed": (state, event) =>
      changeHuman(state, event, () => ({ avatar: undefined })),
    "user.machine.changed": (state, event) =>
      changeMachine(state, event, () => ({
        name: event.private?.name ?? "",
        description: event.private?.description ?? "",
        accessTokenType: event.data.accessTokenType,
        jwtType: event.data.jwtType,
        jwtAlgorithm: event.data.jwtAlgorithm,
      })),
    "user.machine.key.added": (state, event) =>
      changeMachine(state, event, (present) => {
        const { keyId: id, expires } = event.data
        const origin = findMachineOrigin(event)
        return {
          keys: { ...present.keys, [id]: expires },
          ...withOriginOf(present, "service_key", { id, origin }),
        }
      }),
    "user.machine.key.removed": (state, event) =>
      changeMachine(state, event, (present) => {
        const { keyId: id } = event.data
        const { [id]: _, ...keys } = present.keys
        return { keys, ...withOriginOf(present, "service_key", { id }) }
      }),
    "user.machine.secret.set": (state, event) =>
      changeMachine(state, event, (present) => ({
        secret: toSecret(event),
        ...withOriginOf(present, "client_secret", { origin: findMachineOrigin(event) }),
      })),
    "user.machine.secret.removed": (state, event) =>
      changeMachine(state, event, (present) => ({
        secret: null,
        ...withOriginOf(present, "client_secret"),
      })),
    "user.pat.added": (state, event) =>
      changeMachine(state, event, (present) => {
        const { tokenId: id, ...token } = event.data
        const added = { ...token, created: event.time }
        const origin = findMachineOrigin(event)
        return {
          personalTokens: { ...present.personalTokens, [id]: added },
          ...withOriginOf(present, "access_token", { id, origin }),
        }
      }),
    "user.pat.removed": (state, event) =>
      changeMachine(state, event, (present) => {
        const { tokenId: id } = event.data
        const { [id]: _, ...personalTokens } = present.personalTokens
        return { personalTokens, ...withOriginOf(present, "access_token", { id }) }
      }),
    "user.metadata.set": touch,
    "user.metadata.removed": touch,
    ...contactReducers,
    ...factorReducers,
    ...linkReducers,
    ...viewedCodeReducers,
    "user.deactivated": (state, event) => withStop(state, event, "inactive"),
    "user.reactivated": activate,
    "user.locked": (state, event) => withStop(state, event, "locked"),
    "user.unlocked": activate,
    "user.removed": () => ({ status: "removed" }),
    "user.recovery.started": (state) => state,
  },
})

/** Undefined if erased by a newer code, its use, or the removal of the user. */
function toPasswordCode(event: {
  readonly data: Omit<PasswordCode, "sealed"> & { readonly urlTemplate: string }
  readonly private: { readonly sealed: string } | null
}): Human["passwordCode"] {
  const { expires, channel, returned, urlTemplate } = event.data
  const { sealed } = event.private ?? {}
  if (sealed === undefined) return undefined
  // Earlier versions did not store the verifier: the caller could read a code in a link of their
  // own.
  const verifier = event.data.verifier ?? (urlTemplate ? byOrganization : undefined)
  return { sealed, expires, channel, returned, ...(verifier && { verifier }) }
}

/** Undefined if erased by a newer code or the removal of the user. */
function toInvite(event: {
  readonly data: CodeData & InviteMail
  readonly private: { readonly sealed: string } | null
}): Human["invite"] {
  const { urlTemplate, applicationName, isOfInstance } = event.data
  const { sealed } = event.private ?? {}
  if (sealed === undefined) return undefined
  const mail = { urlTemplate, applicationName, ...(isOfInstance && { isOfInstance }) }
  return { sealed, ...codeData(event.data), ...mail }
}

/** Null if a newer secret or its removal has erased the hash. */
const toSecret = (event: {
  readonly data: { readonly secretId: string }
  readonly private: { readonly hashedSecret: string } | null
}): MachineSecret | null =>
  event.private && { id: event.data.secretId, hash: event.private.hashedSecret }

/** Null if a newer password or the removal of the user has erased the hash. */
const toPassword = (event: {
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
