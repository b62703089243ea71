import { findClient } from "../../domain/app/index.ts"
import { spendAssertion } from "../../domain/grant/index.ts"
import { serviceUserKey, user } from "../../domain/user/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { type Assertion, readAssertion, verifyAssertion } from "../client/assertion.ts"
import { OAuthError } from "../error.ts"
import { ownOf } from "../own.ts"
import { required, wordsOf } from "../request.ts"
import { anchorOf } from "../token/anchor.ts"
import { audienceOf, grantedScopes } from "../token/scope.ts"
import type { Grant } from "./grant.ts"

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
    const scopes = grantedScopes(wordsOf(required(parameters, "scope")))
    const audience = audienceOf(cx, scopes)
    return {
      grantId: anchorOf("key", keyId),
      userId,
      clientId: userId,
      // RFC 9068 §3: without a wish, the token is for ourselves.
      audience: audience.length > 0 ? audience : [ownOf(cx).issuer],
      scopes,
      tokenType: state.accessTokenType,
      clockSkewSeconds: 0,
      identity: { audience: [userId, ...audience] },
    }
  },
}

async function provenUser(cx: Cx, text: string) {
  const { issuer = "", keyId = "" } = (await readAssertion(text)) ?? {}
  const key = issuer && keyId ? serviceUserKey(cx, issuer, keyId) : undefined
  if (!key || key.expires <= cx.clock.now()) throw refused()
  const proven = await verifyAssertion(cx, text, key.publicKey)
  if (!proven) throw refused()
  if (proven.jti !== undefined) await spend(cx, proven)
  return { userId: proven.issuer, keyId }
}

async function spend(cx: Cx, { issuer, jti, expires }: Assertion): Promise<void> {
  try {
    await cx.store.transact(cx, (tx) => spendAssertion(tx, { issuer, jti: jti ?? "", expires }))
  } catch (cause) {
    if (cause instanceof Fault && cause.id === "assertion.used") throw refused()
    throw cause
  }
}

/** One answer whatever is wrong, so that nobody learns which users and keys there are. */
const refused = () =>
  new OAuthError(
    "invalid_grant",
    "the assertion is not valid: check iss, sub, aud, iat, exp, kid and the signature",
  )
