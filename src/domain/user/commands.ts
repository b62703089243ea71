import { Fault } from "../../kernel/fault.ts"
import { parseDisplayName as nameOf } from "../../kernel/text/identifier.ts"
import {
  formatFullName,
  parseEmail,
  parseLoginName,
  parseOptionalText,
  parsePhone,
} from "../../protocol/user-field.ts"
import type { DecisionContext, Draft } from "../../store/index.ts"
import { type NewPassword, passwordSetEvents } from "../credential/index.ts"
import { releaseKeys } from "../factor/index.ts"
import { releaseClientId } from "../instance/index.ts"
import { releaseLinks } from "../user-link/index.ts"
import {
  type AccessTokenType,
  canVerify,
  domainOfName,
  type Human,
  isAbsent,
  isStronger,
  type Machine,
  requireOtherOwner,
  type User,
  type UserEvent,
  user,
  verifierFrom,
} from "../user-model/index.ts"
import {
  claimServiceAccountClientId,
  codeAddedEvent,
  type NewContact,
  type NewProfile,
  parseProfile,
  releaseClientClaims,
} from "./create.ts"
import { type JwtFormatInput, mergeJwtFormat, validateJwtFormat } from "./jwt-format.ts"
import {
  claimName,
  releaseNames,
  releaseReservedNames,
  requireNameAvailable,
  reserveOnRename,
  withoutReserved,
} from "./login-name.ts"

/** Changes of a human user; omitted fields are kept. An empty phone number removes it. */
export type HumanChange = {
  readonly profile?: ProfileChange | undefined
  readonly email?: NewContact | undefined
  readonly phone?: NewContact | undefined
  readonly password?: NewPassword | undefined
}

type ProfileChange = { readonly [Name in keyof NewProfile]?: NewProfile[Name] | undefined }

/** Changes of a service account; omitted fields are kept. */
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

/** Applies the fields that differ; appends nothing if none do. */
export const updateUser = user.command<UserChange>((state, change, cx, id) => {
  const present = requireExists(state)
  if (change.human && present.kind !== "human") throw wrongKindError("a service account")
  if (change.machine && present.kind !== "machine") throw wrongKindError("a human user")
  return [
    ...renameEvents(present, change.userName, { cx, id }),
    ...(present.kind === "human" ? humanChangeEvents(present, change.human ?? {}, { cx, id }) : []),
    ...(present.kind === "machine" ? machineChangeEvents(cx, present, change.machine ?? {}) : []),
  ]
})

/** Deactivates a user; sessions and tokens become invalid. */
export const deactivateUser = user.command((state, _, cx, id) => {
  const { status } = requireExists(state)
  if (status === "inactive")
    throw wrongStateError("user.already_inactive", "is already deactivated")
  requireOtherOwner(cx, id)
  return [{ type: "user.deactivated", data: {} }]
})

export const reactivateUser = user.command((state) => {
  if (requireExists(state).status !== "inactive")
    throw wrongStateError("user.not_inactive", "is not deactivated")
  return [{ type: "user.reactivated", data: {} }]
})

/** Locks an active user until an administrator unlocks the user. */
export const lockUser = user.command((state, _, cx, id) => {
  if (requireExists(state).status !== "active")
    throw wrongStateError("user.not_active", "is not active")
  requireOtherOwner(cx, id)
  return [{ type: "user.locked", data: {} }]
})

export const unlockUser = user.command((state) => {
  if (requireExists(state).status !== "locked")
    throw wrongStateError("user.not_locked", "is not locked")
  return [{ type: "user.unlocked", data: {} }]
})

/** Removes a user permanently: releases names and erases personal data. */
export const removeUser = user.command((state, _, cx, id) => {
  const present = requireExists(state)
  requireOtherOwner(cx, id)
  const own =
    present.kind === "machine"
      ? [...releaseClientClaims(id, present.userName), releaseClientId(id)]
      : [...releaseKeys(present), ...releaseLinks(present)]
  const { loginNames, reservedNames } = present
  const claims = [...releaseNames(loginNames), ...releaseReservedNames(reservedNames), ...own]
  return [{ type: "user.removed", data: {}, claims, erase: {} }]
})

/** Returns the state of a user who exists; throws otherwise. */
export function requireExists(state: User): Human | Machine {
  if (isAbsent(state)) throw new Fault("not_found", "user.missing", "user not found")
  return state
}

function renameEvents(
  state: Human | Machine,
  newName: string | undefined,
  { cx, id }: { readonly cx: DecisionContext; readonly id: string },
): readonly Draft<UserEvent>[] {
  // An older name may no longer be assignable, but its owner can send it unchanged.
  if (newName === undefined || newName === state.userName) return []
  const userName = parseLoginName(newName)
  if (userName === state.userName) return []
  requireNameAvailable(cx, { id, orgId: cx.owner(user, id), userName })
  const { reservedNames, claims } = reserveOnRename(cx, { id, before: state, userName })
  const moved = userNameChange(state, id, userName)
  return [
    {
      ...moved,
      type: "user.username.changed",
      private: { ...moved.private, reservedNames },
      claims: [...moved.claims, ...claims],
    },
  ]
}

/** Releases a name that is reserved after a rename. */
export const releaseLoginName = user.command<string>((state, loginName) => {
  const { reservedNames: before = [] } = requireExists(state)
  const reservedNames = withoutReserved(before, loginName)
  const claims = releaseReservedNames(before.filter((name) => !reservedNames.includes(name)))
  return [{ type: "user.username.released", data: {}, private: { reservedNames }, claims }]
})

