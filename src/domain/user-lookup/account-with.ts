import { type Cx, statement } from "../../store/index.ts"
import { user } from "../user-model/index.ts"
import { findByUserName } from "./find-name.ts"
import { holderOfEmail } from "./verified.ts"
import { emailValues, hasEmail } from "./view.ts"

const byEmail = statement<{ id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND ${hasEmail} AND email_verified = 1 AND org = $orgId
   LIMIT 1`,
)

/**
 * The account that an address belongs to for whoever registers in an organization: in the whole
 * instance, or in that organization. Others that another organization has prepared with it keep
 * nobody from registering.
 */
export function accountWith(cx: Cx, email: string, orgId: string): string | undefined {
  const named = findByUserName(cx, email)
  const isHere = named !== undefined && cx.store.receipt(cx, user, named)?.owner === orgId
  return (
    holderOfEmail(cx, email) ??
    (isHere ? named : undefined) ??
    cx.store.get(cx, byEmail, { ...emailValues(email), orgId })?.id
  )
}
