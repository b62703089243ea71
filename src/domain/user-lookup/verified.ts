import { setImmediate as nextTurn } from "node:timers/promises"
import { foldEmail } from "../../protocol/email.ts"
import { type Cx, statement } from "../../store/index.ts"
import { isOrgThere, orgOfProvenDomain } from "../org/index.ts"
import {
  domainInName,
  type Human,
  hasLeft,
  isAcceptedEverywhere,
  readerOf,
  user,
} from "../user-model/index.ts"
import { emailValues, hasEmail } from "./view.ts"

/** Which of a user's addresses an organization's applications may take for verified. */
export function verifiedFor(
  cx: Cx,
  { id, orgId: audience }: { readonly id: string; readonly orgId: string },
): { readonly email: boolean; readonly phone: boolean } {
  const state = cx.store.state(cx, user, id)
  if (hasLeft(state) || state.kind !== "human") return { email: false, phone: false }
  const { email, phone } = state
  const orgId = cx.store.receipt(cx, user, id)?.owner ?? ""
  if (orgId === audience) return { email: email.verified, phone: phone?.verified ?? false }
  const isPhoneAccepted = isAcceptedEverywhere(readerOf(cx), { ...phone, email: "", orgId })
  return {
    email: isVerifiedEverywhere(cx, { id, orgId, email }),
    phone: Boolean(phone?.verified) && isPhoneAccepted,
  }
}

/** Whether an organization's applications may take a user's email address for verified. */
export const isEmailVerifiedFor = (cx: Cx, id: string, orgId: string): boolean =>
  verifiedFor(cx, { id, orgId }).email

type Owned = { readonly id: string; readonly orgId: string; readonly email: Human["email"] }

/** Whether a user's address is verified for the whole instance. */
function isVerifiedEverywhere(cx: Cx, owned: Owned): boolean {
  const { orgId, email } = owned
  if (!email.verified || email.address === "") return false
  const { address, verifier } = email
  if (!isAcceptedEverywhere(readerOf(cx), { orgId, email: address, verifier })) return false
  return !isProvenByOther(cx, owned)
}

/** Whether somebody else has proven since then that the address is theirs. */
export function isProvenByOther(cx: Cx, { id, orgId, email }: Owned): boolean {
  const rows = provenBy(cx, email.address)
  const proven = rows.find((row) => row.id === id)?.proven ?? 0
  const home = rows.length > 0 ? homeOfAddress(cx, email.address) : undefined
  return rows.some(
    (other) =>
      other.proven > proven &&
      // Nobody takes an address from the people of the organization that has proven the domain.
      !(home === orgId && other.orgId !== orgId),
  )
}

type Row = { readonly id: string; readonly orgId: string; readonly proven: number }

const provenRows = statement<Row>(
  `SELECT id, org AS orgId, email_proven AS proven FROM users
   WHERE instance = $instance AND ${hasEmail} AND email_verified = 1
     AND email_proven > 0
   ORDER BY email_proven DESC, id DESC LIMIT $limit`,
)
const verifiedRows = statement<Row>(
  `SELECT id, org AS orgId, email_proven AS proven FROM users
   WHERE instance = $instance AND ${hasEmail} AND email_verified = 1
   ORDER BY created, id LIMIT $limit`,
)

/** More have an address only where somebody floods it; whoever proves theirs is always found. */
const rowsMax = 100

/** Who has proven that an address is theirs, the latest first. */
const provenBy = (cx: Cx, address: string): readonly Row[] =>
  cx.store
    .all(cx, provenRows, { ...emailValues(address), limit: rowsMax })
    .filter((row) => isOrgThere(cx, row.orgId))

/** The organization that has proven the domain of an address; undefined for none. */
export const homeOfAddress = (cx: Cx, address: string): string | undefined =>
  orgOfProvenDomain(cx, domainInName(address))

/**
 * The user that an address belongs to in the whole instance: whoever proved it last, else the only
 * one whose address everybody accepts. An address in a domain that an organization has proven
 * belongs to its people alone. Undefined where it is nobody's, or where several have it from
 * before one had to be chosen.
 */
export function holderOfEmail(cx: Cx, address: string): string | undefined {
  const home = homeOfAddress(cx, address)
  const isEligible = (row: Row) => home === undefined || row.orgId === home
  const latest = provenBy(cx, address).find(isEligible)
  if (latest) return latest.id
  const [only, another] = cx.store
    .all(cx, verifiedRows, { ...emailValues(address), limit: rowsMax })
    .filter((row) => isEligible(row) && isOrgThere(cx, row.orgId))
    .filter(({ id, orgId }) => {
      const email = emailNow(cx, id)
      return email !== undefined && isVerifiedEverywhere(cx, { id, orgId, email })
    })
  return another ? undefined : only?.id
}