function userNameChange(state: Human | Machine, id: string, userName: string) {
  const client =
    state.kind === "machine"
      ? [...releaseClientClaims(id, state.userName), claimServiceAccountClientId(userName)]
      : []
  const claims = [...releaseNames(state.loginNames), ...claimName(userName), ...client]
  return { data: {}, private: { userName, loginNames: [userName] }, claims } as const
}

type ClaimUserNameInput = {
  readonly domain: string
  readonly orgId: string
  readonly userName: string
}

/**
 * Renames a user whose name ends in a domain that another organization has verified. Ignores users
 * of that organization and users who were renamed in the meantime.
 */
export const claimUserName = user.command<ClaimUserNameInput>(
  (state, { domain, orgId, userName }, cx, id) => {
    if (isAbsent(state) || cx.owner(user, id) === orgId) return []
    if (domainOfName(state.userName) !== domain) return []
    return [
      { type: "user.domain.claimed", ...userNameChange(state, id, userName), data: { domain } },
    ]
  },
)

type ChangeContext = { readonly cx: DecisionContext; readonly id: string }

function humanChangeEvents(
  state: Human,
  change: HumanChange,
  changing: ChangeContext,
): readonly Draft<UserEvent>[] {
  return [
    // The password code proves the current address, not a new one in the same change.
    ...(change.password ? passwordSetEvents(state, change.password) : []),
    ...profileChangeEvents(state, change.profile ?? {}),
    ...(change.email ? emailChangeEvents(state, change.email, changing) : []),
    ...(change.phone ? phoneChangeEvents(state, change.phone, changing) : []),
  ]
}

function profileChangeEvents(state: Human, change: ProfileChange): readonly Draft<UserEvent>[] {
  const before = state.profile
  const changedFields = Object.entries(change).filter(([, value]) => value !== undefined)
  // A display name that was derived from the names follows them.
  const displayName = before.displayName === formatFullName(before) ? "" : before.displayName
  const profile = parseProfile({ ...before, displayName, ...Object.fromEntries(changedFields) })
  if (JSON.stringify(profile) === JSON.stringify(before)) return []
  return [{ type: "user.human.profile.changed", data: {}, private: profile }]
}

function emailChangeEvents(
  state: Human,
  { value, ...verification }: NewContact,
  { cx, id }: ChangeContext,
): readonly Draft<UserEvent>[] {
  const email = parseEmail(value)
  const differs = email !== state.email.address
  const verifier = verification.verifier ?? verifierFrom(cx)
  const isVerifiable = canVerify(cx, { orgId: cx.owner(user, id), email, verifier })
  const isNew = differs || !state.email.verified || isStronger(verifier, state.email.verifier)
  const verified = verification.verified && isVerifiable && isNew
  const asks = verification.code && (differs || !state.email.verified)
  const { address, verified: wasVerified } = state.email
  const changed = { email, ...(wasVerified && { before: address }) }
  return [
    ...(differs
      ? ([{ type: "user.human.email.changed", data: {}, private: changed }] as const)
      : []),
    ...(verified ? ([{ type: "user.human.email.verified", data: { verifier } }] as const) : []),
    ...(asks && verification.code ? [codeAddedEvent("email", verification.code)] : []),
  ]
}

function phoneChangeEvents(
  state: Human,
  { value, ...verification }: NewContact,
  { cx }: ChangeContext,
): readonly Draft<UserEvent>[] {
  if (value === "") return state.phone ? [{ type: "user.human.phone.removed", data: {} }] : []
  const phone = parsePhone(value)
  const differs = phone !== state.phone?.number
  const verifier = verification.verifier ?? verifierFrom(cx)
  const isNew = differs || !state.phone?.verified || isStronger(verifier, state.phone.verifier)
  const verified = verification.verified && isNew
  const asks = verification.code && (differs || !state.phone?.verified)
  return [
    ...(differs
      ? ([{ type: "user.human.phone.changed", data: {}, private: { phone } }] as const)
      : []),
    ...(verified ? ([{ type: "user.human.phone.verified", data: { verifier } }] as const) : []),
    ...(asks && verification.code ? [codeAddedEvent("phone", verification.code)] : []),
  ]
}

function machineChangeEvents(
  cx: DecisionContext,
  state: Machine,
  change: MachineChange,
): readonly Draft<UserEvent>[] {
  const name = nameOf("name", change.name ?? state.name)
  const description = parseOptionalText("description", change.description ?? state.description, 500)
  const accessTokenType = change.accessTokenType ?? state.accessTokenType
  const { jwtType, jwtAlgorithm } = state
  const format = mergeJwtFormat(state, change.jwtFormat ?? {})
  const same =
    name === state.name &&
    description === state.description &&
    accessTokenType === state.accessTokenType &&
    format.jwtType === jwtType &&
    format.jwtAlgorithm === jwtAlgorithm
  if (same) return []
  validateJwtFormat(cx, format)
  const data = { accessTokenType, ...format }
  return [{ type: "user.machine.changed", data, private: { name, description } }]
}

const wrongKindError = (kindName: string) =>
  new Fault(
    "failed_precondition",
    "user.wrong_kind",
    `this user is ${kindName}; set the fields for this kind`,
  )

const wrongStateError = (id: string, kindName: string) =>
  new Fault("failed_precondition", id, `the user ${kindName}`)
