import { type Intent, type OwnedIdp, withoutScripts } from "../../../domain/idp/index.ts"
import { likelyCauseOf, storeRefusal } from "../../../domain/refusal/index.ts"
import { emailDomainOf } from "../../../protocol/domain.ts"
import type { LoginContext } from "../../context.ts"

/** Why the allowed domains of a provider prevent the creation of an account. */
export type DomainRejection = {
  /** The domain of the email address from the provider; empty if there is no address. */
  readonly domain: string
  readonly cause: "provider.domain" | "provider.unverified"
}

/** A provider with its response. */
type ProviderResponse = { readonly found: OwnedIdp; readonly intent: Intent }

/**
 * Why the allowed domains of a provider prevent the creation of an account; undefined if they
 * don't. Uses only the provider's own response: scripts of an organization must not extend what the
 * owner of the provider allows.
 */
export function findDomainRejection({
  found,
  intent,
}: ProviderResponse): DomainRejection | undefined {
  const { isCreationAllowed, allowedDomains } = found.idp.options
  if (!isCreationAllowed || !allowedDomains) return undefined
  const { email, emailVerified } = withoutScripts(intent.answered).identity
  const domain = emailDomainOf(email)
  if (domain !== "" && !allowedDomains.includes(domain)) return { domain, cause: "provider.domain" }
  return domain !== "" && emailVerified ? undefined : { domain, cause: "provider.unverified" }
}

/** Records the rejection for administrators, with the domain instead of the full address. */
export function recordDomainRejection(
  { cx, request, waiting }: LoginContext,
  { domain, cause }: DomainRejection,
): void {
  const subject = "email domain"
  storeRefusal(cx, {
    endpoint: new URL(request.url).pathname,
    error: "access_denied",
    description:
      "no account was created: the email domain is not allowed, or the address is not verified",
    clientId: waiting?.asked.clientId ?? "",
    findings: [{ subject, received: domain, expected: [], ...likelyCauseOf(subject, cause) }],
  })
}
