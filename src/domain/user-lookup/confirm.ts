import type { Cx, Transaction } from "../../store/index.ts"
import { personOf } from "../user/index.ts"
import { hasLeft, user } from "../user-model/index.ts"
import { hasSharedEmail, isVerifiedAtHomeOnly, verifiedAtHomeOnly } from "./verified.ts"

/** The instance's own word for an address that the user's organization or a provider verified. */
const confirmEmail = user.command((state) => {
  const { verified, verifier } = personOf(state).email
  if (!verified || verifier?.by === "user" || verifier?.by === "instance") return []
  return [{ type: "user.human.email.verified", data: { verifier: { by: "instance" } } }]
})

type EmailConfirmation = { readonly userId: string; readonly email: string }

/** Confirms an address that is still the user's and nobody else's; answers whether it did. */
async function confirmIfUnchanged(cx: Cx, { userId, email }: EmailConfirmation): Promise<boolean> {
  const step = await cx.store.transact(cx, (tx) => {
    if (addressOf(tx, userId) !== email) return false
    if (!isVerifiedAtHomeOnly(cx, userId) || hasSharedEmail(cx, userId)) return false
    confirmEmail.within(tx, userId)
    return true
  })
  return step.value
}

function addressOf(tx: Transaction, userId: string): string | undefined {
  const state = tx.state(user, userId)
  return !hasLeft(state) && state.kind === "human" ? state.email.address : undefined
}

/** How many users were confirmed, the IDs of the first of them, and how many were skipped. */
export type ConfirmedEmails = {
  readonly confirmed: number
  readonly userIds: readonly string[]
  readonly skipped: number
}

const listedMax = 20

/**
 * Confirms for the whole instance the email addresses that only the user's own organization has
 * verified; of one organization if `orgId` is set. Skips users who share their address with others:
 * only one of them can be its owner, and the others may have been created to take it over.
 */
export async function confirmEmails(
  cx: Cx,
  { orgId, isTrial }: { readonly orgId?: string | undefined; readonly isTrial: boolean },
): Promise<ConfirmedEmails> {
  let confirmed = 0
  let skipped = 0
  const userIds: string[] = []
  for await (const id of verifiedAtHomeOnly(cx)) {
    if (orgId !== undefined && cx.store.receipt(cx, user, id)?.owner !== orgId) continue
    if (hasSharedEmail(cx, id)) {
      skipped++
      continue
    }
    const { address: email } = personOf(cx.store.state(cx, user, id)).email
    if (!isTrial && !(await confirmIfUnchanged(cx, { userId: id, email }))) {
      skipped++
      continue
    }
    if (userIds.length < listedMax) userIds.push(id)
    confirmed++
  }
  return { confirmed, userIds, skipped }
}

/** A user whose address only their own organization has verified. */
export type UnconfirmedEmail = {
  readonly userId: string
  readonly organizationId: string
  readonly loginName: string
  readonly email: string
  readonly isShared: boolean
}

const pageMax = 100
const countMax = 1000

type PageOfUnconfirmed = { readonly limit: number; readonly afterUserId: string }

/** The first of these users after one, and how many there are; counting ends at 1000. */
export async function unconfirmedEmails(
  cx: Cx,
  { limit, afterUserId }: PageOfUnconfirmed,
): Promise<{ readonly users: readonly UnconfirmedEmail[]; readonly count: number }> {
  const listed = Math.min(limit || pageMax, pageMax)
  const users: UnconfirmedEmail[] = []
  let count = 0
  for await (const userId of verifiedAtHomeOnly(cx, afterUserId)) {
    if (users.length < listed) users.push(unconfirmedEmail(cx, userId))
    if (++count >= countMax) break
  }
  return { users, count }
}

function unconfirmedEmail(cx: Cx, userId: string): UnconfirmedEmail {
  const { userName, email } = personOf(cx.store.state(cx, user, userId))
  return {
    userId,
    organizationId: cx.store.receipt(cx, user, userId)?.owner ?? "",
    loginName: userName,
    email: email.address,
    isShared: hasSharedEmail(cx, userId),
  }
}

/**
 * Confirms addresses as somebody has looked at them, and answers whose; users who have another one
 * by now are skipped.
 */
export async function confirmEmailsOf(cx: Cx, emails: readonly EmailConfirmation[]) {
  const confirmedUserIds: string[] = []
  const skippedUserIds: string[] = []
  for (const each of emails) {
    const isConfirmed = await confirmIfUnchanged(cx, each)
    ;(isConfirmed ? confirmedUserIds : skippedUserIds).push(each.userId)
  }
  return { confirmedUserIds, skippedUserIds }
}
