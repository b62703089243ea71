import type { Cx } from "../store/index.ts"
import type { OAuthError } from "./error.ts"
import { anyOrigin, errorJson, exposed, noStore } from "./response.ts"
import { challengeFor, type Presented } from "./token/presented.ts"

/** RFC 6750 §3.1: says nothing of an error to who sent no token at all. */
export const nothingPresented = (realm: string): Response =>
  new Response(null, {
    status: 401,
    headers: {
      ...anyOrigin,
      ...exposed,
      ...noStore,
      "www-authenticate": challengeFor("bearer", realm),
    },
  })

type Tried = {
  readonly scheme: Presented["scheme"]
  readonly realm: string
  /** The scope that the endpoint requires. */
  readonly scope?: string
}

/** RFC 6750 §3: the error stands in the header, and for people in the body. */
export function challenge(cx: Cx, { scheme, realm, scope }: Tried, fault: OAuthError): Response {
  const { error, description } = fault
  const answer = errorJson(fault, cx.requestId)
  const needed = error === "insufficient_scope" && scope ? `, scope="${scope}"` : ""
  const problem = `error="${error}", error_description="${description}"${needed}`
  answer.headers.set("www-authenticate", `${challengeFor(scheme, realm)}, ${problem}`)
  return answer
}
