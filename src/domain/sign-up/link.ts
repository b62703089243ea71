import { randomToken } from "../../kernel/crypto/random.ts"
import { isOneOf } from "../../kernel/crypto/secret.ts"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { emailDomainOf, listedDomainOf } from "../../protocol/domain.ts"
import type { Cx, Decision, Draft, Receipt, Transaction } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { isOrgActive, isThere, org } from "../org/index.ts"
import { login, policyIn, policyOf } from "../policy/index.ts"
import { type LinkTerms, type SignUpLink, type SignUpLinkEvent, signUpLink } from "./model.ts"

/** The page that a sign-up link opens. */
export const signUpLinkPath = "/ui/login/register/link"

const domainsMax = 50
const useLimitMax = 10_000
const lifetimeMaxMs = 366 * 86_400_000

/** A new sign-up link; `url` is in no store. */
type CreatedLink = { readonly url: string; readonly receipt: Receipt }

/**
 * Creates a sign-up link for an organization. Rejects a limit, an end or a domain that is out of
 * range.
 */
export async function createSignUpLink(cx: Cx, id: string, input: LinkTerms): Promise<CreatedLink> {
  const secret = randomToken(cx.random)
  const hashed = cx.secrets.hash(secret, aboutOf(cx, id))
  const domains = domainsOf(input.domains)
  const step = await cx.store.transact(cx, (tx) => {
    if (!isThere(tx.state(org, input.orgId))) {
      throw new Fault("not_found", "org.missing", "organization not found")
    }
    checkTerms(input, tx.now)
    const data = { ...input, domains }
    const added: Draft<SignUpLinkEvent> = {
      type: "sign_up_link.added",
      data,
      private: { hashed },
    }
    tx.append(signUpLink, id, [added], input.orgId)
  })
  // No server on the way logs what is behind the #.
  const url = `${requireInstance(cx).publicUrl}${signUpLinkPath}?link=${id}#${secret}`
  return { url, receipt: step.receipt(signUpLink, id) }
}

/** Ids can repeat across instances: the secret of one must not open the link of another. */
const aboutOf = ({ instance }: Pick<Cx, "instance">, id: string): string =>
  `sign_up_link/${instance}/${id}`

function checkTerms({ useLimit, expires }: LinkTerms, now: number): void {
  if (!Number.isInteger(useLimit) || useLimit < 1 || useLimit > useLimitMax) {
    throw refusedError("use_limit", `must be 1 to ${useLimitMax}`)
  }
  if (!(expires > now && expires <= now + lifetimeMaxMs)) {
    throw refusedError("expiration_date", "must be in the future, within 366 days")
  }
}

function domainsOf(texts: readonly string[]): readonly string[] {
  if (texts.length > domainsMax) {
    throw refusedError("allowed_domains", `must be at most ${domainsMax} domains`)
  }
  return [...new Set(texts.map(domainIn))]
}

function domainIn(text: string): string {
  const domain = listedDomainOf(text)
  if (domain !== undefined) return domain
  throw refusedError("allowed_domains", "must be domains such as example.com, without @ or *")
}

const refusedError = (field: string, expected: string) =>
  fieldError("request.field_invalid", field, expected)

/** Revokes a sign-up link for good and erases its hash. */
export const revokeSignUpLink = signUpLink.command((state) => {
  if (state.status === "absent") throw linkMissingError()
  if (state.status === "revoked") return []
  return [
    { type: "sign_up_link.revoked", data: {}, erase: { types: ["sign_up_link.added"] as const } },
  ]
})

export const linkMissingError = (): Fault =>
  new Fault("not_found", "sign_up_link.missing", "sign-up link not found")

/** Whether accounts can be created with a link now. */
export const isLinkUsable = (
  { status, uses, useLimit, expires }: SignUpLink,
  now: number,
): boolean => status === "active" && uses < useLimit && now < expires

/** A link with which accounts can be created now; undefined for any other. */
export function usableSignUpLink(cx: Cx, id: string): SignUpLink | undefined {
  const state = cx.store.state(cx, signUpLink, id)
  const { orgId } = state
  const isOpenNow = isOrgActive(cx, orgId) && policyOf(cx, orgId, login).allowUsernamePassword
  return isLinkUsable(state, cx.clock.now()) && isOpenNow ? state : undefined
}

type LinkSecret = { readonly id: string; readonly secret: string }

/** Whether this is the secret of a link that can be used now; takes as long where there is none. */
export function isSignUpLink(cx: Cx, { id, secret }: LinkSecret): boolean {
  const hashed = usableSignUpLink(cx, id)?.hashed ?? ""
  const hashes = hashed === "" ? [] : [hashed]
  return isOneOf(cx.secrets, hashes, { plain: secret, about: aboutOf(cx, id) })
}

/** Whether a link accepts an email address. */
export const acceptsEmail = ({ domains }: LinkTerms, email: string): boolean =>
  domains.length === 0 || domains.includes(emailDomainOf(email))

type Use = { readonly userId: string; readonly email: string }

/**
 * Counts the account that a step creates with a link. Of two who are the last at the same time one
 * is rejected: the version of the link is part of the step.
 */
export function redeemSignUpLink(tx: Transaction, id: string, { userId, email }: Use): void {
  const state = tx.state(signUpLink, id)
  if (!isLinkUsable(state, tx.now) || !acceptsEmail(state, email) || !isOpen(tx, state)) {
    throw new Fault(
      "failed_precondition",
      "sign_up_link.over",
      "the sign-up link has expired, was revoked, or was used as often as allowed",
    )
  }
  const used: Draft<SignUpLinkEvent> = { type: "sign_up_link.used", data: { userId } }
  tx.append(signUpLink, id, [used])
}

/** Whether the organization of a link lets users sign in with what they choose at sign-up. */
function isOpen(tx: Decision, { orgId }: SignUpLink): boolean {
  return (
    tx.state(org, orgId).status === "active" && policyIn(tx, orgId, login).allowUsernamePassword
  )
}
