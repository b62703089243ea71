import type { Cx } from "../../../store/index.ts"
import { user } from "../model.ts"
import { personOf } from "./contact.ts"
import { hasSharedEmail, verifiedAtHomeOnly } from "./verified.ts"

/** The instance's own word for an address that the user's organization or a provider verified. */
const confirmEmail = user.command((state) => {
  const { verified, verifier } = personOf(state).email
  if (!verified || verifier?.by === "user" || verifier?.by === "instance") return []
  return [{ type: "user.human.email.verified", data: { verifier: { by: "instance" } } }]
})

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
    if (!isTrial) await confirmEmail(cx, id)
    if (userIds.length < listedMax) userIds.push(id)
    confirmed++
  }
  return { confirmed, userIds, skipped }
}
