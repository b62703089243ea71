import { isAmongCallers } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { isKnownHost } from "../instance/index.ts"
import { findOrgByVerifiedDomain, isOnlyOrg } from "../org/index.ts"
import { isAbsent, isMailSafe, user, verifierFrom } from "../user-model/index.ts"

/** The recipient of a code. */
export type Recipient = {
  readonly orgId: string
  /** An email address or a phone number. */
  readonly address: string
}

/** The stored address that codes for a user are sent to. */
export function recipientOf(cx: Cx, userId: string, channel: "email" | "sms" = "email"): Recipient {
  const state = cx.store.state(cx, user, userId)
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  if (isAbsent(state) || state.kind !== "human") return { orgId, address: "" }
  return { orgId, address: channel === "sms" ? (state.phone?.number ?? "") : state.email.address }
}

/**
 * The URL of the page that a link template opens, or undefined if placeholder values could change
 * it. Administrators choose names and IDs: an empty value or ".." in a path, or a value in its
 * first segment, leads to another page.
 */
export function parseTemplatePage(urlTemplate: string): URL | undefined {
  const [page = ""] = urlTemplate.split(/[?#]/)
  const filled = page.replace(safePlaceholders, "id")
  return /\{\{|\/(?:\.|%2e)/i.test(filled) ? undefined : (URL.parse(filled) ?? undefined)
}

/**
 * Placeholders that can't change the page: the generated code anywhere in the path, and IDs, which
 * are never empty, after the first segment.
 */
const safePlaceholders =
  /(?<=\/\/[^/]+\/.*)\{\{\.Code\}\}|(?<=\/\/[^/]+\/[^/]+\/.*)\{\{\.(?:UserID|OrgID)\}\}/g

/**
 * Protocol endpoints and callbacks of the instance: they redirect to clients and pass on parameters
 * such as `state`.
 */
const redirectingPaths = /^\/(?:oauth|oidc|saml|idps|forward-auth)\//

/**
 * Whether a link template opens a page on a host of the instance that does not redirect elsewhere.
 */
export function isInstanceLink(cx: Cx, urlTemplate: string): boolean {
  const page = parseTemplatePage(urlTemplate)
  return (
    page !== undefined && isKnownHost(cx, page.hostname) && !redirectingPaths.test(page.pathname)
  )
}

type Delivery = Recipient & { readonly urlTemplate: string }

/**
 * Rejects untrusted links that an organization's administrator sets for a message to an unverified
 * address, because the address could belong to anyone. Links to the instance and to verified
 * domains of the organization are trusted.
 */
export function requireTrustedLink(cx: Cx, userId: string, delivery: Delivery): void {
  const { urlTemplate, orgId, address } = delivery
  // `requireSafeDelivery` decides about messages that users send to themselves.
  if (isAmongCallers(cx, userId) && !cx.holds?.("user.write")) return
  const { hostname = "" } = URL.parse(urlTemplate) ?? {}
  const isTrusted =
    isInstanceLink(cx, urlTemplate) ||
    isInVerifiedDomain(cx, hostname, orgId) ||
    verifierFrom(cx).by === "instance" ||
    isOnlyOrg(cx) ||
    isMailSafe(cx, userId, address)
  if (isTrusted) return
  throw new Fault(
    "failed_precondition",
    "user.url_template_unverified",
    "url_template must lead to a page of this instance or to a verified domain of the " +
      "organization, because the address is not verified for the whole instance; verify the " +
      "domain, or ask an instance administrator to add it to the trusted domains",
  )
}

/** Whether an organization has verified the domain of a host or a parent domain. */
const isInVerifiedDomain = (cx: Cx, hostname: string, orgId: string): boolean => {
  const labels = hostname.split(".")
  return labels.some((_, at) => findOrgByVerifiedDomain(cx, labels.slice(at).join(".")) === orgId)
}
