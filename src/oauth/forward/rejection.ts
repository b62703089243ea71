import { showError } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import type { Endpoint } from "../endpoint/endpoint.ts"
import { issuerOf, paths } from "../issuer.ts"
import { noStore, redirect } from "../response.ts"
import { type ProxiedRequest, parseProxiedRequest } from "./proxied-request.ts"

/** Paths of ours on each protected host, besides the callback. */
export const hostPaths = {
  signIn: "/.latchkey/sign-in",
  signOut: "/.latchkey/sign-out",
} as const

const rejectionReasons = ["role", "email", "access", "network", "sign-in", "way"] as const
type RejectionReason = (typeof rejectionReasons)[number]

/** Why a signed-in user can't see a page. */
export type DenialReason = Exclude<RejectionReason, "sign-in" | "way">

/**
 * Redirects to a page on our own host, because its assets are not available on the protected host.
 */
export const redirectToRejection = (
  cx: Cx,
  proxied: ProxiedRequest,
  rejectionReason: RejectionReason,
): Response => redirect(rejectionUrl(cx, proxied, rejectionReason))

function rejectionUrl(
  cx: Cx,
  { clientId, origin }: ProxiedRequest,
  rejectionReason: RejectionReason,
): string {
  const query = new URLSearchParams({
    client_id: clientId,
    host: new URL(origin).host,
    why: rejectionReason,
  })
  return `${issuerOf(cx).issuer}${paths.forwardRefused}?${query}`
}

/**
 * A response for a signed-in user: status 403, so that programs don't try to sign in again. The
 * page redirects browsers to the page on our own host.
 */
export function forbiddenResponse(
  cx: Cx,
  proxied: ProxiedRequest,
  rejectionReason: DenialReason,
  text: string,
): Response {
  const href = rejectionUrl(cx, proxied, rejectionReason).replaceAll("&", "&amp;")
  const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${href}">
<title>403</title><p>${text} <a href="${href}">${href}</a></p></html>
`
  const headers = { ...noStore, "content-type": "text/html; charset=utf-8" }
  return new Response(page, { status: 403, headers })
}

/** Shows why a protected host denies access, and what to do. */
export const forwardRejection: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  handle: ({ cx, show, url: { searchParams: parameters } }) => {
    const headers = new Headers({
      "x-forwarded-host": parameters.get("host") ?? "",
      "x-forwarded-uri": "/",
    })
    // The URL can be manipulated, so only registered hosts are linked.
    const { origin } = parseProxiedRequest(cx, headers, parameters.get("client_id") ?? "")
    const startHref = origin + hostPaths.signIn
    const rejectionReason = rejectionReasons.find((each) => each === parameters.get("why"))
    if (rejectionReason === "way") return showError(show, cx, { problem: "expired", startHref })
    const isDenialReason = rejectionReason !== undefined && rejectionReason !== "sign-in"
    const reason = isDenialReason
      ? (`error.not_allowed.${rejectionReason}` as const)
      : "error.not_allowed.unfinished"
    return showError(show, cx, { problem: "not_allowed", status: 403, reason, startHref })
  },
}
