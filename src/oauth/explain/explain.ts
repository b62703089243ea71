import { noteRefusal } from "../../domain/refusal/index.ts"
import type { Asking } from "../endpoint/endpoint.ts"
import type { OAuthError } from "../error.ts"
import { sentIn } from "../request.ts"
import { clientFindings, clientIdOf } from "./about-client.ts"
import { grantFindings } from "./about-grant.ts"
import { hintFindings, objectFindings } from "./about-jwt.ts"
import { proofFindings } from "./about-proof.ts"
import { pushedFindings } from "./about-pushed.ts"
import { requestFindings } from "./about-request.ts"
import { tokenFindings } from "./about-token.ts"

/** A request that was refused, as far as it was read; `error` is what its client was told. */
export type Refused = {
  readonly path: string
  readonly method: string
  readonly sent: URLSearchParams
  /** The headers of these names. */
  readonly authorization: string | null
  readonly dpop: string | null
  readonly contentType: string | null
  readonly error: string
  readonly description: string
}

/** What is no mistake of anybody: a step on the way, or what a person decided. */
const ordinary: ReadonlySet<OAuthError["error"]> = new Set([
  "access_denied",
  "account_selection_required",
  "authorization_pending",
  "consent_required",
  "interaction_required",
  "login_required",
  "slow_down",
  "temporarily_unavailable",
])

/**
 * Keeps why a request was refused, for whoever set its application up. The request is looked at
 * once more, beside what is registered; what decides about requests knows nothing of this.
 */
export async function explain(
  { cx, request, url, refused: tell }: Asking,
  { error, description }: Pick<OAuthError, "description"> & { readonly error: string },
  sent = sentIn(request, url),
): Promise<void> {
  if ([...ordinary].some((known) => known === error)) return
  const path = url.pathname
  const { method, headers } = request
  const refused: Refused = {
    ...{ path, method, sent, error, description },
    authorization: headers.get("authorization"),
    dpop: headers.get("dpop"),
    contentType: headers.get("content-type"),
  }
  const clientId = await clientIdOf(cx, refused)
  const findings = [
    ...(await clientFindings(cx, refused, clientId)),
    ...requestFindings(cx, refused, clientId),
    ...(await objectFindings(cx, refused, clientId)),
    ...pushedFindings(cx, refused, clientId),
    ...(await hintFindings(cx, refused, clientId)),
    ...(await proofFindings(cx, refused)),
    ...(await grantFindings(cx, refused, clientId)),
    ...tokenFindings(cx, refused, clientId),
  ]
  tell(noteRefusal(cx, { endpoint: path, error, description, clientId, findings }))
}
