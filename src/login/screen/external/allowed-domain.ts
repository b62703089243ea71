import { type Found, type Intent, unscripted } from "../../../domain/idp/index.ts"
import { because, noteRefusal } from "../../../domain/refusal/index.ts"
import { emailDomainOf } from "../../../protocol/domain.ts"
import type { LoginContext } from "../../context.ts"

/** Why the allowed domains of a provider keep somebody from a new account. */
export type DomainRefusal = {
  /** Of the address that the provider sent; empty where there is none. */
  readonly domain: string
  readonly cause: "provider.domain" | "provider.unverified"
}

/** A provider, and what it answered. */
type ProviderAnswer = { readonly found: Found; readonly intent: Intent }

/**
 * Answers why the allowed domains of a provider keep somebody from a new account; undefined where
 * they don't. Only the provider's own answer is used: scripts of an organization must not widen
 * what the owner of the provider allows.
 */
export function domainRefusalOf({ found, intent }: ProviderAnswer): DomainRefusal | undefined {
  const { isCreationAllowed, allowedDomains } = found.idp.options
  if (!isCreationAllowed || !allowedDomains) return undefined
  const { email, emailVerified } = unscripted(intent.answered).identity
  const domain = emailDomainOf(email)
  if (domain !== "" && !allowedDomains.includes(domain)) return { domain, cause: "provider.domain" }
  return domain !== "" && emailVerified ? undefined : { domain, cause: "provider.unverified" }
}

/** Records the refusal for the administrators, with the domain and not the whole address. */
export function recordDomainRefusal(
  { cx, request, waiting }: LoginContext,
  { domain, cause }: DomainRefusal,
): void {
  const subject = "email domain"
  noteRefusal(cx, {
    endpoint: new URL(request.url).pathname,
    error: "access_denied",
    description: "no account was created: the email domain is not allowed, or not verified",
    clientId: waiting?.asked.clientId ?? "",
    findings: [{ subject, received: domain, expected: [], ...because(subject, cause) }],
  })
}
