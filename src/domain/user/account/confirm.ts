import type { Cx } from "../../../store/index.ts"
import { user } from "../model.ts"
import { personOf } from "./contact.ts"
import { verifiedAtHomeOnly } from "./verified.ts"

/** The instance's own word for an address that the user's organization or a provider verified. */
const confirmEmail = user.command((state) => {
  const { verified, verifier } = personOf(state).email
  if (!verified || verifier?.by === "user" || verifier?.by === "instance") return []
  return [{ type: "user.human.email.verified", data: { verifier: { by: "instance" } } }]
})

/**
 * Confirms for the whole instance the email addresses that are verified for their own organization
 * alone; of one organization where it is named. Answers how many.
 */
export async function confirmEmails(
  cx: Cx,
  { orgId, isTrial }: { readonly orgId?: string | undefined; readonly isTrial: boolean },
): Promise<number> {
  let confirmed = 0
  for await (const id of verifiedAtHomeOnly(cx)) {
    if (orgId !== undefined && cx.store.receipt(cx, user, id)?.owner !== orgId) continue
    if (!isTrial) await confirmEmail(cx, id)
    confirmed++
  }
  return confirmed
}
