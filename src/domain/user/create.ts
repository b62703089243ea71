import { Fault } from "../../kernel/fault.ts"
import { givenName as nameOf } from "../../kernel/text/given.ts"
import { isTemporaryId } from "../../protocol/self-check/temporary-id.ts"
import {
  emailOf,
  fullName,
  languageOf,
  loginNameOf,
  optionalTextOf,
  phoneOf,
} from "../../protocol/user-field.ts"
import type { ClaimChange, Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { type NewCode, type NewPassword, passwordChanged } from "../credential/index.ts"
import { clientClaim, releaseClientId, takeClientId } from "../instance/index.ts"
import type { CodeOf } from "../lockout/index.ts"
import { isThere as isOrgThere, org } from "../org/index.ts"
import { addLink, type External } from "../user-link/index.ts"
import {
  type AccessTokenType,
  type Gender,
  type JwtFormat,
  mayVerify,
  type Profile,
  type UserEvent,
  user,
  type Verifier,
  verifierFrom,
} from "../user-model/index.ts"
import { checkJwtFormat } from "./jwt-format.ts"
import { mustBeFree, nameHolder, nameRefusal, takeName } from "./login-name.ts"
import { firstMetadata, type Metadata } from "./metadata.ts"

/** Names as they are given; what is left out is derived or empty. */
export type NewProfile = {
  readonly givenName: string
  readonly familyName: string
  readonly nickName?: string | undefined
  readonly displayName?: string | undefined
  readonly preferredLanguage?: string | undefined
  readonly gender?: Gender | undefined
}

/** Verified by whoever may say so, or to be verified with a code. */
export type NewContact = {
  readonly value: string
  readonly verified: boolean
  /** Who verified it; where it is left out, whoever the caller speaks for. */
  readonly verifier?: Verifier | undefined
  readonly code?: NewCode | undefined
}

export type NewHuman = {
  readonly kind: "human"
  readonly orgId: string
  /** The e-mail address where it is left out. */
  readonly userName?: string | undefined
  readonly profile: NewProfile
  readonly email: NewContact
  readonly phone?: NewContact | undefined
  readonly password?: NewPassword | undefined
  readonly metadata?: readonly Metadata[] | undefined
  /** What they sign in with elsewhere. */
  readonly links?: readonly External[] | undefined
}

export type NewMachine = {
  readonly kind: "machine"
  readonly orgId: string
  /** The id where it is left out. */
  readonly userName?: string | undefined
  readonly name: string
  readonly description?: string | undefined
  readonly accessTokenType: AccessTokenType
  readonly jwtFormat?: JwtFormat | undefined
  readonly metadata?: readonly Metadata[] | undefined
}

export type NewUser = NewHuman | NewMachine

/**
 * Adds a user to an active organisation; new users are active. Refuses an id that was ever used or
 * is kept for the server's own, and a name that somebody else signs in with.
 */
export function addUser(tx: Transaction, id: string, input: NewUser): void {
  mustRun(tx, input.orgId)
  importUser(tx, id, input)
}

/**
 * The same, also to an organisation that is stopped, for who takes organisations over: nobody
 * signs in there, which one that ran until everybody is in it could not say.
 */
export function importUser(tx: Transaction, id: string, input: NewUser): void {
  const isKept = /^described(-\d+)?$/.test(id) || isTemporaryId(id)
  if (isKept && tx.state(user, id).status === "absent") throw idKeptError()
  add(tx, id, input)
}

/**
 * The id, and the name, of the service user that the server acts as. A number is passed over where
 * that user was removed, and where somebody else has the name or is a client by it: nobody who
 * takes names keeps the server from acting.
 */
export function ownUserId(tx: Decision, orgId: string): string {
  for (let number = 1; ; number++) {
    const id = number === 1 ? "described" : `described-${number}`
    const { status } = tx.state(user, id)
    if (status === "removed") continue
    if (status !== "absent" || isFree(tx, id, orgId)) return id
  }
}

const isFree = (tx: Decision, id: string, orgId: string): boolean =>
  tx.holder(clientClaim, id) === undefined &&
  nameRefusal(tx, { id, orgId, userName: id }) === undefined

/**
 * Adds a user of the server's own: the service user that it acts as, or that of a self-check.
 * Nobody else gives such an id, or the server would act as somebody's own, or remove them.
 */
export function addOwnUser(tx: Transaction, id: string, input: NewUser): void {
  mustRun(tx, input.orgId)
  add(tx, id, input)
}

function mustRun(tx: Transaction, orgId: string): void {
  if (tx.state(org, orgId).status === "inactive") throw orgInactiveError()
}

function add(tx: Transaction, id: string, input: NewUser): void {
  if (!isOrgThere(tx.state(org, input.orgId))) throw orgMissingError()
  if (tx.state(user, id).status !== "absent") throw idTakenError()
  const userName = loginNameOf(givenUserName(id, input))
  mustBeFree(tx, { id, orgId: input.orgId, userName })
  const drafts =
    input.kind === "human"
      ? humanAdded(tx, input, { id, userName })
      : machineAdded(tx, { id, input, userName })
  tx.append(user, id, [...drafts, ...firstMetadata(input.metadata ?? [])], input.orgId)
  const links = (input.kind === "human" && input.links) || []
  for (const link of links) addLink(tx, id, { ...link, isFirst: true })
}

/** Adds a user in a step of its own; see `addUser`. `isMade`: the id was made for this user. */
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

const givenUserName = (id: string, input: NewUser): string =>
  input.userName ?? (input.kind === "human" ? input.email.value : id)

type FirstContacts = Extract<UserEvent, { readonly type: "user.human.added" }>["data"]

/** Which addresses of a new person are verified, by whom; only who may verify one does. */
function verification(tx: Decision, { email, phone, orgId }: NewHuman): FirstContacts {
  const phoneVerified = phone?.verified ?? false
  if (!email.verified && !phoneVerified) return { emailVerified: false, phoneVerified }
  // Looked up once: the permissions of the caller decide it.
  const caller = verifierFrom(tx)
  const { verifier = caller } = email
  const emailVerified = email.verified && mayVerify(tx, { orgId, email: email.value, verifier })
  return {
    emailVerified,
    phoneVerified,
    ...(emailVerified && { emailVerifier: verifier }),
    ...(phoneVerified && { phoneVerifier: phone?.verifier ?? caller }),
  }
}

function humanAdded(
  cx: Decision,
  input: NewHuman,
  { id, userName }: { readonly id: string; readonly userName: string },
): readonly Draft<UserEvent>[] {
  const { email, phone, password } = input
  const added: Draft<UserEvent> = {
    type: "user.human.added",
    data: verification(cx, input),
    private: {
      userName,
      loginNames: [userName],
      profile: profileOf(input.profile),
      email: emailOf(email.value),
      phone: phone ? phoneOf(phone.value) : "",
    },
    claims: [...takeName(userName), ...clientIdClaims(cx, id)],
  }
  return [
    added,
    ...(email.code ? [codeAdded("email", email.code)] : []),
    ...(phone?.code ? [codeAdded("phone", phone.code)] : []),
    ...(password ? [passwordChanged(password, null)] : []),
  ]
}

type MachineDraft = {
  readonly id: string
  readonly input: NewMachine
  readonly userName: string
}

function machineAdded(
  cx: Decision,
  { id, input, userName }: MachineDraft,
): readonly Draft<UserEvent>[] {
  const { accessTokenType, jwtFormat = {} } = input
  checkJwtFormat(cx, jwtFormat)
  const added: Draft<UserEvent> = {
    type: "user.machine.added",
    data: { accessTokenType, ...jwtFormat },
    private: {
      userName,
      loginNames: [userName],
      name: nameOf("name", input.name),
      description: optionalTextOf("description", input.description, 500),
    },
    claims: [...takeName(userName), takeClient(userName), takeClientId(id, idIsClient)],
  }
  return [added]
}

/** Checks names and fills in what was left out. */
export function profileOf(given: NewProfile): Profile {
  const givenName = nameOf("given_name", given.givenName)
  const familyName = nameOf("family_name", given.familyName)
  const displayName = optionalTextOf("display_name", given.displayName)
  return {
    givenName,
    familyName,
    nickName: optionalTextOf("nick_name", given.nickName),
    displayName: displayName || fullName({ givenName, familyName }),
    preferredLanguage: languageOf(given.preferredLanguage ?? ""),
    gender: given.gender ?? "unspecified",
  }
}

/** The event of a new code; an older one is forgotten. */
export function codeAdded(of: CodeOf, code: NewCode): Draft<UserEvent> {
  const type = `user.human.${of}.code.added` as const
  const { sealed, expires, returned, urlTemplate, verifier } = code
  return {
    type,
    data: { expires, returned, urlTemplate, ...(verifier && { verifier }) },
    private: { sealed },
    erase: { types: [type] },
  }
}

const taken = {
  id: "user.name_taken",
  message: "another client or project already has this name; choose another",
}

export const takeClient = (userName: string): ClaimChange => takeClientId(userName, taken)

const idIsClient = {
  id: "user.id_is_client",
  message: "this id is that of a client or project; choose another",
}

/**
 * Keeps the ID of a person from being the ID of a client, and the reverse. Only an ID with a letter
 * can be chosen for a client later, so that most people hold no claim; it is never released, as no
 * ID of a user is given twice.
 */
function clientIdClaims(cx: Decision, id: string): readonly ClaimChange[] {
  if (cx.holder(clientClaim, id)) {
    throw new Fault("already_exists", idIsClient.id, idIsClient.message)
  }
  // Nobody chooses what a self-check makes, each time anew.
  const isChosen = /[A-Za-z]/.test(id) && !isTemporaryId(id)
  return isChosen ? [{ take: clientClaim, key: id, taken: idIsClient }] : []
}

/**
 * What a service user is a client by, its id apart: that one is kept as long as the user is.
 */
export const releaseClient = (id: string, userName: string): readonly ClaimChange[] =>
  userName === id ? [] : [releaseClientId(userName)]

const orgMissingError = () =>
  new Fault("not_found", "org.missing", "there is no organisation with this id")

const orgInactiveError = () =>
  new Fault(
    "failed_precondition",
    "org.inactive",
    "the organisation is deactivated; activate it before adding users",
  )

const idKeptError = () =>
  new Fault(
    "invalid_argument",
    "user.id_kept",
    "this id is kept for the server's own users; choose another",
  )

const idTakenError = () =>
  new Fault("already_exists", "user.id_taken", "there is or was a user with this id")

/**
 * Somebody new under a name that is free. Whoever proves an address is not kept out by an account
 * of another organization that is named like it: their name gets a number behind it, or
 * the user ID if others have taken these names, too.
 */
export function withFreeName(tx: Transaction, id: string, person: NewHuman): NewHuman {
  const { orgId, email, userName } = person
  if (userName !== undefined && userName !== email.value) return person
  for (let number = 1; number <= namesMax; number++) {
    const wanted = number === 1 ? email.value : `${email.value}-${number}`
    const refusal = nameRefusal(tx, { id, orgId, userName: wanted })
    if (!refusal) return { ...person, userName: wanted }
    const holder = nameHolder(tx, wanted)
    if (!holder || tx.owner(user, holder.id) === orgId) return person
  }
  return { ...person, userName: `${email.value}-${id}` }
}

const namesMax = 20
