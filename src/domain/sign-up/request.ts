import { Fault } from "../../kernel/fault.ts"
import { foldEmail } from "../../protocol/email.ts"
import {
  type Cx,
  type Draft,
  type Receipt,
  statement,
  type Transaction,
} from "../../store/index.ts"
import { createCode } from "../credential/index.ts"
import { permissionHolders } from "../member/index.ts"
import { queueSignUpWaiting } from "../message/index.ts"
import { org } from "../org/index.ts"
import { login, policyOf } from "../policy/index.ts"
import { addApproved, hasAccount, registrantBy, submitRegistration } from "../registration/index.ts"
import { user } from "../user-model/index.ts"
import { redeemSignUpLink } from "./link.ts"
import {
  type Applicant,
  isNoticed,
  requestMs,
  type SignUpRequestEvent,
  signUpLink,
  signUpNotice,
  signUpRequest,
} from "./model.ts"
import { waitingIds } from "./view.ts"

/**
 * Whether an administrator must approve the account that somebody has asked for: a sign-up link
 * says it, else the login policy of the organization that they join.
 */
export function needsApproval(cx: Cx, registrationId: string): boolean {
  const asked = registrantBy(cx, registrationId)
  if (!asked) return false
  const { signUpLinkId, orgId, organization } = asked
  if (signUpLinkId !== undefined) {
    return cx.store.state(cx, signUpLink, signUpLinkId).requiresApproval === true
  }
  return organization === "" && policyOf(cx, orgId, login).requireSignUpApproval
}

/** More than anybody decides on in a month; each has an address that was proven. */
const waitingMax = 1000

/** How many administrators are mailed of one. */
const noticedMax = 20

type Submission = {
  readonly code: string
  /** Whether the organization can still be joined without a sign-up link. */
  readonly isOpen: (orgId: string) => boolean
}

/**
 * Submits what somebody has registered with to the administrators of the organization, once they
 * have shown the code of the mail. Of an address that waits already nothing else is kept. Faults
 * where the registration or its link is over, or too many wait.
 */
export async function submitSignUp(
  cx: Cx,
  id: string,
  { code, isOpen }: Submission,
): Promise<void> {
  const orgId = registrantBy(cx, id)?.orgId ?? ""
  const administrators = administratorsOf(cx, orgId)
  const waiting = cx.store.get(cx, countOf, { orgId, now: cx.clock.now() })?.count ?? 0
  if (waiting >= waitingMax) throw tooManyError()
  await cx.store.transact(cx, (tx) => {
    const { signUpLinkId, orgId: home, ...applicant } = submitRegistration(tx, id, code)
    const key = claimKey(tx, home, applicant)
    if (tx.holder(claimKind, key)) return
    if (signUpLinkId !== undefined) {
      redeemSignUpLink(tx, signUpLinkId, { userId: id, email: applicant.email })
    } else if (!isOpen(home)) throw closedError()
    const expires = tx.now + requestMs
    const added: Draft<SignUpRequestEvent> = {
      type: "sign_up_request.added",
      data: { orgId: home, expires, ...(signUpLinkId !== undefined && { signUpLinkId }) },
      private: applicant,
      claims: [{ take: claimKind, key, expires, taken: waitingAlready }],
    }
    tx.append(signUpRequest, id, [added], home)
    notify(tx, home, administrators)
  })
}

const countOf = statement<{ count: number }>(
  `SELECT count(*) AS count FROM sign_up_requests
   WHERE instance = $instance AND org = $orgId AND expires > $now`,
)

const claimKind = "sign_up_request.email"

const waitingAlready = {
  id: "sign_up_request.waiting",
  message: "a sign-up with this email address is already waiting for approval",
}

/** An address waits once in each organization; claims show nobody's address. */
const claimKey = (tx: Transaction, orgId: string, { email }: Pick<Applicant, "email">): string =>
  tx.secrets.hash(`${orgId}/${foldEmail(email)}`, claimKind)

/** Who may approve it: in the organization, else on the instance. */
function administratorsOf(cx: Cx, orgId: string): readonly string[] {
  const peopleOn = (level: "org" | "instance", id: string) =>
    permissionHolders(cx, { level, id }, "user.write").filter((userId) => isPerson(cx, userId))
  const own = peopleOn("org", orgId)
  const all = own.length > 0 ? own : peopleOn("instance", cx.instance)
  return all.slice(0, noticedMax)
}

