import { isOpenWindow } from "../../kernel/clock.ts"
import { constantTimeEquals } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import { parseDisplayName as nameOf } from "../../kernel/text/identifier.ts"
import { listCodeSpellings } from "../../kernel/text/typed-code.ts"
import { foldEmail } from "../../protocol/email.ts"
import { formatFullName, parseEmail } from "../../protocol/user-field.ts"
import { aggregate, type Cx, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { firstPasswordIn, type NewCode, type NewPassword } from "../credential/index.ts"
import { beginFirstKey } from "../factor/index.ts"
import { addOrganization } from "../org/index.ts"
import { generateCode } from "../policy/index.ts"
import { addUser, type NewHuman, withFreeName } from "../user/index.ts"
import { findAccountByEmail } from "../user-lookup/index.ts"
import { byUser } from "../user-model/index.ts"
import { type FirstCredential, inviteInTransaction } from "./invite.ts"

/** The data that a user enters to register. */
export type Registrant = {
  readonly email: string
  readonly givenName: string
  readonly familyName: string
  /** Preferred language, BCP 47. */
  readonly language: string
  /** Name of the organization to create; empty to join an existing one. */
  readonly organization: string
}

type RegistrationTerms = {
  /** The organization that the user will belong to, existing or new. */
  readonly orgId: string
  /** When the code expires, ms UTC. */
  readonly expires: number
  /** The user who already has the address; empty if no one has. */
  readonly accountId: string
  /** The sign-in it was requested in; empty if none. */
  readonly requestId: string
  /** The sign-up link it was requested with; omitted without one. */
  readonly signUpLinkId?: string
}

export type RegistrationEvent =
  | Event<"registration.requested", RegistrationTerms, Registrant & { readonly sealed: string }>
  | Event<"registration.check.failed">
  | Event<"registration.completed">
  | Event<"registration.submitted">

export type Registration =
  | { readonly status: "absent" | "over"; readonly until: number }
  | (RegistrationTerms &
      Registrant & {
        readonly status: "open"
        readonly until: number
        readonly sealed: string
        readonly failed: number
      })

const absent: Registration = { status: "absent", until: 0 }
const hourMs = 3_600_000

/**
 * A requested account; the ID is that of the future user. Until the address is verified, no user is
 * created and no name is claimed.
 */
export const registration = aggregate<RegistrationEvent, Registration>({
  stream: "registration",
  retention: "transient",
  expires: ({ until }) => until + hourMs,
  initial: absent,
  evolve: {
    "registration.requested": (_, { data, private: secret }) =>
      secret
        ? { ...data, ...secret, status: "open", until: data.expires, failed: 0 }
        : { status: "over", until: data.expires },
    "registration.check.failed": (state) =>
      state.status === "open" ? { ...state, failed: state.failed + 1 } : state,
    "registration.completed": ({ until }) => ({ status: "over", until }),
    "registration.submitted": ({ until }) => ({ status: "over", until }),
  },
})

/** Limit per address within an hour, regardless of the caller, to avoid flooding its owner. */
const requestsMax = 3

type RequestCount = { readonly since: number; readonly asked: number }

/** Number of requested accounts for an address; the ID is a keyed hash of it. */
export const registrationCount = aggregate<Event<"registration.counted">, RequestCount>({
  stream: "registration_count",
  retention: "transient",
  expires: ({ since }) => since + hourMs,
  initial: { since: 0, asked: 0 },
  evolve: {
    "registration.counted": ({ since, asked }, { time }) =>
      isOpenWindow(since, hourMs, time) ? { since, asked: asked + 1 } : { since: time, asked: 1 },
  },
})

/** Wrong codes per registration, regardless of others with the same address. */
const failedMax = 10

/** Normalizes the entered data. Rejects an invalid address or name. */
export const parseRegistrant = (input: Registrant): Registrant => ({
  ...input,
  email: parseEmail(input.email),
  givenName: nameOf("given_name", input.givenName),
  familyName: nameOf("family_name", input.familyName),
  organization: input.organization === "" ? "" : nameOf("organization", input.organization),
})

export type RegistrationInput = Pick<RegistrationTerms, "orgId" | "requestId" | "signUpLinkId"> & {
  readonly registrant: Registrant
}

/**
 * Stores a requested registration and sends the code. If the address already has an account, only
 * the email mentions it: the work and the response are the same. After too many requests for an
 * address, no email is sent for an hour. The stream belongs to the instance, because an
 * organization could learn from it who has an account.
 */
export async function requestRegistration(
  cx: Cx,
  id: string,
  input: RegistrationInput,
): Promise<void> {
  cx.allowance?.spend("message")
  const paced = cx.allowance?.pace()
  const { registrant, ...rest } = input
  const { plain, expires } = generateCode(cx, "init_code")
  const accountId = findAccountByEmail(cx, registrant.email, input.orgId) ?? ""
  const requested: Draft<RegistrationEvent> = {
    type: "registration.requested",
    data: { ...rest, expires, accountId },
    private: { ...registrant, sealed: cx.secrets.seal("seal", plain, codeContext(id)) },
  }
  await cx.store.transact(cx, (tx) => {
    if (countAndCheckLimit(tx, registrant.email)) return
    tx.append(registration, id, [requested], cx.instance)
  })
  await paced?.()
}

/**
 * Counts a request for an address, regardless of its spelling, and returns whether the limit is
 * exceeded.
 */
function countAndCheckLimit(tx: Transaction, email: string): boolean {
  const id = tx.secrets.hash(foldEmail(email), "registration_address")
  const { since, asked } = tx.state(registrationCount, id)
  if (isOpenWindow(since, hourMs, tx.now) && asked >= requestsMax) return true
  tx.append(registrationCount, id, [{ type: "registration.counted", data: {} }])
  return false
}

const codeContext = (id: string): string => `registration/${id}`

/** Checks a code without consuming it; a wrong one is counted. */
export async function checkRegistration(cx: Cx, id: string, code: string): Promise<"ok" | "wrong"> {
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(registration, id)
    if (isCodeCorrect(tx, id, code)) return "ok"
    if (state.status === "open" && state.failed < failedMax)
      tx.append(registration, id, [{ type: "registration.check.failed", data: {} }])
    return "wrong"
  })
  return step.value
}

