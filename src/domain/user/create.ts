import { Fault } from "../../kernel/fault.ts"
import { parseDisplayName as nameOf } from "../../kernel/text/identifier.ts"
import { isTemporaryId } from "../../protocol/self-check/temporary-id.ts"
import {
  formatFullName,
  parseEmail,
  parseLanguage,
  parseLoginName,
  parseOptionalText,
  parsePhone,
} from "../../protocol/user-field.ts"
import type {
  ClaimChange,
  Cx,
  DecisionContext,
  Draft,
  Receipt,
  Transaction,
} from "../../store/index.ts"
import { type NewCode, type NewPassword, passwordChangedEvent } from "../credential/index.ts"
import { claimClientId, clientClaim, releaseClientId } from "../instance/index.ts"
import type { ContactKind } from "../lockout/index.ts"
import { isExistingOrg as isOrgThere, org } from "../org/index.ts"
import { addLink, type ExternalAccount } from "../user-link/index.ts"
import {
  type AccessTokenType,
  canVerify,
  type Gender,
  type JwtFormat,
  type Profile,
  type UserEvent,
  user,
  type Verifier,
  verifierFrom,
} from "../user-model/index.ts"
import { validateJwtFormat } from "./jwt-format.ts"
import { claimName, findNameError, findNameHolder, requireNameAvailable } from "./login-name.ts"
import { firstMetadata, type Metadata } from "./metadata.ts"

/** Profile fields of a request; omitted ones are derived or empty. */
export type NewProfile = {
  readonly givenName: string
  readonly familyName: string
  readonly nickName?: string | undefined
  readonly displayName?: string | undefined
  readonly preferredLanguage?: string | undefined
  readonly gender?: Gender | undefined
}

/** A new address, already verified or to be verified with a code. */
export type NewContact = {
  readonly value: string
  readonly verified: boolean
  /** Who verified it; if omitted, determined by the caller. */
  readonly verifier?: Verifier | undefined
  readonly code?: NewCode | undefined
}

export type NewHuman = {
  readonly kind: "human"
  readonly orgId: string
  /** Default: the email address. */
  readonly userName?: string | undefined
  readonly profile: NewProfile
  readonly email: NewContact
  readonly phone?: NewContact | undefined
  readonly password?: NewPassword | undefined
  readonly metadata?: readonly Metadata[] | undefined
  /** External accounts. */
  readonly links?: readonly ExternalAccount[] | undefined
}

export type NewMachine = {
  readonly kind: "machine"
  readonly orgId: string
  /** Default: the user ID. */
  readonly userName?: string | undefined
  readonly name: string
  readonly description?: string | undefined
  readonly accessTokenType: AccessTokenType
  readonly jwtFormat?: JwtFormat | undefined
  readonly metadata?: readonly Metadata[] | undefined
}

export type NewUser = NewHuman | NewMachine

/**
 * Adds an active user to an active organization. Rejects an ID that was ever used or is reserved
 * for the server, and a name that is already used to sign in.
 */
export function addUser(tx: Transaction, id: string, input: NewUser): void {
  requireActiveOrg(tx, input.orgId)
  importUser(tx, id, input)
}

/**
 * Adds a user also to a deactivated organization, which imports keep inactive until all its users
 * exist.
 */
export function importUser(tx: Transaction, id: string, input: NewUser): void {
  const isReserved = /^described(-\d+)?$/.test(id) || isTemporaryId(id)
  if (isReserved && tx.state(user, id).status === "absent") throw idReservedError()
  addEvents(tx, id, input)
}

/**
 * The ID and user name of the service account that the server acts as. Skips numbers whose user was
 * removed, or whose name is taken by a user or client, so that no one can block the server by
 * taking names.
 */
export function findFreeOwnUserId(tx: DecisionContext, orgId: string): string {
  for (let number = 1; ; number++) {
    const id = number === 1 ? "described" : `described-${number}`
    const { status } = tx.state(user, id)
    if (status === "removed") continue
    if (status !== "absent" || isFree(tx, id, orgId)) return id
  }
}

