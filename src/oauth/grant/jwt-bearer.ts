import { findClient } from "../../domain/app/index.ts"
import { serviceUserKey, user } from "../../domain/user/index.ts"
import type { Cx } from "../../store/index.ts"
import { readAssertion, spend, verifyAssertion } from "../client/assertion.ts"
import { OAuthError } from "../error.ts"
import { required } from "../request.ts"
import { anchorOf } from "../token/anchor.ts"
import type { Grant } from "./grant.ts"
import { forItself } from "./service-user.ts"

/** RFC 7523 §2.1: a service user signs who they are with a key that is registered for them. */
export const jwtBearer: Grant = {
  name: "urn:ietf:params:oauth:grant-type:jwt-bearer",
  client: "none",
  allow: async (cx, { parameters }) => {
    const { userId, keyId } = await provenUser(cx, required(parameters, "assertion"))
    const state = cx.store.state(cx, user, userId)
    if (!("kind" in state) || state.kind !== "machine") throw refused()
    // A user's id may be chosen; as an application's client id it would pass for that application.
    if (findClient(cx, userId)) throw refused()
    const { accessTokenType } = state
    const client = { userId, clientId: userId, anchor: anchorOf("key", keyId), accessTokenType }
    required(parameters, "scope")
    const { issuance, projects } = forItself(cx, parameters, client)
    return { ...issuance, identity: { audience: [userId, ...projects] } }
  },
}

async function provenUser(cx: Cx, text: string) {
  const { issuer = "", keyId = "" } = (await readAssertion(text)) ?? {}
  const key = serviceUserKey(cx, issuer, keyId)
  const proven = await verifyAssertion(cx, text, { key, as: "grant" })
  if (!proven || !(await spend(cx, proven))) throw refused()
  return { userId: proven.issuer, keyId }
}

/** One answer whatever is wrong, so that nobody learns which users and keys there are. */
const refused = () =>
  new OAuthError(
    "invalid_grant",
    "the assertion is not valid: check iss, sub, aud, iat, exp, kid and the signature",
  )
