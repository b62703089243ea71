import { isAmongCallers } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { isKnownHost } from "../instance/index.ts"
import { isOnlyOrg, orgOfProvenDomain } from "../org/index.ts"
import { hasLeft, isMailSafe, user, verifierFrom } from "../user-model/index.ts"

/** Whom a code is sent to. */
export type Recipient = {
  readonly orgId: string
  /** An email address or a phone number. */
  readonly address: string
}

/** Where a user is sent codes, as they are stored. */
export function recipientOf(cx: Cx, userId: string, channel: "email" | "sms" = "email"): Recipient {
  const state = cx.store.state(cx, user, userId)
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  if (hasLeft(state) || state.kind !== "human") return { orgId, address: "" }
  return { orgId, address: channel === "sms" ? (state.phone?.number ?? "") : state.email.address }
}

/**
 * The page that a link template opens; undefined where values that are filled in can decide that.
 * Administrators choose names and IDs: one that is empty or ".." in a path, or the first part of
 * it, leads to another page.
 */
export function pageOfTemplate(urlTemplate: string): URL | undefined {
  const [page = ""] = urlTemplate.split(/[?#]/)
  const filled = page.replace(harmless, "id")
  return /\{\{|\/(?:\.|%2e)/i.test(filled) ? undefined : (URL.parse(filled) ?? undefined)
}

/**
 * In a path: a code, which the server made. Behind the first part of the path: IDs, which are never
 * empty.
 */
const harmless =
  /(?<=\/\/[^/]+\/.*)\{\{\.Code\}\}|(?<=\/\/[^/]+\/[^/]+\/.*)\{\{\.(?:UserID|OrgID)\}\}/g

/**
 * Protocol endpoints and callbacks of the instance: they redirect to clients and send parameters
 * such as `state` there.
 */
const redirecting = /^\/(?:oauth|oidc|saml|idps|forward-auth)\//

/** Whether a link template opens a page at a host of the instance, which leads nowhere else. */
export function isAtInstance(cx: Cx, urlTemplate: string): boolean {
  const page = pageOfTemplate(urlTemplate)
  return page !== undefined && isKnownHost(cx, page.hostname) && !redirecting.test(page.pathname)
}

type Delivery = Recipient & { readonly urlTemplate: string }

/**
 * Refuses a link of an organization's administrator in a message to an address that may be
 * anybody's: a name for an account is enough to write to a stranger. Links to the instance, and to
 * a domain that the organization has proven, are what the stranger can trust.
 */
export function mustLeadToTrustedPage(cx: Cx, userId: string, delivery: Delivery): void {
  const { urlTemplate, orgId, address } = delivery
  // What users may have sent to themselves `mustBeModest` decides.
  if (isAmongCallers(cx, userId) && !cx.holds?.("user.write")) return
  const { hostname = "" } = URL.parse(urlTemplate) ?? {}
  const isTrusted =
    isAtInstance(cx, urlTemplate) ||
    isInProvenDomain(cx, hostname, orgId) ||
    verifierFrom(cx).by === "instance" ||
    isOnlyOrg(cx) ||
    isMailSafe(cx, userId, address)
  if (isTrusted) return
  throw new Fault(
    "failed_precondition",
    "user.url_template_unverified",
    "url_template must lead to a page of this instance, or to a domain that the organization has " +
      "proven, because the address is not verified for the whole instance; verify the domain, or " +
      "have an instance administrator add it to the trusted domains",
  )
}

/** Whether an organization has proven the domain of a host, or one above it. */
const isInProvenDomain = (cx: Cx, hostname: string, orgId: string): boolean => {
  const labels = hostname.split(".")
  return labels.some((_, at) => orgOfProvenDomain(cx, labels.slice(at).join(".")) === orgId)
}
