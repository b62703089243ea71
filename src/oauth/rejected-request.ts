import { findingsOf, storeRefusal } from "../domain/refusal/index.ts"
import { verifyIdTokenHint } from "./authorize/request/parse.ts"
import { parseAssertion } from "./client/assertion.ts"
import { parseBasic } from "./client/credentials.ts"
import { textOf } from "./client/jwt.ts"
import type { EndpointContext } from "./endpoint/endpoint.ts"
import { OAuthError } from "./error.ts"
import { parseAuthorization } from "./token/presented.ts"
import { readToken } from "./token/statement.ts"

/** Errors that are no mistake: an expected step, or a decision of the user. */
const expectedErrors: ReadonlySet<string> = new Set<OAuthError["error"]>([
  "access_denied",
  "account_selection_required",
  "authorization_pending",
  "consent_required",
  "interaction_required",
  "login_required",
  "slow_down",
  "temporarily_unavailable",
])

/** Whether an error is no mistake and therefore not recorded. */
export const isExpectedError = (error: string): boolean => expectedErrors.has(error)

type RejectedRequest = Pick<OAuthError, "description" | "finding"> & {
  readonly error: string
  readonly whose?: string | undefined
}

/** A request that may have been partly read. */
type ReadableRequest = Omit<EndpointContext, "show">

/**
 * Records a rejected request with its findings, for the owner of the client that it names. The
 * client may be unauthenticated, so findings about others are not recorded. Requests without a
 * client are for administrators of the instance.
 */
export async function recordRejectedRequest(
  context: ReadableRequest,
  refused: RejectedRequest,
): Promise<void> {
  const { error, description, finding, whose } = refused
  if (isExpectedError(error)) return
  const { cx, url, onRejected: tell } = context
  const clientId = await claimedClientOf(context)
  const mayKnow = whose === undefined || clientId === "" || whose === clientId
  const findings = mayKnow ? findingsOf(finding) : []
  tell(storeRefusal(cx, { endpoint: url.pathname, error, description, clientId, findings }))
}

/**
 * The claimed client of a request; empty if it is unreadable. Without one, the client of a token of
 * ours, which is all that some requests contain.
 */
async function claimedClientOf(context: ReadableRequest): Promise<string> {
  const { cx, request, url } = context
  const form = await readForm(context)
  const authorization = request.headers.get("authorization")
  const parameterOf = (name: string): string => form.get(name) || url.searchParams.get(name) || ""
  const token = parseAuthorization(authorization)?.token ?? parameterOf("access_token")
  return (
    parseBasic(authorization ?? "")?.clientId ||
    form.get("client_id") ||
    parseAssertion(form.get("client_assertion") ?? "")?.issuer ||
    parameterOf("client_id") ||
    textOf(verifyIdTokenHint(cx, parameterOf("id_token_hint"))?.azp) ||
    readToken(cx, token)?.clientId ||
    ""
  )
}

/** The form, as far as it could be read. */
async function readForm({ request, form }: ReadableRequest): Promise<URLSearchParams> {
  try {
    return request.method === "POST" ? await form() : new URLSearchParams()
  } catch (cause) {
    if (cause instanceof OAuthError) return new URLSearchParams()
    throw cause
  }
}
