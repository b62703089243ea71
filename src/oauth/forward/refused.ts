import { showTrouble } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import type { Endpoint } from "../endpoint/endpoint.ts"
import { issuerOf, paths } from "../issuer.ts"
import { noStore, redirect } from "../response.ts"
import { type Proxied, proxiedBy } from "./proxied.ts"

/** What there is at each protected host, beside the callback. */
export const ownPaths = {
  signIn: "/.latchkey/sign-in",
  signOut: "/.latchkey/sign-out",
} as const

const reasons = ["role", "email", "access", "network", "sign-in", "way"] as const
type Reason = (typeof reasons)[number]

/** Why a user who is signed in may not see a page. */
export type Forbidden = Exclude<Reason, "sign-in" | "way">

/** Our pages have their own address: what they are made of is not at the protected host. */
export const refused = (cx: Cx, at: Proxied, why: Reason): Response =>
  redirect(explanationOf(cx, at, why))

function explanationOf(cx: Cx, { clientId, origin }: Proxied, why: Reason): string {
  const query = new URLSearchParams({ client_id: clientId, host: new URL(origin).host, why })
  return `${issuerOf(cx).issuer}${paths.forwardRefused}?${query}`
}

/**
 * The same for a user who is signed in: 403, so that no program takes it for a sign-in to repeat.
 * The page leads the browser on to ours.
 */
export function forbidden(cx: Cx, at: Proxied, why: Forbidden, text: string): Response {
  const href = explanationOf(cx, at, why).replaceAll("&", "&amp;")
  const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${href}">
<title>403</title><p>${text} <a href="${href}">${href}</a></p></html>
`
  const headers = { ...noStore, "content-type": "text/html; charset=utf-8" }
  return new Response(page, { status: 403, headers })
}

/** Where a person learns why a protected host does not let them in, and what to do. */
export const forwardRefused: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  answer: ({ cx, show, url: { searchParams: asked } }) => {
    const headers = new Headers({
      "x-forwarded-host": asked.get("host") ?? "",
      "x-forwarded-uri": "/",
    })
    // What others write into the address leads to registered hosts only.
    const { origin } = proxiedBy(cx, headers, asked.get("client_id") ?? "")
    const startHref = origin + ownPaths.signIn
    const why = reasons.find((each) => each === asked.get("why"))
    if (why === "way") return showTrouble(show, cx, { problem: "expired", startHref })
    const isNamed = why !== undefined && why !== "sign-in"
    const reason = isNamed ? (`error.not_allowed.${why}` as const) : "error.not_allowed.unfinished"
    return showTrouble(show, cx, { problem: "not_allowed", status: 403, reason, startHref })
  },
}
