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
import { listPermissionHolders } from "../member/index.ts"
import { queueSignUpWaiting } from "../message/index.ts"
import { org } from "../org/index.ts"
import { login, policyOf } from "../policy/index.ts"
import {
  createApprovedUser,
  findRegistrant,
  hasAccount,
  submitRegistration,
} from "../registration/index.ts"
import { user } from "../user-model/index.ts"
import { redeemSignUpLink } from "./link.ts"
import {
  type Applicant,
  isNoticeLimitReached,
  requestLifetimeMs,
  type SignUpRequestEvent,
  signUpLink,
  signUpNotice,
  signUpRequest,
} from "./model.ts"
import { listPendingIds } from "./view.ts"

/**
 * Whether an administrator must approve a registration: depends on its sign-up link, otherwise on
 * the login policy of the organization.
 */
export function needsApproval(cx: Cx, registrationId: string): boolean {
  const registrant = findRegistrant(cx, registrationId)
  if (!registrant) return false
  const { signUpLinkId, orgId, organization } = registrant
  if (signUpLinkId !== undefined) {
    return cx.store.state(cx, signUpLink, signUpLinkId).requiresApproval === true
  }
  return organization === "" && policyOf(cx, orgId, login).requireSignUpApproval
}

/** More than administrators can decide on in a month; each request has a verified address. */
const pendingMax = 1000

/** Number of administrators that are emailed per request. */
const recipientsMax = 20

type Submission = {
  readonly code: string
  /** Whether the organization can still be joined without a sign-up link. */
  readonly isOpen: (orgId: string) => boolean
}

/**
 * Submits a registration for approval after the code was verified. Ignores further requests of a
 * waiting address. Throws if the registration or link has expired, or too many requests are
 * waiting.
 */
export async function submitSignUp(
  cx: Cx,
  id: string,
  { code, isOpen }: Submission,
): Promise<void> {
  const orgId = findRegistrant(cx, id)?.orgId ?? ""
  const administrators = listAdministrators(cx, orgId)
  const waiting = cx.store.get(cx, selectCount, { orgId, now: cx.clock.now() })?.count ?? 0
  if (waiting >= pendingMax) throw tooManyError()
  await cx.store.transact(cx, (tx) => {
    const { signUpLinkId, orgId: home, ...applicant } = submitRegistration(tx, id, code)
    const key = claimKey(tx, home, applicant)
    if (tx.holder(claimKind, key)) return
    if (signUpLinkId !== undefined) {
      redeemSignUpLink(tx, signUpLinkId, { userId: id, email: applicant.email })
    } else if (!isOpen(home)) throw registrationClosedError()
    const expires = tx.now + requestLifetimeMs
    const added: Draft<SignUpRequestEvent> = {
      type: "sign_up_request.added",
      data: { orgId: home, expires, ...(signUpLinkId !== undefined && { signUpLinkId }) },
      private: applicant,
      claims: [{ take: claimKind, key, expires, taken: pendingClaim }],
    }
    tx.append(signUpRequest, id, [added], home)
    notifyAdministrators(tx, home, administrators)
  })
}

const selectCount = statement<{ count: number }>(
  `SELECT count(*) AS count FROM sign_up_requests
   WHERE instance = $instance AND org = $orgId AND expires > $now`,
)

const claimKind = "sign_up_request.email"

const pendingClaim = {
  id: "sign_up_request.waiting",
  message: "a sign-up with this email address is already waiting for approval",
}

/** An address can wait once per organization. Claim keys are hashed to protect addresses. */
const claimKey = (tx: Transaction, orgId: string, { email }: Pick<Applicant, "email">): string =>
  tx.secrets.hash(`${orgId}/${foldEmail(email)}`, claimKind)

/**
 * Administrators who can approve it: those of the organization, otherwise those of the instance.
 */
function listAdministrators(cx: Cx, orgId: string): readonly string[] {
  const peopleOn = (level: "org" | "instance", id: string) =>
    listPermissionHolders(cx, { level, id }, "user.write").filter((userId) =>
      canBeNotified(cx, userId),
    )
  const own = peopleOn("org", orgId)
  const all = own.length > 0 ? own : peopleOn("instance", cx.instance)
  return all.slice(0, recipientsMax)
}