const isFree = (tx: DecisionContext, id: string, orgId: string): boolean =>
  tx.holder(clientClaim, id) === undefined &&
  findNameError(tx, { id, orgId, userName: id }) === undefined

/**
 * Adds a user of the server: the service account it acts as, or that of a self-check. Other callers
 * can't use such IDs; otherwise the server could act as or remove their user.
 */
export function addServerUser(tx: Transaction, id: string, input: NewUser): void {
  requireActiveOrg(tx, input.orgId)
  addEvents(tx, id, input)
}

function requireActiveOrg(tx: Transaction, orgId: string): void {
  if (tx.state(org, orgId).status === "inactive") throw orgInactiveError()
}

function addEvents(tx: Transaction, id: string, input: NewUser): void {
  if (!isOrgThere(tx.state(org, input.orgId))) throw orgNotFoundError()
  if (tx.state(user, id).status !== "absent") throw idTakenError()
  const userName = parseLoginName(userNameOrDefault(id, input))
  requireNameAvailable(tx, { id, orgId: input.orgId, userName })
  const drafts =
    input.kind === "human"
      ? humanAddedEvents(tx, input, { id, userName })
      : machineAddedEvents(tx, { id, input, userName })
  tx.append(user, id, [...drafts, ...firstMetadata(input.metadata ?? [])], input.orgId)
  const links = (input.kind === "human" && input.links) || []
  for (const link of links) addLink(tx, id, { ...link, isFirst: true })
}

/**
 * Adds a user in its own transaction; see `addUser`. `isMade`: the ID was generated for this user.
 */
export async function createUser(
  cx: Cx,
  id: string,
  input: NewUser,
  { isMade = false } = {},
): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    if (isMade) tx.begin(user, id)
    addUser(tx, id, input)
  })
  return step.receipt(user, id)
}

const userNameOrDefault = (id: string, input: NewUser): string =>
  input.userName ?? (input.kind === "human" ? input.email.value : id)

type VerifiedContacts = Extract<UserEvent, { readonly type: "user.human.added" }>["data"]

/**
 * Which addresses of a new user are verified and by whom. Rejects callers that can't verify them.
 */
function verifyContacts(tx: DecisionContext, { email, phone, orgId }: NewHuman): VerifiedContacts {
  const phoneVerified = phone?.verified ?? false
  if (!email.verified && !phoneVerified) return { emailVerified: false, phoneVerified }
  // Evaluated once, because it depends on the caller's permissions.
  const caller = verifierFrom(tx)
  const { verifier = caller } = email
  const emailVerified = email.verified && canVerify(tx, { orgId, email: email.value, verifier })
  return {
    emailVerified,
    phoneVerified,
    ...(emailVerified && { emailVerifier: verifier }),
    ...(phoneVerified && { phoneVerifier: phone?.verifier ?? caller }),
  }
}

function humanAddedEvents(
  cx: DecisionContext,
  input: NewHuman,
  { id, userName }: { readonly id: string; readonly userName: string },
): readonly Draft<UserEvent>[] {
  const { email, phone, password } = input
  const added: Draft<UserEvent> = {
    type: "user.human.added",
    data: verifyContacts(cx, input),
    private: {
      userName,
      loginNames: [userName],
      profile: parseProfile(input.profile),
      email: parseEmail(email.value),
      phone: phone ? parsePhone(phone.value) : "",
    },
    claims: [...claimName(userName), ...clientIdClaims(cx, id)],
  }
  return [
    added,
    ...(email.code ? [codeAddedEvent("email", email.code)] : []),
    ...(phone?.code ? [codeAddedEvent("phone", phone.code)] : []),
    ...(password ? [passwordChangedEvent(password, null)] : []),
  ]
}

type AddMachineOptions = {
  readonly id: string
  readonly input: NewMachine
  readonly userName: string
}