const provenPhones = statement<Row>(
  `SELECT id, org AS orgId, phone_proven AS proven FROM users
   WHERE instance = $instance AND phone = $number AND phone_verified = 1 AND phone_proven > 0
   ORDER BY phone_proven DESC, id DESC LIMIT $limit`,
)
const verifiedPhones = statement<Row>(
  `SELECT id, org AS orgId, phone_proven AS proven FROM users
   WHERE instance = $instance AND phone = $number AND phone_verified = 1
   ORDER BY created, id LIMIT $limit`,
)

/**
 * The user that a phone number belongs to in the whole instance, as `holderOfEmail`; a number is in
 * no domain.
 */
export function holderOfPhone(cx: Cx, number: string): string | undefined {
  const within = (rows: readonly Row[]) => rows.filter((row) => isOrgThere(cx, row.orgId))
  const [latest] = within(cx.store.all(cx, provenPhones, { number, limit: rowsMax }))
  if (latest) return latest.id
  const [only, another] = within(
    cx.store.all(cx, verifiedPhones, { number, limit: rowsMax }),
  ).filter(({ id, orgId }) => {
    const state = cx.store.state(cx, user, id)
    if (!isPerson(state) || !state.phone?.verified) return false
    const { verifier } = state.phone
    return isAcceptedEverywhere(readerOf(cx), { orgId, email: "", verifier })
  })
  return another ? undefined : only?.id
}

const sameRows = statement<{ readonly id: string }>(
  `SELECT id FROM users WHERE instance = $instance AND ${hasEmail}
   ORDER BY email_verified DESC, created, id LIMIT $limit`,
)

/** Users whose address it is, verified or not; those for whom it is verified come first. */
export const withEmail = (cx: Cx, address: string): readonly string[] =>
  cx.store.all(cx, sameRows, { ...emailValues(address), limit: rowsMax }).map(({ id }) => id)

function emailNow(cx: Cx, id: string): Human["email"] | undefined {
  const state = cx.store.state(cx, user, id)
  return isPerson(state) ? state.email : undefined
}

const isPerson = (state: Parameters<typeof hasLeft>[0]): state is Human =>
  !hasLeft(state) && state.kind === "human"

/** Whoever has proven their own address is none of them: that is accepted everywhere. */
const counted = statement<{ readonly id: string }>(
  `SELECT id FROM users
   WHERE instance = $instance AND email_verified = 1 AND email_proven = 0 AND id > $after
   ORDER BY id LIMIT 200`,
)

/**
 * Users whose email address only the applications of their own organization take for verified. An
 * address that somebody else has proven is not theirs, whoever verified it before.
 */
export async function* verifiedAtHomeOnly(cx: Cx, after = ""): AsyncGenerator<string> {
  let rows = cx.store.all(cx, counted, { after })
  while (rows.length > 0) {
    for (const { id } of rows) if (isVerifiedAtHomeOnly(cx, id)) yield id
    // Others are answered in between.
    await nextTurn()
    rows = cx.store.all(cx, counted, { after: rows.at(-1)?.id ?? "" })
  }
}

/** Whether a user is one of these; see `verifiedAtHomeOnly`. */
export function isVerifiedAtHomeOnly(cx: Cx, id: string): boolean {
  const email = emailNow(cx, id)
  if (!email?.verified || email.address === "") return false
  const owned = { id, orgId: cx.store.receipt(cx, user, id)?.owner ?? "", email }
  return !isProvenByOther(cx, owned) && !isVerifiedEverywhere(cx, owned)
}

/** Whether other users have the same verified address as a user. */
export function hasSharedEmail(cx: Cx, id: string): boolean {
  const address = emailNow(cx, id)?.address ?? ""
  return cx.store
    .all(cx, verifiedRows, { ...emailValues(address), limit: rowsMax })
    .some((row) => row.id !== id && isOrgThere(cx, row.orgId))
}

const shared = statement<{ readonly ids: string }>(
  `SELECT group_concat(id, ' ') AS ids FROM users
   WHERE instance = $instance AND email_verified = 1 AND email_folded <> ''
   GROUP BY email_folded HAVING count(*) > 1 LIMIT $limit`,
)

/** Users who have the same verified address, together; some of them. */
export const sharedEmails = (cx: Cx, limit: number): readonly (readonly string[])[] =>
  cx.store
    .all(cx, shared, { limit })
    // Addresses that differ in a sigma are two.
    .flatMap(({ ids }) => [
      ...Map.groupBy(ids.split(" "), (id) => foldEmail(emailNow(cx, id)?.address ?? "")).values(),
    ])
    .filter((ids) => ids.length > 1)