function isCodeCorrect(tx: Transaction, id: string, code: string): boolean {
  const state = tx.state(registration, id)
  if (state.status !== "open" || state.failed >= failedMax) return false
  if (tx.now >= state.expires || state.accountId !== "") return false
  const plain = tx.secrets.open("seal", state.sealed, codeContext(id))
  return (
    plain !== undefined && listCodeSpellings(code).some((typed) => constantTimeEquals(plain, typed))
  )
}

/** The entered data, for the page after the code was verified and for the email. */
export function findRegistrant(cx: Cx, id: string): (RegistrationTerms & Registrant) | undefined {
  const state = cx.store.state(cx, registration, id)
  return state.status === "open" ? state : undefined
}

/** The code in plain text for the email; undefined if it is no longer valid. */
export function registrationCode(cx: Cx, id: string) {
  const state = cx.store.state(cx, registration, id)
  if (state.status !== "open" || state.accountId !== "") return undefined
  const plain = cx.secrets.open("seal", state.sealed, codeContext(id))
  return plain === undefined ? undefined : { plain, expires: state.expires }
}

/** Checks and hashes the password for the requested account. */
export function preparePassword(cx: Cx, id: string, plain: string): Promise<NewPassword> {
  const state = cx.store.state(cx, registration, id)
  if (state.status !== "open") throw registrationOverError()
  return firstPasswordIn(cx, state.orgId, plain, { names: [state.email] })
}

/** Begins registration of a passkey instead; see `beginFirstKey`. */
export function beginRegistrationKey(cx: Cx, id: string) {
  const state = cx.store.state(cx, registration, id)
  if (state.status !== "open") throw registrationOverError()
  return beginFirstKey(cx, { id, name: state.email, displayName: formatFullName(state) })
}

