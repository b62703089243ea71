import { noteRefusal } from "../../domain/refusal/index.ts"
import type { Asking } from "../endpoint/endpoint.ts"
import type { OAuthError } from "../error.ts"
import { sentIn } from "../request.ts"
import { clientFindings, clientIdOf } from "./about-client.ts"
import { grantFindings } from "./about-grant.ts"
import { requestFindings } from "./about-request.ts"

/** A request that was refused, as far as it was read; `error` is what its client was told. */
export type Refused = {
  readonly path: string
  readonly sent: URLSearchParams
  /** The header of that name. */
  readonly authorization: string | null
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
  const path = url.pathname
  const authorization = request.headers.get("authorization")
  const refused: Refused = { path, sent, authorization, error, description }
  if ([...ordinary].some((known) => known === error)) return
  const clientId = await clientIdOf(refused)
  const findings = [
    ...(await clientFindings(cx, refused, clientId)),
    ...requestFindings(cx, refused, clientId),
    ...(await grantFindings(cx, refused, clientId)),
  ]
  tell(noteRefusal(cx, { endpoint: path, error, description, clientId, findings }))
}
