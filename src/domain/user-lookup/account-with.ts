import { type Cx, statement } from "../../store/index.ts"
import { user } from "../user-model/index.ts"
import { findByUserName } from "./find-name.ts"
import { findEmailHolder } from "./verified.ts"
import { emailValues, hasEmail } from "./view.ts"

const selectByEmail = statement<{ id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND ${hasEmail} AND email_verified = 1 AND org = $orgId
   LIMIT 1`,
)

/**
 * Finds the account of an address from the view of a registration in an organization: the address
 * holder of the instance, otherwise a user of that organization. Accounts that other organizations
 * created with the address don't prevent registration.
 */
export function findAccountByEmail(cx: Cx, email: string, orgId: string): string | undefined {
  const named = findByUserName(cx, email)
  const isInOrg = named !== undefined && cx.store.receipt(cx, user, named)?.owner === orgId
  return (
    findEmailHolder(cx, email) ??
    (isInOrg ? named : undefined) ??
    cx.store.get(cx, selectByEmail, { ...emailValues(email), orgId })?.id
  )
}
