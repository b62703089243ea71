import { showTrouble } from "../../login/index.ts"
import type { Cx } from "../../store/index.ts"
import type { Endpoint } from "../endpoint/endpoint.ts"
import { issuerOf, paths } from "../issuer.ts"
import { redirect } from "../response.ts"
import { type Proxied, proxiedBy } from "./proxied.ts"

/** What there is at each protected host, beside the callback. */
export const ownPaths = {
  signIn: "/.latchkey/sign-in",
  signOut: "/.latchkey/sign-out",
} as const

const reasons = ["role", "email", "sign-in", "way"] as const
type Reason = (typeof reasons)[number]

/** Our pages have their own address: what they are made of is not at the protected host. */
export function refused(cx: Cx, { clientId, origin }: Proxied, why: Reason): Response {
  const query = new URLSearchParams({ client_id: clientId, host: new URL(origin).host, why })
  return redirect(`${issuerOf(cx).issuer}${paths.forwardRefused}?${query}`)
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
    const named = why === "role" || why === "email"
    const reason = named ? (`error.not_allowed.${why}` as const) : "error.not_allowed.unfinished"
    return showTrouble(show, cx, { problem: "not_allowed", status: 403, reason, startHref })
  },
}