/** Whether a user has an email address and can sign in. */
function canBeNotified(cx: Cx, userId: string): boolean {
  const state = cx.store.state(cx, user, userId)
  return state.status === "active" && state.kind === "human"
}

/** Emails the administrators, up to the hourly limit. */
function notifyAdministrators(
  tx: Transaction,
  orgId: string,
  administrators: readonly string[],
): void {
  if (isNoticeLimitReached(tx.state(signUpNotice, orgId), tx.now)) return
  tx.append(signUpNotice, orgId, [{ type: "sign_up_notice.counted", data: {} }], orgId)
  for (const userId of administrators) queueSignUpWaiting(tx, userId)
}

/**
 * Approves a sign-up: creates the user and sends the invitation in one transaction. Rejects a
 * request that is decided or expired, or whose address has an account in the meantime.
 */
export async function approveSignUp(cx: Cx, id: string): Promise<Receipt> {
  const { orgId, applicant } = cx.store.state(cx, signUpRequest, id)
  if (applicant && hasAccount(cx, applicant.email, orgId)) throw accountExistsError()
  const code = createCode(cx, id, { of: "invite", returned: false })
  const step = await cx.store.transact(cx, (tx) => {
    const waiting = requirePending(tx, id)
    const { applicant: registrant, signUpLinkId } = waiting
    createApprovedUser(tx, id, {
      said: { ...registrant, orgId: waiting.orgId, signUpLinkId },
      code,
    })
    endWithDecision(tx, id, "sign_up_request.approved")
  })
  return step.receipt(signUpRequest, id)
}

/** Declines a sign-up. Rejects a request that is decided or expired. */
export async function refuseSignUp(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) =>
    endWithDecision(tx, id, "sign_up_request.refused"),
  )
  return step.receipt(signUpRequest, id)
}

/** Decides a request: erases the entered data, so that the address can sign up again. */
function endWithDecision(tx: Transaction, id: string, type: RequestDecision["type"]): void {
  appendDecision(tx, id, { type, ...requirePending(tx, id) })
}

type RequestDecision = {
  readonly type: "sign_up_request.approved" | "sign_up_request.refused"
  readonly orgId: string
  readonly applicant: Applicant
}

function appendDecision(
  tx: Transaction,
  id: string,
  { type, orgId, applicant }: RequestDecision,
): void {
  const decided: Draft<SignUpRequestEvent> = {
    type,
    data: {},
    erase: { types: ["sign_up_request.added"] },
    claims: [{ release: claimKind, key: claimKey(tx, orgId, applicant) }],
  }
  tx.append(signUpRequest, id, [decided])
}

/** Erases a batch of pending sign-ups of a deleted organization. Returns whether there were any. */
export function removeSignUps(cx: Cx, tx: Transaction, orgId: string): boolean {
  const ids = listPendingIds(cx, orgId, removalBatchSize)
  for (const id of ids) {
    const { status, applicant } = tx.state(signUpRequest, id)
    if (status !== "waiting" || !applicant) continue
    appendDecision(tx, id, { type: "sign_up_request.refused", orgId, applicant })
  }
  return ids.length > 0
}

const removalBatchSize = 50

function requirePending(tx: Transaction, id: string) {
  const { status, applicant, orgId, signUpLinkId, expires } = tx.state(signUpRequest, id)
  if (status === "absent" || tx.state(org, orgId).status === "removed") throw requestNotFoundError()
  if (status !== "waiting" || !applicant || tx.now >= expires) throw decidedError(status)
  return { applicant, orgId, signUpLinkId }
}

export const requestNotFoundError = (): Fault =>
  new Fault("not_found", "sign_up_request.missing", "sign-up request not found")

const decidedError = (status: string) =>
  new Fault(
    "failed_precondition",
    "sign_up_request.decided",
    status === "waiting"
      ? "this sign-up request has expired"
      : `this sign-up request was already ${status}`,
  )

const accountExistsError = () =>
  new Fault(
    "already_exists",
    "sign_up_request.account_exists",
    "a user already has this email address; reject the request",
  )

const registrationClosedError = () =>
  new Fault(
    "failed_precondition",
    "registration.closed",
    "registration is no longer allowed for this organization",
  )

const tooManyError = () =>
  new Fault(
    "resource_exhausted",
    "sign_up_request.too_many",
    `the organization has ${pendingMax} sign-ups waiting for approval; approve or reject ` +
      "some of them first",
  )
