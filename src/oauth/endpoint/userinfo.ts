import type { Cx } from "../../store/index.ts"
import { formOf } from "../request.ts"
import { anyOrigin, json, noStore } from "../response.ts"
import { bearerOf, validToken } from "../token/bearer.ts"
import { userClaims } from "../token/claims.ts"
import type { Endpoint } from "./endpoint.ts"

/** OpenID Connect Core §5.3. */
export const userinfo: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: true,
  answer: async ({ cx, request }) => {
    const token = bearerOf(request.headers.get("authorization")) ?? (await postedToken(request))
    if (token === undefined) return challenge(401)
    return claimsFor(cx, token)
  },
}

function claimsFor(cx: Cx, token: string): Response {
  const said = validToken(cx, token)
  if (!said) return challenge(401, "invalid_token", "the access token is not valid (any more)")
  if (!said.scopes.includes("openid")) {
    return challenge(403, "insufficient_scope", "the access token has not the scope openid")
  }
  return json({ ...userClaims(cx, said.userId, said.scopes), sub: said.userId })
}

/** RFC 6750 §2.2: a token may come in the form, when nothing else carries one. */
async function postedToken(request: Request): Promise<string | undefined> {
  if (request.method !== "POST" || !request.headers.has("content-type")) return undefined
  return (await formOf(request)).get("access_token")
}

/** RFC 6750 §3: says nothing of an error to who sent no token at all. */
function challenge(status: number, error?: string, description?: string): Response {
  const problem = error ? `, error="${error}", error_description="${description}"` : ""
  const headers = {
    ...anyOrigin,
    ...noStore,
    "www-authenticate": `Bearer realm="userinfo"${problem}`,
  }
  if (!error) return new Response(null, { status, headers })
  return json({ error, error_description: description }, { status, headers })
}