/** Whether somebody can read a mail and sign in. */
function isPerson(cx: Cx, userId: string): boolean {
  const state = cx.store.state(cx, user, userId)
  return state.status === "active" && state.kind === "human"
}

/** Mails the administrators; not more often than a few times within an hour. */
function notify(tx: Transaction, orgId: string, administrators: readonly string[]): void {
  if (isNoticed(tx.state(signUpNotice, orgId), tx.now)) return
  tx.append(signUpNotice, orgId, [{ type: "sign_up_notice.counted", data: {} }], orgId)
  for (const userId of administrators) queueSignUpWaiting(tx, userId)
}

/**
 * Approves a sign-up: makes the user and sends the invitation, in one step. Rejects one that is
 * decided or expired, and an address that has an account by now.
 */
export async function approveSignUp(cx: Cx, id: string): Promise<Receipt> {
  const { orgId, applicant } = cx.store.state(cx, signUpRequest, id)
  if (applicant && hasAccount(cx, applicant.email, orgId)) throw accountError()
  const code = createCode(cx, id, { of: "invite", returned: false })
  const step = await cx.store.transact(cx, (tx) => {
    const waiting = waitingIn(tx, id)
    const { applicant: asked, signUpLinkId } = waiting
    addApproved(tx, id, { said: { ...asked, orgId: waiting.orgId, signUpLinkId }, code })
    decide(tx, id, "sign_up_request.approved")
  })
  return step.receipt(signUpRequest, id)
}

/** Refuses a sign-up. Rejects one that is decided or expired. */
export async function refuseSignUp(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => decide(tx, id, "sign_up_request.refused"))
  return step.receipt(signUpRequest, id)
}

/** Ends the wait: what the person has entered is erased, and the address may sign up again. */
function decide(tx: Transaction, id: string, type: Ending["type"]): void {
  end(tx, id, { type, ...waitingIn(tx, id) })
}

type Ending = {
  readonly type: "sign_up_request.approved" | "sign_up_request.refused"
  readonly orgId: string
  readonly applicant: Applicant
}

function end(tx: Transaction, id: string, { type, orgId, applicant }: Ending): void {
  const decided: Draft<SignUpRequestEvent> = {
    type,
    data: {},
    erase: { types: ["sign_up_request.added"] },
    claims: [{ release: claimKind, key: claimKey(tx, orgId, applicant) }],
  }
  tx.append(signUpRequest, id, [decided])
}

/**
 * Erases some of the sign-ups that wait in an organization that is deleted; answers whether there
 * were any.
 */
export function dropSignUps(cx: Cx, tx: Transaction, orgId: string): boolean {
  const ids = waitingIds(cx, orgId, dropBatch)
  for (const id of ids) {
    const { status, applicant } = tx.state(signUpRequest, id)
    if (status !== "waiting" || !applicant) continue
    end(tx, id, { type: "sign_up_request.refused", orgId, applicant })
  }
  return ids.length > 0
}

const dropBatch = 50

function waitingIn(tx: Transaction, id: string) {
  const { status, applicant, orgId, signUpLinkId, expires } = tx.state(signUpRequest, id)
  if (status === "absent" || tx.state(org, orgId).status === "removed") throw requestMissingError()
  if (status !== "waiting" || !applicant || tx.now >= expires) throw decidedError(status)
  return { applicant, orgId, signUpLinkId }
}

export const requestMissingError = (): Fault =>
  new Fault("not_found", "sign_up_request.missing", "sign-up request not found")

const decidedError = (status: string) =>
  new Fault(
    "failed_precondition",
    "sign_up_request.decided",
    status === "waiting"
      ? "this sign-up request has expired"
      : `this sign-up request was already ${status}`,
  )

const accountError = () =>
  new Fault(
    "already_exists",
    "sign_up_request.account_exists",
    "a user has this email address by now; refuse the request",
  )

const closedError = () =>
  new Fault("failed_precondition", "registration.closed", "nobody may make an account here by now")

const tooManyError = () =>
  new Fault(
    "resource_exhausted",
    "sign_up_request.too_many",
    `${waitingMax} sign-ups of the organization wait for approval; decide on some of them first`,
  )
