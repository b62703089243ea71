import { findingsOf, noteRefusal } from "../domain/refusal/index.ts"
import { readHint } from "./authorize/request/parse.ts"
import { readAssertion } from "./client/assertion.ts"
import { basicIn } from "./client/attempt.ts"
import { textOf } from "./client/jwt.ts"
import type { Asking } from "./endpoint/endpoint.ts"
import { OAuthError } from "./error.ts"
import { presentedIn } from "./token/presented.ts"
import { readToken } from "./token/statement.ts"

/** What is no mistake of anybody: a step on the way, or what a person decided. */
const ordinary: ReadonlySet<string> = new Set<OAuthError["error"]>([
  "access_denied",
  "account_selection_required",
  "authorization_pending",
  "consent_required",
  "interaction_required",
  "login_required",
  "slow_down",
  "temporarily_unavailable",
])

/** Whether an error is no mistake of anybody, and so kept nowhere. */
export const isOrdinary = (error: string): boolean => ordinary.has(error)

type Refused = Pick<OAuthError, "description" | "finding"> & {
  readonly error: string
  readonly whose?: string | undefined
}

/** A request that may have been read in part. */
type Read = Omit<Asking, "show">

/**
 * Keeps a request that was refused, with what was found where that was decided. It is shown to the
 * owner of whom the request calls its client, who need not have proved to be it: what was found of
 * somebody else is not kept. What names no client is for those who see the whole instance.
 */
export async function recordRefusal(asking: Read, refused: Refused): Promise<void> {
  const { error, description, finding, whose } = refused
  if (isOrdinary(error)) return
  const { cx, url, refused: tell } = asking
  const clientId = await namedClient(asking)
  const mayKnow = whose === undefined || clientId === "" || whose === clientId
  const findings = mayKnow ? findingsOf(finding) : []
  tell(noteRefusal(cx, { endpoint: url.pathname, error, description, clientId, findings }))
}

/**
 * What a request calls its client; empty where it says nothing that can be read. Else it is the
 * client that a token of ours was issued to, which is all that some requests bring.
 */
async function namedClient(asking: Read): Promise<string> {
  const { cx, request, url } = asking
  const form = await posted(asking)
  const authorization = request.headers.get("authorization")
  const sent = (name: string): string => form.get(name) || url.searchParams.get(name) || ""
  const token = presentedIn(authorization)?.token ?? sent("access_token")
  return (
    basicIn(authorization ?? "")?.clientId ||
    form.get("client_id") ||
    readAssertion(form.get("client_assertion") ?? "")?.issuer ||
    sent("client_id") ||
    textOf(readHint(cx, sent("id_token_hint"))?.azp) ||
    readToken(cx, token)?.clientId ||
    ""
  )
}

/** The form, as far as it could be read. */
async function posted({ request, form }: Read): Promise<URLSearchParams> {
  try {
    return request.method === "POST" ? await form() : new URLSearchParams()
  } catch (cause) {
    if (cause instanceof OAuthError) return new URLSearchParams()
    throw cause
  }
}
