import { isAmongCallers } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import type { Cx } from "../../../store/index.ts"
import { isKnownHost } from "../../instance/index.ts"
import { isOnlyOrg, orgOfProvenDomain } from "../../org/index.ts"
import { isMailSafe } from "../account/verified.ts"
import { hasLeft, user } from "../model.ts"
import { verifierFrom } from "../verifier.ts"

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
    isKnownHost(cx, hostname) ||
    isInProvenDomain(cx, hostname, orgId) ||
    verifierFrom(cx).by === "instance" ||
    isOnlyOrg(cx) ||
    isMailSafe(cx, userId, address)
  if (isTrusted) return
  throw new Fault(
    "failed_precondition",
    "user.url_template_unverified",
    "url_template must lead to a domain of this instance, or to one that the organization has " +
      "proven, because the address is not verified for the whole instance; verify the domain, or " +
      "have an instance administrator add it to the trusted domains",
  )
}

/** Whether an organization has proven the domain of a host, or one above it. */
const isInProvenDomain = (cx: Cx, hostname: string, orgId: string): boolean => {
  const labels = hostname.split(".")
  return labels.some((_, at) => orgOfProvenDomain(cx, labels.slice(at).join(".")) === orgId)
}
