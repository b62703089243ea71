import { setImmediate as nextTurn } from "node:timers/promises"
import { foldEmail } from "../../protocol/email.ts"
import { type Cx, statement } from "../../store/index.ts"
import { findOrgByVerifiedDomain, orgExists } from "../org/index.ts"
import {
  createReader,
  domainOfName,
  type Human,
  isAbsent,
  isAcceptedEverywhere,
  user,
} from "../user-model/index.ts"
import { emailValues, hasEmail } from "./view.ts"

/** Which of a user's addresses applications of an organization can treat as verified. */
export function verifiedFor(
  cx: Cx,
  { id, orgId: audience }: { readonly id: string; readonly orgId: string },
): { readonly email: boolean; readonly phone: boolean } {
  const state = cx.store.state(cx, user, id)
  if (isAbsent(state) || state.kind !== "human") return { email: false, phone: false }
  const { email, phone } = state
  const orgId = cx.store.receipt(cx, user, id)?.owner ?? ""
  if (orgId === audience) return { email: email.verified, phone: phone?.verified ?? false }
  const isPhoneAccepted = isAcceptedEverywhere(createReader(cx), { ...phone, email: "", orgId })
  return {
    email: isVerifiedForInstance(cx, { id, orgId, email }),
    phone: Boolean(phone?.verified) && isPhoneAccepted,
  }
}

/** Whether applications of an organization can treat a user's email address as verified. */
export const isEmailVerifiedFor = (cx: Cx, id: string, orgId: string): boolean =>
  verifiedFor(cx, { id, orgId }).email

type OwnedEmail = { readonly id: string; readonly orgId: string; readonly email: Human["email"] }

/** Whether a user's address is verified for the whole instance. */
function isVerifiedForInstance(cx: Cx, owned: OwnedEmail): boolean {
  const { orgId, email } = owned
  if (!email.verified || email.address === "") return false
  const { address, verifier } = email
  if (!isAcceptedEverywhere(createReader(cx), { orgId, email: address, verifier })) return false
  return !isVerifiedByOther(cx, owned)
}

/** Whether another user has verified the address since. */
export function isVerifiedByOther(cx: Cx, { id, orgId, email }: OwnedEmail): boolean {
  const rows = verifiedByUsers(cx, email.address)
  const proven = rows.find((row) => row.id === id)?.proven ?? 0
  const home = rows.length > 0 ? findOrgOfAddress(cx, email.address) : undefined
  return rows.some(
    (other) =>
      other.proven > proven &&
      // Users of the organization that has verified the domain keep the address.
      !(home === orgId && other.orgId !== orgId),
  )
}

type VerifiedRow = { readonly id: string; readonly orgId: string; readonly proven: number }

const selectVerifiedByUsers = statement<VerifiedRow>(
  `SELECT id, org AS orgId, email_proven AS proven FROM users
   WHERE instance = $instance AND ${hasEmail} AND email_verified = 1
     AND email_proven > 0
   ORDER BY email_proven DESC, id DESC LIMIT $limit`,
)
const selectVerified = statement<VerifiedRow>(
  `SELECT id, org AS orgId, email_proven AS proven FROM users
   WHERE instance = $instance AND ${hasEmail} AND email_verified = 1
   ORDER BY created, id LIMIT $limit`,
)

/** Limit against flooding; the owner of the address is always among them. */
const rowsMax = 100

/** Users who verified an address themselves, latest first. */
const verifiedByUsers = (cx: Cx, address: string): readonly VerifiedRow[] =>
  cx.store
    .all(cx, selectVerifiedByUsers, { ...emailValues(address), limit: rowsMax })
    .filter((row) => orgExists(cx, row.orgId))

/** The organization that has verified the domain of an address, or undefined. */
export const findOrgOfAddress = (cx: Cx, address: string): string | undefined =>
  findOrgByVerifiedDomain(cx, domainOfName(address))

/**
 * The instance-wide holder of an address: the user who verified it last, otherwise the only one
 * whose verification everyone accepts. In a verified domain of an organization only its users
 * qualify. Undefined if there is none, or if several users have it from before a holder was
 * determined.
 */
export function findEmailHolder(cx: Cx, address: string): string | undefined {
  const home = findOrgOfAddress(cx, address)
  const isEligible = (row: VerifiedRow) => home === undefined || row.orgId === home
  const latest = verifiedByUsers(cx, address).find(isEligible)
  if (latest) return latest.id
  const [only, another] = cx.store
    .all(cx, selectVerified, { ...emailValues(address), limit: rowsMax })
    .filter((row) => isEligible(row) && orgExists(cx, row.orgId))
    .filter(({ id, orgId }) => {
      const email = findEmail(cx, id)
      return email !== undefined && isVerifiedForInstance(cx, { id, orgId, email })
    })
  return another ? undefined : only?.id
}