export type CompleteInput = {
  readonly code: string
  readonly chosen: FirstCredential
  /** Corrected user data, if they differ from the request. */
  readonly person?: NewHuman | undefined
}

const toNewHuman = (submitted: RegistrationTerms & Registrant): NewHuman => ({
  kind: "human",
  orgId: submitted.orgId,
  profile: {
    givenName: submitted.givenName,
    familyName: submitted.familyName,
    preferredLanguage: submitted.language,
  },
  email: { value: submitted.email, verified: true, verifier: byUser },
})

/** The user to be created from an open registration; undefined for any other. */
export function findNewHuman(cx: Cx, id: string): NewHuman | undefined {
  const submitted = findRegistrant(cx, id)
  return submitted && toNewHuman(submitted)
}

/** The organization and address of the created account, and its sign-up link, if any. */
export type CompletedRegistration = Pick<RegistrationTerms, "orgId"> &
  Pick<Registrant, "email"> & {
    /** Whether the user created the organization. */
    readonly isFounder: boolean
    readonly signUpLinkId: string | undefined
  }

/**
 * Creates the account, and the organization if it is new, in a transaction. Rejects if the code or
 * address was used concurrently.
 */
export function completeRegistration(
  tx: Transaction,
  id: string,
  { code, chosen, person }: CompleteInput,
): CompletedRegistration {
  const state = tx.state(registration, id)
  if (state.status !== "open" || !isCodeCorrect(tx, id, code)) throw registrationOverError()
  const { orgId, organization, email, signUpLinkId } = state
  const isFounder = organization !== ""
  if (isFounder) addOrganization(tx, orgId, { name: organization })
  const { password } = { password: undefined, ...chosen }
  addUser(tx, id, { ...withFreeName(tx, id, person ?? toNewHuman(state)), password })
  if ("passkey" in chosen) chosen.passkey(tx, id)
  const types = ["registration.requested"] as const
  tx.append(registration, id, [{ type: "registration.completed", data: {}, erase: { types } }])
  return { orgId, isFounder, email, signUpLinkId }
}

/**
 * Ends a registration that needs approval, in a transaction, without creating a user. Returns the
 * entered data, whose address the code has verified.
 */
export function submitRegistration(
  tx: Transaction,
  id: string,
  code: string,
): SubmittedRegistration {
  const state = tx.state(registration, id)
  if (state.status !== "open" || !isCodeCorrect(tx, id, code)) throw registrationOverError()
  const types = ["registration.requested"] as const
  tx.append(registration, id, [{ type: "registration.submitted", data: {}, erase: { types } }])
  const { orgId, signUpLinkId, email, givenName, familyName, language } = state
  return { orgId, signUpLinkId, email, givenName, familyName, language }
}

/** The data of a registration to be approved. */
export type SubmittedRegistration = Pick<RegistrationTerms, "orgId"> &
  Omit<Registrant, "organization"> & { readonly signUpLinkId: string | undefined }

/** Whether an address has an account from the view of a registration in an organization. */
export const hasAccount = (cx: Cx, email: string, orgId: string): boolean =>
  findAccountByEmail(cx, email, orgId) !== undefined

/**
 * Creates the user of an approved registration in a transaction and sends an invitation, whose code
 * verifies the address and sets the password.
 */
export function createApprovedUser(
  tx: Transaction,
  id: string,
  { said: submitted, code }: { readonly said: SubmittedRegistration; readonly code: NewCode },
): void {
  const { orgId, email: value, language: preferredLanguage, givenName, familyName } = submitted
  const profile = { givenName, familyName, preferredLanguage }
  const email = { value, verified: false }
  addUser(tx, id, withFreeName(tx, id, { kind: "human", orgId, profile, email }))
  inviteInTransaction(tx, id, { code })
}

const registrationOverError = () =>
  new Fault(
    "failed_precondition",
    "registration.over",
    "the registration has expired or its code is incorrect; start again",
  )
