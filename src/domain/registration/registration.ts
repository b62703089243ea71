import { isOpenWindow } from "../../kernel/clock.ts"
import { sameText } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import { givenName as nameOf } from "../../kernel/text/given.ts"
import { typedCodes } from "../../kernel/text/typed-code.ts"
import { foldEmail } from "../../protocol/email.ts"
import { emailOf, fullName } from "../../protocol/user-field.ts"
import { aggregate, type Cx, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { firstPasswordIn, type NewCode, type NewPassword } from "../credential/index.ts"
import { beginFirstKey } from "../factor/index.ts"
import { addOrganization } from "../org/index.ts"
import { newCode } from "../policy/index.ts"
import { addUser, type NewHuman, withFreeName } from "../user/index.ts"
import { accountWith } from "../user-lookup/index.ts"
import { byUser } from "../user-model/index.ts"
import { type FirstCredential, inviteWithin } from "./invite.ts"

/** What somebody says of themselves who wants an account. */
export type Registrant = {
  readonly email: string
  readonly givenName: string
  readonly familyName: string
  /** What they read, BCP 47. */
  readonly language: string
  /** The organisation that they begin with it; empty where they join one. */
  readonly organization: string
}

type Requested = {
  /** The organisation that they will belong to: one that is there, or the one that they begin. */
  readonly orgId: string
  /** Until when the code is good, ms UTC. */
  readonly expires: number
  /** Whose address it is already; empty where it is nobody's. */
  readonly accountId: string
  /** The sign-in that it was asked for in; empty where in none. */
  readonly requestId: string
  /** The sign-up link that it was asked for with; left out without one. */
  readonly signUpLinkId?: string
}

export type RegistrationEvent =
  | Event<"registration.requested", Requested, Registrant & { readonly sealed: string }>
  | Event<"registration.check.failed">
  | Event<"registration.completed">
  | Event<"registration.submitted">

export type Registration =
  | { readonly status: "absent" | "over"; readonly until: number }
  | (Requested &
      Registrant & {
        readonly status: "open"
        readonly until: number
        readonly sealed: string
        readonly failed: number
      })

const absent: Registration = { status: "absent", until: 0 }
const hour = 3_600_000

/**
 * An account that somebody has asked for; the id is the one that their user will have. Until they
 * have shown that the address is theirs, there is nobody, and nothing is taken from anybody.
 */
export const registration = aggregate<RegistrationEvent, Registration>({
  stream: "registration",
  retention: "transient",
  expires: ({ until }) => until + hour,
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

/** Within an hour, of one address, whoever asks: more would only be a nuisance to whose it is. */
const askedMax = 3

type Count = { readonly since: number; readonly asked: number }

/** How often accounts were asked for with an address; the id is a keyed hash of that. */
export const registrationCount = aggregate<Event<"registration.counted">, Count>({
  stream: "registration_count",
  retention: "transient",
  expires: ({ since }) => since + hour,
  initial: { since: 0, asked: 0 },
  evolve: {
    "registration.counted": ({ since, asked }, { time }) =>
      isOpenWindow(since, hour, time) ? { since, asked: asked + 1 } : { since: time, asked: 1 },
  },
})

/** However many ask for an account with one address: each has so many tries. */
const failedMax = 10

/** Checks what somebody says of themselves. Refuses an address or a name that can be none. */
export const registrantOf = (given: Registrant): Registrant => ({
  ...given,
  email: emailOf(given.email),
  givenName: nameOf("given_name", given.givenName),
  familyName: nameOf("family_name", given.familyName),
  organization: given.organization === "" ? "" : nameOf("organization", given.organization),
})

export type Wish = Pick<Requested, "orgId" | "requestId" | "signUpLinkId"> & {
  readonly registrant: Registrant
}

/**
 * Keeps that somebody wants an account, and has their address written to. One that has an account
 * is told so by that mail and by nothing else: it makes the same work, and is answered the same.
 * So is who asks too often with one address, which is written to no more for an hour. It belongs to
 * the instance: in what an organisation may read it would tell who has an account.
 */
export async function askRegistration(cx: Cx, id: string, wish: Wish): Promise<void> {
  cx.allowance?.spend("message")
  const paced = cx.allowance?.pace()
  const { registrant, ...rest } = wish
  const { plain, expires } = newCode(cx, "init_code")
  const accountId = accountWith(cx, registrant.email, wish.orgId) ?? ""
  const requested: Draft<RegistrationEvent> = {
    type: "registration.requested",
    data: { ...rest, expires, accountId },
    private: { ...registrant, sealed: cx.secrets.seal("seal", plain, aboutOf(id)) },
  }
  await cx.store.transact(cx, (tx) => {
    if (isOneTooMany(tx, registrant.email)) return
    tx.append(registration, id, [requested], cx.instance)
  })
  await paced?.()
}

/** Counts that an account is asked for with an address, however that is spelled. */
function isOneTooMany(tx: Transaction, email: string): boolean {
  const id = tx.secrets.hash(foldEmail(email), "registration_address")
  const { since, asked } = tx.state(registrationCount, id)
  if (isOpenWindow(since, hour, tx.now) && asked >= askedMax) return true
  tx.append(registrationCount, id, [{ type: "registration.counted", data: {} }])
  return false
}

const aboutOf = (id: string): string => `registration/${id}`

/** Looks at a code that anybody may show, and leaves it good; a wrong one is counted. */
export async function checkRegistration(cx: Cx, id: string, code: string): Promise<"ok" | "wrong"> {
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(registration, id)
    if (isRight(tx, id, code)) return "ok"
    if (state.status === "open" && state.failed < failedMax)
      tx.append(registration, id, [{ type: "registration.check.failed", data: {} }])
    return "wrong"
  })
  return step.value
}

function isRight(tx: Transaction, id: string, code: string): boolean {
  const state = tx.state(registration, id)
  if (state.status !== "open" || state.failed >= failedMax) return false
  if (tx.now >= state.expires || state.accountId !== "") return false
  const plain = tx.secrets.open("seal", state.sealed, aboutOf(id))
  return plain !== undefined && typedCodes(code).some((typed) => sameText(plain, typed))
}

/** Who asked, as a page shows them who has their code, and as the mail greets them. */
export function registrantBy(cx: Cx, id: string): (Requested & Registrant) | undefined {
  const state = cx.store.state(cx, registration, id)
  return state.status === "open" ? state : undefined
}

/** The code in the plain, for the mail that carries it; undefined where it is worth nothing. */
export function registrationCode(cx: Cx, id: string) {
  const state = cx.store.state(cx, registration, id)
  if (state.status !== "open" || state.accountId !== "") return undefined
  const plain = cx.secrets.open("seal", state.sealed, aboutOf(id))
  return plain === undefined ? undefined : { plain, expires: state.expires }
}

/** Prepares the password that somebody chooses for the account that they have asked for. */
export function registrationPassword(cx: Cx, id: string, plain: string): Promise<NewPassword> {
  const state = cx.store.state(cx, registration, id)
  if (state.status !== "open") throw overError()
  return firstPasswordIn(cx, state.orgId, plain, { names: [state.email] })
}

/** The same of a passkey that they choose instead; see `beginFirstKey`. */
export function registrationKey(cx: Cx, id: string) {
  const state = cx.store.state(cx, registration, id)
  if (state.status !== "open") throw overError()
  return beginFirstKey(cx, { id, name: state.email, displayName: fullName(state) })
}

export type Completing = {
  readonly code: string
  readonly chosen: FirstCredential
  /** Who they are, where that is not what they have said. */
  readonly person?: NewHuman | undefined
}

const personOf = (said: Requested & Registrant): NewHuman => ({
  kind: "human",
  orgId: said.orgId,
  profile: {
    givenName: said.givenName,
    familyName: said.familyName,
    preferredLanguage: said.language,
  },
  email: { value: said.email, verified: true, verifier: byUser },
})

/** Who somebody is to be whose registration is open; undefined for any other. */
export function personAsked(cx: Cx, id: string): NewHuman | undefined {
  const said = registrantBy(cx, id)
  return said && personOf(said)
}

/** Where an account was made, whose address it has, and with which sign-up link, if with one. */
export type Completed = Pick<Requested, "orgId"> &
  Pick<Registrant, "email"> & {
    /** Whether the organization begins with it. */
    readonly isFounder: boolean
    readonly signUpLinkId: string | undefined
  }

/**
 * Makes the account of who has shown the code, and their organisation if they begin one, as a part
 * of a step. Refuses where somebody else with the same code, or the same address, was faster.
 */
export function completeRegistration(
  tx: Transaction,
  id: string,
  { code, chosen, person }: Completing,
): Completed {
  const state = tx.state(registration, id)
  if (state.status !== "open" || !isRight(tx, id, code)) throw overError()
  const { orgId, organization, email, signUpLinkId } = state
  const isFounder = organization !== ""
  if (isFounder) addOrganization(tx, orgId, { name: organization })
  const { password } = { password: undefined, ...chosen }
  addUser(tx, id, { ...withFreeName(tx, id, person ?? personOf(state)), password })
  if ("passkey" in chosen) chosen.passkey(tx, id)
  const types = ["registration.requested"] as const
  tx.append(registration, id, [{ type: "registration.completed", data: {}, erase: { types } }])
  return { orgId, isFounder, email, signUpLinkId }
}

/**
 * Ends a registration that is approved by somebody else, as a part of a step: nobody is made by it.
 * Answers what its person has said, whose address the code has proven.
 */
export function submitRegistration(tx: Transaction, id: string, code: string): Submitted {
  const state = tx.state(registration, id)
  if (state.status !== "open" || !isRight(tx, id, code)) throw overError()
  const types = ["registration.requested"] as const
  tx.append(registration, id, [{ type: "registration.submitted", data: {}, erase: { types } }])
  const { orgId, signUpLinkId, email, givenName, familyName, language } = state
  return { orgId, signUpLinkId, email, givenName, familyName, language }
}

/** What is approved of a registration. */
export type Submitted = Pick<Requested, "orgId"> &
  Omit<Registrant, "organization"> & { readonly signUpLinkId: string | undefined }

/** Whether an address has an account for whoever registers in an organization. */
export const hasAccount = (cx: Cx, email: string, orgId: string): boolean =>
  accountWith(cx, email, orgId) !== undefined

/**
 * Makes the account of an approved registration, as a part of a step, and invites its person: the
 * address is verified by the code of the invitation, and the password is chosen with it.
 */
export function addApproved(
  tx: Transaction,
  id: string,
  { said, code }: { readonly said: Submitted; readonly code: NewCode },
): void {
  const { orgId, email: value, language: preferredLanguage, givenName, familyName } = said
  const profile = { givenName, familyName, preferredLanguage }
  const email = { value, verified: false }
  addUser(tx, id, withFreeName(tx, id, { kind: "human", orgId, profile, email }))
  inviteWithin(tx, id, { code })
}

const overError = () =>
  new Fault(
    "failed_precondition",
    "registration.over",
    "this registration is over, or its code is wrong; start again",
  )