const selectPhonesVerifiedByUsers = statement<VerifiedRow>(
  `SELECT id, org AS orgId, phone_proven AS proven FROM users
   WHERE instance = $instance AND phone = $number AND phone_verified = 1 AND phone_proven > 0
   ORDER BY phone_proven DESC, id DESC LIMIT $limit`,
)
const selectVerifiedPhones = statement<VerifiedRow>(
  `SELECT id, org AS orgId, phone_proven AS proven FROM users
   WHERE instance = $instance AND phone = $number AND phone_verified = 1
   ORDER BY created, id LIMIT $limit`,
)

/** The instance-wide holder of a phone number, like `findEmailHolder` but without domains. */
export function findPhoneHolder(cx: Cx, number: string): string | undefined {
  const within = (rows: readonly VerifiedRow[]) => rows.filter((row) => orgExists(cx, row.orgId))
  const [latest] = within(cx.store.all(cx, selectPhonesVerifiedByUsers, { number, limit: rowsMax }))
  if (latest) return latest.id
  const [only, another] = within(
    cx.store.all(cx, selectVerifiedPhones, { number, limit: rowsMax }),
  ).filter(({ id, orgId }) => {
    const state = cx.store.state(cx, user, id)
    if (!isHuman(state) || !state.phone?.verified) return false
    const { verifier } = state.phone
    return isAcceptedEverywhere(createReader(cx), { orgId, email: "", verifier })
  })
  return another ? undefined : only?.id
}

const selectSameEmail = statement<{ readonly id: string }>(
  `SELECT id FROM users WHERE instance = $instance AND ${hasEmail}
   ORDER BY email_verified DESC, created, id LIMIT $limit`,
)

/** Users with an address, verified or not; verified ones first. */
export const listUsersWithEmail = (cx: Cx, address: string): readonly string[] =>
  cx.store.all(cx, selectSameEmail, { ...emailValues(address), limit: rowsMax }).map(({ id }) => id)

function findEmail(cx: Cx, id: string): Human["email"] | undefined {
  const state = cx.store.state(cx, user, id)
  return isHuman(state) ? state.email : undefined
}

const isHuman = (state: Parameters<typeof isAbsent>[0]): state is Human =>
  !isAbsent(state) && state.kind === "human"

/** Excludes users who verified the address themselves, because that is accepted everywhere. */
const selectOrgVerified = statement<{ readonly id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND email_verified = 1 AND email_proven = 0 AND id > $after
   ORDER BY id LIMIT 200`,
)

/**
 * Users whose email address only applications of their own organization treat as verified. Excludes
 * addresses that another user has verified.
 */
export async function* iterateOrgVerified(cx: Cx, after = ""): AsyncGenerator<string> {
  let rows = cx.store.all(cx, selectOrgVerified, { after })
  while (rows.length > 0) {
    for (const { id } of rows) if (isOrgVerifiedOnly(cx, id)) yield id
    // Yields to the event loop.
    await nextTurn()
    rows = cx.store.all(cx, selectOrgVerified, { after: rows.at(-1)?.id ?? "" })
  }
}

/** Whether a user is one of these; see `iterateOrgVerified`. */
export function isOrgVerifiedOnly(cx: Cx, id: string): boolean {
  const email = findEmail(cx, id)
  if (!email?.verified || email.address === "") return false
  const owned = { id, orgId: cx.store.receipt(cx, user, id)?.owner ?? "", email }
  return !isVerifiedByOther(cx, owned) && !isVerifiedForInstance(cx, owned)
}

/** Whether other users have the same verified address. */
export function hasSharedEmail(cx: Cx, id: string): boolean {
  const address = findEmail(cx, id)?.address ?? ""
  return cx.store
    .all(cx, selectVerified, { ...emailValues(address), limit: rowsMax })
    .some((row) => row.id !== id && orgExists(cx, row.orgId))
}

const selectShared = statement<{ readonly ids: string }>(
  `SELECT group_concat(id, ' ') AS ids FROM users
   WHERE instance = $instance AND email_verified = 1 AND email_folded <> ''
   GROUP BY email_folded HAVING count(*) > 1 LIMIT $limit`,
)

/** Groups of users with the same verified address, up to a limit. */
export const listSharedEmails = (cx: Cx, limit: number): readonly (readonly string[])[] =>
  cx.store
    .all(cx, selectShared, { limit })
    // Addresses with different sigma letters are different.
    .flatMap(({ ids }) => [
      ...Map.groupBy(ids.split(" "), (id) => foldEmail(findEmail(cx, id)?.address ?? "")).values(),
    ])
    .filter((ids) => ids.length > 1)
