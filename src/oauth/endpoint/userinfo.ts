import { findClient } from "../../domain/app/index.ts"
import { noteClaimsRead } from "../../domain/grant/index.ts"
import { about } from "../../domain/refusal/index.ts"
import { isForm } from "../../protocol/body.ts"
import type { Cx } from "../../store/index.ts"
import { challenge, nothingPresented } from "../challenge.ts"
import { OAuthError } from "../error.ts"
import { recordRefusal } from "../refusal.ts"
import { parametersOf } from "../request.ts"
import { json } from "../response.ts"
import { userinfoClaims } from "../token/claims/claims.ts"
import { claimsAskedWith } from "../token/claims/claims-asked.ts"
import { complemented } from "../token/claims/complement.ts"
import { checkPresented, type Presented, presentedIn } from "../token/presented.ts"
import { readToken, type Statement } from "../token/statement.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** OpenID Connect Core §5.3. */
export const userinfo: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: true,
  answer: async (asking) => {
    const inHeader = presentedIn(asking.request.headers.get("authorization"))
    try {
      const presented = await presentedBy(asking, inHeader)
      if (presented === undefined) return nothingPresented(realm)
      const { cx } = asking
      const statement = await validIn(asking, presented)
      const claims = await claimsFor(cx, statement)
      const appId = findClient(cx, statement.clientId)?.appId
      if (appId !== undefined) await noteClaimsRead(cx, statement.userId, appId)
      return json(claims)
    } catch (cause) {
      if (!(cause instanceof OAuthError)) throw cause
      await recordRefusal(asking, cause)
      const scheme = inHeader?.scheme ?? "bearer"
      return challenge(asking.cx, { scheme, realm, scope: "openid" }, cause)
    }
  },
}

/** What the token says. What became of it is the affair of the client that it was issued to. */
async function validIn({ cx, request, url }: Asking, presented: Presented): Promise<Statement> {
  const { headers, method } = request
  const found = await checkPresented(cx, presented, { headers, method, path: url.pathname })
  if (typeof found !== "string") return found
  throw new OAuthError("invalid_token", "the access token is not valid (any more)", {
    status: 401,
    finding: about("access token", found),
    whose: readToken(cx, presented.token)?.clientId,
  })
}

function claimsFor(cx: Cx, claims: Statement): object | Promise<object> {
  if (!claims.scopes.includes("openid")) {
    throw new OAuthError("insufficient_scope", "the access token has not the scope openid", {
      status: 403,
    })
  }
  const requested = claimsAskedWith(cx, claims.grantId)?.userinfo
  const { userId, clientId, scopes, actor } = claims
  const said = userinfoClaims(cx, { ...claims, requested })
  return complemented(cx, { triggerType: 4, userId, clientId, scopes, actor, claims: said })
}

/** RFC 6750 §2: a token comes in the header or in the form, never in both. */
async function presentedBy(
  asking: Asking,
  inHeader: Presented | undefined,
): Promise<Presented | undefined> {
  // Nearly all ask by GET, which has no form to wait for. OpenID Connect Core §5.3.1: beside a
  // token in the header, a body of any other type is ignored.
  const mayPost = asking.request.method === "POST" && (!inHeader || isForm(asking.request))
  const token = mayPost ? await postedToken(asking) : undefined
  if (inHeader && token !== undefined) {
    throw new OAuthError("invalid_request", "the access token comes in two places")
  }
  return inHeader ?? (token === undefined ? undefined : { scheme: "bearer", token })
}

/** RFC 6750 §2.2. */
async function postedToken({ request, form }: Asking): Promise<string | undefined> {
  if (!request.headers.has("content-type")) return undefined
  return parametersOf(await form()).get("access_token")
}

const realm = "userinfo"
