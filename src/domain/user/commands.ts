import { Fault } from "../../kernel/fault.ts"
import { givenName as nameOf } from "../../kernel/text/given.ts"
import {
  emailOf,
  fullName,
  loginNameOf,
  optionalTextOf,
  phoneOf,
} from "../../protocol/user-field.ts"
import type { Decision, Draft } from "../../store/index.ts"
import { type NewPassword, passwordSet } from "../credential/index.ts"
import { releaseKeys } from "../factor/index.ts"
import { releaseClientId } from "../instance/index.ts"
import { releaseLinks } from "../user-link/index.ts"
import {
  type AccessTokenType,
  domainInName,
  type Human,
  hasLeft,
  keepAnOwner,
  type Machine,
  mayVerify,
  outweighs,
  type User,
  type UserEvent,
  user,
  verifierFrom,
} from "../user-model/index.ts"
import {
  codeAdded,
  type NewContact,
  type NewProfile,
  profileOf,
  releaseClient,
  takeClient,
} from "./create.ts"
import { changedJwtFormat, checkJwtFormat, type JwtFormatInput } from "./jwt-format.ts"
import {
  mustBeFree,
  releaseNames,
  releaseReserved,
  reservedAfter,
  reservedWithout,
  takeName,
} from "./login-name.ts"

/** What may be changed of a person; what is left out stays as it is. An empty phone goes. */
export type HumanChange = {
  readonly profile?: ProfileChange | undefined
  readonly email?: NewContact | undefined
  readonly phone?: NewContact | undefined
  readonly password?: NewPassword | undefined
}

type ProfileChange = { readonly [Name in keyof NewProfile]?: NewProfile[Name] | undefined }

/** What may be changed of a service user; what is left out stays as it is. */
export type MachineChange = {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly accessTokenType?: AccessTokenType | undefined
  readonly jwtFormat?: JwtFormatInput | undefined
}

export type UserChange = {
  readonly userName?: string | undefined
  readonly human?: HumanChange | undefined
  readonly machine?: MachineChange | undefined
}

/** Changes what is given and differs; nothing happens where nothing differs. */
export const updateUser = user.command<UserChange>((state, change, cx, id) => {
  const present = existing(state)
  if (change.human && present.kind !== "human") throw wrongKindError("a service user")
  if (change.machine && present.kind !== "machine") throw wrongKindError("a person")
  return [
    ...renamed(present, change.userName, { cx, id }),
    ...(present.kind === "human" ? humanChanged(present, change.human ?? {}, { cx, id }) : []),
    ...(present.kind === "machine" ? machineChanged(cx, present, change.machine ?? {}) : []),
  ]
})

/** Stops a user from signing in; what hangs from them ends with the next use. */
export const deactivateUser = user.command((state, _, cx, id) => {
  const { status } = existing(state)
  if (status === "inactive")
    throw wrongStateError("user.already_inactive", "is deactivated already")
  keepAnOwner(cx, id)
  return [{ type: "user.deactivated", data: {} }]
})

export const reactivateUser = user.command((state) => {
  if (existing(state).status !== "inactive")
    throw wrongStateError("user.not_inactive", "isn't deactivated")
  return [{ type: "user.reactivated", data: {} }]
})

/** Locks an active user out, until somebody unlocks them. */
export const lockUser = user.command((state, _, cx, id) => {
  if (existing(state).status !== "active") throw wrongStateError("user.not_active", "isn't active")
  keepAnOwner(cx, id)
  return [{ type: "user.locked", data: {} }]
})

export const unlockUser = user.command((state) => {
  if (existing(state).status !== "locked") throw wrongStateError("user.not_locked", "isn't locked")
  return [{ type: "user.unlocked", data: {} }]
})

/** Removes a user for good: their names are free again, their personal data is erased. */
export const removeUser = user.command((state, _, cx, id) => {
  const present = existing(state)
  keepAnOwner(cx, id)
  const own =
    present.kind === "machine"
      ? [...releaseClient(id, present.userName), releaseClientId(id)]
      : [...releaseKeys(present), ...releaseLinks(present)]
  const { loginNames, reservedNames } = present
  const claims = [...releaseNames(loginNames), ...releaseReserved(reservedNames), ...own]
  return [{ type: "user.removed", data: {}, claims, erase: {} }]
})

/** The user as it stands; refuses one that never was or is removed. */
export function existing(state: User): Human | Machine {
  if (hasLeft(state)) throw new Fault("not_found", "user.missing", "there is no such user")
  return state
}

function renamed(
  state: Human | Machine,
  wanted: string | undefined,
  { cx, id }: { readonly cx: Decision; readonly id: string },
): readonly Draft<UserEvent>[] {
  // A name of old may be one that nobody gets any more: whoever has it says it again.
  if (wanted === undefined || wanted === state.userName) return []
  const userName = loginNameOf(wanted)
  if (userName === state.userName) return []
  mustBeFree(cx, { id, orgId: cx.owner(user, id), userName })
  const { reservedNames, claims } = reservedAfter(cx, { id, before: state, userName })
  const moved = movedTo(state, id, userName)
  return [
    {
      ...moved,
      type: "user.username.changed",
      private: { ...moved.private, reservedNames },
      claims: [...moved.claims, ...claims],
    },
  ]
}

