import { randomToken } from "../../kernel/crypto/random.ts"
import { matchesAny } from "../../kernel/crypto/secret.ts"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { emailDomainOf, parseListedDomain } from "../../protocol/domain.ts"
import type { Cx, DecisionContext, Draft, Receipt, Transaction } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { isExistingOrg, isOrgActive, org } from "../org/index.ts"
import { login, policyInTransaction, policyOf } from "../policy/index.ts"
import { type LinkTerms, type SignUpLink, type SignUpLinkEvent, signUpLink } from "./model.ts"

/** The page that a sign-up link opens. */
export const signUpLinkPath = "/ui/login/register/link"

const domainsMax = 50
const useLimitMax = 10_000
const lifetimeMaxMs = 366 * 86_400_000

/** A new sign-up link; `url` is not stored. */
type CreatedLink = { readonly url: string; readonly receipt: Receipt }

/**
 * Creates a sign-up link for an organization. Rejects a use limit, expiration or domain that is
 * invalid.
 */
export async function createSignUpLink(cx: Cx, id: string, input: LinkTerms): Promise<CreatedLink> {
  const secret = randomToken(cx.random)
  const hashed = cx.secrets.hash(secret, secretContext(cx, id))
  const domains = parseDomains(input.domains)
  const step = await cx.store.transact(cx, (tx) => {
    if (!isExistingOrg(tx.state(org, input.orgId))) {
      throw new Fault("not_found", "org.missing", "organization not found")
    }
    validateTerms(input, tx.now)
    const data = { ...input, domains }
    const added: Draft<SignUpLinkEvent> = {
      type: "sign_up_link.added",
      data,
      private: { hashed },
    }
    tx.append(signUpLink, id, [added], input.orgId)
  })
  // The secret is in the URL fragment, which servers don't log.
  const url = `${requireInstance(cx).publicUrl}${signUpLinkPath}?link=${id}#${secret}`
  return { url, receipt: step.receipt(signUpLink, id) }
}

/** IDs can repeat across instances: a secret must be invalid in others. */
const secretContext = ({ instance }: Pick<Cx, "instance">, id: string): string =>
  `sign_up_link/${instance}/${id}`

function validateTerms({ useLimit, expires }: LinkTerms, now: number): void {
  if (!Number.isInteger(useLimit) || useLimit < 1 || useLimit > useLimitMax) {
    throw invalidFieldError("use_limit", `must be between 1 and ${useLimitMax}`)
  }
  if (!(expires > now && expires <= now + lifetimeMaxMs)) {
    throw invalidFieldError("expiration_date", "must be in the future, within 366 days")
  }
}

function parseDomains(texts: readonly string[]): readonly string[] {
  if (texts.length > domainsMax) {
    throw invalidFieldError("allowed_domains", `must have at most ${domainsMax} domains`)
  }
  return [...new Set(texts.map(parseDomain))]
}

function parseDomain(text: string): string {
  const domain = parseListedDomain(text)
  if (domain !== undefined) return domain
  throw invalidFieldError(
    "allowed_domains",
    "must be domain names such as example.com, without @ or *",
  )
}

const invalidFieldError = (field: string, expected: string) =>
  fieldError("request.field_invalid", field, expected)

/** Revokes a sign-up link permanently and erases its hash. */
export const revokeSignUpLink = signUpLink.command((state) => {
  if (state.status === "absent") throw linkNotFoundError()
  if (state.status === "revoked") return []
  return [
    { type: "sign_up_link.revoked", data: {}, erase: { types: ["sign_up_link.added"] as const } },
  ]
})

export const linkNotFoundError = (): Fault =>
  new Fault("not_found", "sign_up_link.missing", "sign-up link not found")

/** Whether accounts can currently be created with a link. */
export const isLinkUsable = (
  { status, uses, useLimit, expires }: SignUpLink,
  now: number,
): boolean => status === "active" && uses < useLimit && now < expires

/** A link with which accounts can currently be created; undefined for any other. */
export function findUsableSignUpLink(cx: Cx, id: string): SignUpLink | undefined {
  const state = cx.store.state(cx, signUpLink, id)
  const { orgId } = state
  const isOpenNow = isOrgActive(cx, orgId) && policyOf(cx, orgId, login).allowUsernamePassword
  return isLinkUsable(state, cx.clock.now()) && isOpenNow ? state : undefined
}

type LinkSecret = { readonly id: string; readonly secret: string }

/** Whether a secret belongs to a usable link; takes the same time for unknown links. */
export function isLinkSecretValid(cx: Cx, { id, secret }: LinkSecret): boolean {
  const hashed = findUsableSignUpLink(cx, id)?.hashed ?? ""
  const hashes = hashed === "" ? [] : [hashed]
  return matchesAny(cx.secrets, hashes, { plain: secret, about: secretContext(cx, id) })
}

/** Whether a link accepts an email address. */
export const acceptsEmail = ({ domains }: LinkTerms, email: string): boolean =>
  domains.length === 0 || domains.includes(emailDomainOf(email))

type LinkUse = { readonly userId: string; readonly email: string }

/**
 * Counts an account that is created with a link in the transaction. The version of the link is part
 * of the transaction, so concurrent uses can't exceed the limit.
 */
export function redeemSignUpLink(tx: Transaction, id: string, { userId, email }: LinkUse): void {
  const state = tx.state(signUpLink, id)
  if (!isLinkUsable(state, tx.now) || !acceptsEmail(state, email) || !isSignInPossible(tx, state)) {
    throw new Fault(
      "failed_precondition",
      "sign_up_link.over",
      "the sign-up link has expired, was revoked, or has reached its use limit",
    )
  }
  const used: Draft<SignUpLinkEvent> = { type: "sign_up_link.used", data: { userId } }
  tx.append(signUpLink, id, [used])
}

/** Whether the organization lets users sign in with the credentials chosen at sign-up. */
function isSignInPossible(tx: DecisionContext, { orgId }: SignUpLink): boolean {
  return (
    tx.state(org, orgId).status === "active" &&
    policyInTransaction(tx, orgId, login).allowUsernamePassword
  )
}