function machineAddedEvents(
  cx: DecisionContext,
  { id, input, userName }: AddMachineOptions,
): readonly Draft<UserEvent>[] {
  const { accessTokenType, jwtFormat = {} } = input
  validateJwtFormat(cx, jwtFormat)
  const added: Draft<UserEvent> = {
    type: "user.machine.added",
    data: { accessTokenType, ...jwtFormat },
    private: {
      userName,
      loginNames: [userName],
      name: nameOf("name", input.name),
      description: parseOptionalText("description", input.description, 500),
    },
    claims: [
      ...claimName(userName),
      claimServiceAccountClientId(userName),
      claimClientId(id, idTakenByClient),
    ],
  }
  return [added]
}

/** Validates names and derives omitted ones. */
export function parseProfile(profileInput: NewProfile): Profile {
  const givenName = nameOf("given_name", profileInput.givenName)
  const familyName = nameOf("family_name", profileInput.familyName)
  const displayName = parseOptionalText("display_name", profileInput.displayName)
  return {
    givenName,
    familyName,
    nickName: parseOptionalText("nick_name", profileInput.nickName),
    displayName: displayName || formatFullName({ givenName, familyName }),
    preferredLanguage: parseLanguage(profileInput.preferredLanguage ?? ""),
    gender: profileInput.gender ?? "unspecified",
  }
}

/** The event of a new code; it erases the previous one. */
export function codeAddedEvent(of: ContactKind, code: NewCode): Draft<UserEvent> {
  const type = `user.human.${of}.code.added` as const
  const { sealed, expires, returned, urlTemplate, verifier } = code
  return {
    type,
    data: { expires, returned, urlTemplate, ...(verifier && { verifier }) },
    private: { sealed },
    erase: { types: [type] },
  }
}

const nameTakenClaim = {
  id: "user.name_taken",
  message: "another client or project already has this name; choose another name",
}

export const claimServiceAccountClientId = (userName: string): ClaimChange =>
  claimClientId(userName, nameTakenClaim)

const idTakenByClient = {
  id: "user.id_is_client",
  message: "a client or project already has this ID; choose another ID",
}

/**
 * Keeps user IDs and client IDs distinct. Only IDs with a letter can be chosen as client IDs, so
 * most users need no claim; it is never released, because user IDs are never reused.
 */
function clientIdClaims(cx: DecisionContext, id: string): readonly ClaimChange[] {
  if (cx.holder(clientClaim, id)) {
    throw new Fault("already_exists", idTakenByClient.id, idTakenByClient.message)
  }
  // IDs of self-checks are generated, so they need no claim.
  const isChosen = /[A-Za-z]/.test(id) && !isTemporaryId(id)
  return isChosen ? [{ take: clientClaim, key: id, taken: idTakenByClient }] : []
}

/** Releases the client ID of a service account, unless it is the user ID, which stays claimed. */
export const releaseClientClaims = (id: string, userName: string): readonly ClaimChange[] =>
  userName === id ? [] : [releaseClientId(userName)]

const orgNotFoundError = () => new Fault("not_found", "org.missing", "organization not found")

const orgInactiveError = () =>
  new Fault(
    "failed_precondition",
    "org.inactive",
    "the organization is deactivated; activate it before adding users",
  )

const idReservedError = () =>
  new Fault(
    "invalid_argument",
    "user.id_kept",
    "this ID is reserved for the server; choose another ID",
  )

const idTakenError = () =>
  new Fault("already_exists", "user.id_taken", "a user with this ID exists or existed before")

/**
 * A new user with a free name. If another organization's account has the verified address as its
 * name, a number is appended, or the user ID if those are taken too.
 */
export function withFreeName(tx: Transaction, id: string, person: NewHuman): NewHuman {
  const { orgId, email, userName } = person
  if (userName !== undefined && userName !== email.value) return person
  for (let number = 1; number <= nameAttemptsMax; number++) {
    const candidate = number === 1 ? email.value : `${email.value}-${number}`
    const refusal = findNameError(tx, { id, orgId, userName: candidate })
    if (!refusal) return { ...person, userName: candidate }
    const holder = findNameHolder(tx, candidate)
    if (!holder || tx.owner(user, holder.id) === orgId) return person
  }
  return { ...person, userName: `${email.value}-${id}` }
}

const nameAttemptsMax = 20
