import type { Cx, Transaction } from "../../store/index.ts"
import { requireContactOwner } from "../user/index.ts"
import { isAbsent, user } from "../user-model/index.ts"
import { hasSharedEmail, isOrgVerifiedOnly, iterateOrgVerified } from "./verified.ts"

/** Confirms on behalf of the instance an address that the organization or a provider verified. */
const confirmEmail = user.command((state) => {
  const { verified, verifier } = requireContactOwner(state).email
  if (!verified || verifier?.by === "user" || verifier?.by === "instance") return []
  return [{ type: "user.human.email.verified", data: { verifier: { by: "instance" } } }]
})

type EmailConfirmation = { readonly userId: string; readonly email: string }

/** Confirms an address that still belongs to this user only. Returns whether it was confirmed. */
async function confirmIfUnchanged(cx: Cx, { userId, email }: EmailConfirmation): Promise<boolean> {
  const step = await cx.store.transact(cx, (tx) => {
    if (unconfirmedEmailOf(tx, userId) !== email) return false
    if (!isOrgVerifiedOnly(cx, userId) || hasSharedEmail(cx, userId)) return false
    confirmEmail.within(tx, userId)
    return true
  })
  return step.value
}

function unconfirmedEmailOf(tx: Transaction, userId: string): string | undefined {
  const state = tx.state(user, userId)
  return !isAbsent(state) && state.kind === "human" ? state.email.address : undefined
}

/** Number of confirmed users, the first of their IDs, and number of skipped users. */
export type ConfirmedEmails = {
  readonly confirmed: number
  readonly userIds: readonly string[]
  readonly skipped: number
}

const listedUsersMax = 20

/**
 * Confirms email addresses for the whole instance that only the users' own organization has
 * verified; limited to one organization if `orgId` is set. Skips addresses that several users
 * share: only one of them can be the owner, and the others may have been created to take over the
 * account.
 */
export async function confirmEmails(
  cx: Cx,
  { orgId, isTrial }: { readonly orgId?: string | undefined; readonly isTrial: boolean },
): Promise<ConfirmedEmails> {
  let confirmed = 0
  let skipped = 0
  const userIds: string[] = []
  for await (const id of iterateOrgVerified(cx)) {
    if (orgId !== undefined && cx.store.receipt(cx, user, id)?.owner !== orgId) continue
    if (hasSharedEmail(cx, id)) {
      skipped++
      continue
    }
    const { address: email } = requireContactOwner(cx.store.state(cx, user, id)).email
    if (!isTrial && !(await confirmIfUnchanged(cx, { userId: id, email }))) {
      skipped++
      continue
    }
    if (userIds.length < listedUsersMax) userIds.push(id)
    confirmed++
  }
  return { confirmed, userIds, skipped }
}

/** A user whose address only the user's own organization has verified. */
export type UnconfirmedEmail = {
  readonly userId: string
  readonly organizationId: string
  readonly loginName: string
  readonly email: string
  readonly isShared: boolean
}

const pageMax = 100
const countMax = 1000

type UnconfirmedPage = { readonly limit: number; readonly afterUserId: string }

/** A page of these users after an ID, and their number, counted up to 1000. */
export async function listUnconfirmedEmails(
  cx: Cx,
  { limit, afterUserId }: UnconfirmedPage,
): Promise<{ readonly users: readonly UnconfirmedEmail[]; readonly count: number }> {
  const listed = Math.min(limit || pageMax, pageMax)
  const users: UnconfirmedEmail[] = []
  let count = 0
  for await (const userId of iterateOrgVerified(cx, afterUserId)) {
    if (users.length < listed) users.push(toUnconfirmedEmail(cx, userId))
    if (++count >= countMax) break
  }
  return { users, count }
}

function toUnconfirmedEmail(cx: Cx, userId: string): UnconfirmedEmail {
  const { userName, email } = requireContactOwner(cx.store.state(cx, user, userId))
  return {
    userId,
    organizationId: cx.store.receipt(cx, user, userId)?.owner ?? "",
    loginName: userName,
    email: email.address,
    isShared: hasSharedEmail(cx, userId),
  }
}

/**
 * Confirms reviewed addresses and returns the users; skips users whose address changed in the
 * meantime.
 */
export async function confirmListedEmails(cx: Cx, emails: readonly EmailConfirmation[]) {
  const confirmedUserIds: string[] = []
  const skippedUserIds: string[] = []
  for (const each of emails) {
    const isConfirmed = await confirmIfUnchanged(cx, each)
    ;(isConfirmed ? confirmedUserIds : skippedUserIds).push(each.userId)
  }
  return { confirmedUserIds, skippedUserIds }
}
