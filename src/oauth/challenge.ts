import type { Cx } from "../store/index.ts"
import type { OAuthError } from "./error.ts"
import { anyOrigin, errorJson, exposedHeaders, noStore } from "./response.ts"
import { challengeFor, type PresentedToken } from "./token/presented.ts"

/** RFC 6750 §3.1: the response to a request without a token contains no error. */
export const missingTokenResponse = (realm: string): Response =>
  new Response(null, {
    status: 401,
    headers: {
      ...anyOrigin,
      ...exposedHeaders,
      ...noStore,
      "www-authenticate": challengeFor("bearer", realm),
    },
  })

type ChallengeOptions = {
  readonly scheme: PresentedToken["scheme"]
  readonly realm: string
  /** The scope that the endpoint requires. */
  readonly scope?: string
}

/** RFC 6750 §3: the header contains the error; the body repeats it for people. */
export function challengeResponse(
  cx: Cx,
  { scheme, realm, scope }: ChallengeOptions,
  fault: OAuthError,
): Response {
  const { error, description } = fault
  const answer = errorJson(fault, cx.requestId)
  const needed = error === "insufficient_scope" && scope ? `, scope="${scope}"` : ""
  const problem = `error="${error}", error_description="${description}"${needed}`
  answer.headers.set("www-authenticate", `${challengeFor(scheme, realm)}, ${problem}`)
  return answer
}