/** Lets others take a name that the user left by a rename. */
export const releaseLoginName = user.command<string>((state, loginName) => {
  const { reservedNames: before = [] } = existing(state)
  const reservedNames = reservedWithout(before, loginName)
  const claims = releaseReserved(before.filter((name) => !reservedNames.includes(name)))
  return [{ type: "user.username.released", data: {}, private: { reservedNames }, claims }]
})

function movedTo(state: Human | Machine, id: string, userName: string) {
  const client =
    state.kind === "machine" ? [...releaseClient(id, state.userName), takeClient(userName)] : []
  const claims = [...releaseNames(state.loginNames), ...takeName(userName), ...client]
  return { data: {}, private: { userName, loginNames: [userName] }, claims } as const
}

type Claim = { readonly domain: string; readonly orgId: string; readonly userName: string }

/**
 * Gives a user another name where theirs ends in a domain that is another organisation's now.
 * Nothing happens to who belongs to it, or is called differently meanwhile.
 */
export const claimUserName = user.command<Claim>((state, { domain, orgId, userName }, cx, id) => {
  if (hasLeft(state) || cx.owner(user, id) === orgId) return []
  if (domainInName(state.userName) !== domain) return []
  return [{ type: "user.domain.claimed", ...movedTo(state, id, userName), data: { domain } }]
})

type Changing = { readonly cx: Decision; readonly id: string }

function humanChanged(
  state: Human,
  change: HumanChange,
  changing: Changing,
): readonly Draft<UserEvent>[] {
  return [
    // What its code proves is said of the address that it went to, not of one that comes with it.
    ...(change.password ? passwordSet(state, change.password) : []),
    ...profileChanged(state, change.profile ?? {}),
    ...(change.email ? emailChanged(state, change.email, changing) : []),
    ...(change.phone ? phoneChanged(state, change.phone, changing) : []),
  ]
}

function profileChanged(state: Human, change: ProfileChange): readonly Draft<UserEvent>[] {
  const before = state.profile
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  // A display name that nobody chose follows the names that it was made of.
  const displayName = before.displayName === fullName(before) ? "" : before.displayName
  const profile = profileOf({ ...before, displayName, ...Object.fromEntries(given) })
  if (JSON.stringify(profile) === JSON.stringify(before)) return []
  return [{ type: "user.human.profile.changed", data: {}, private: profile }]
}

function emailChanged(
  state: Human,
  { value, ...how }: NewContact,
  { cx, id }: Changing,
): readonly Draft<UserEvent>[] {
  const email = emailOf(value)
  const differs = email !== state.email.address
  const verifier = how.verifier ?? verifierFrom(cx)
  const isVerifiable = mayVerify(cx, { orgId: cx.owner(user, id), email, verifier })
  const isNew = differs || !state.email.verified || outweighs(verifier, state.email.verifier)
  const verified = how.verified && isVerifiable && isNew
  const asks = how.code && (differs || !state.email.verified)
  const { address, verified: wasVerified } = state.email
  const changed = { email, ...(wasVerified && { before: address }) }
  return [
    ...(differs
      ? ([{ type: "user.human.email.changed", data: {}, private: changed }] as const)
      : []),
    ...(verified ? ([{ type: "user.human.email.verified", data: { verifier } }] as const) : []),
    ...(asks && how.code ? [codeAdded("email", how.code)] : []),
  ]
}

function phoneChanged(
  state: Human,
  { value, ...how }: NewContact,
  { cx }: Changing,
): readonly Draft<UserEvent>[] {
  if (value === "") return state.phone ? [{ type: "user.human.phone.removed", data: {} }] : []
  const phone = phoneOf(value)
  const differs = phone !== state.phone?.number
  const verifier = how.verifier ?? verifierFrom(cx)
  const isNew = differs || !state.phone?.verified || outweighs(verifier, state.phone.verifier)
  const verified = how.verified && isNew
  const asks = how.code && (differs || !state.phone?.verified)
  return [
    ...(differs
      ? ([{ type: "user.human.phone.changed", data: {}, private: { phone } }] as const)
      : []),
    ...(verified ? ([{ type: "user.human.phone.verified", data: { verifier } }] as const) : []),
    ...(asks && how.code ? [codeAdded("phone", how.code)] : []),
  ]
}

function machineChanged(
  cx: Decision,
  state: Machine,
  change: MachineChange,
): readonly Draft<UserEvent>[] {
  const name = nameOf("name", change.name ?? state.name)
  const description = optionalTextOf("description", change.description ?? state.description, 500)
  const accessTokenType = change.accessTokenType ?? state.accessTokenType
  const { jwtType, jwtAlgorithm } = state
  const format = changedJwtFormat(state, change.jwtFormat ?? {})
  const same =
    name === state.name &&
    description === state.description &&
    accessTokenType === state.accessTokenType &&
    format.jwtType === jwtType &&
    format.jwtAlgorithm === jwtAlgorithm
  if (same) return []
  checkJwtFormat(cx, format)
  const data = { accessTokenType, ...format }
  return [{ type: "user.machine.changed", data, private: { name, description } }]
}

const wrongKindError = (what: string) =>
  new Fault("failed_precondition", "user.wrong_kind", `this is ${what}; its fields are others`)

const wrongStateError = (id: string, what: string) =>
  new Fault("failed_precondition", id, `the user ${what}`)
