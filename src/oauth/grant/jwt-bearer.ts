import { findClient } from "../../domain/app/index.ts"
import type { Finding, Found } from "../../domain/refusal/index.ts"
import { serviceUserKey } from "../../domain/service-account/index.ts"
import { user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"
import { isLive, ownNames, readAssertion, spend, verifyAssertion } from "../client/assertion.ts"
import { claimsBeside, findingsInJwt } from "../client/jwt.ts"
import { OAuthError } from "../error.ts"
import { required } from "../request.ts"
import { credentialParent } from "../token/token-parent.ts"
import type { Grant } from "./grant.ts"
import { forItself } from "./service-user.ts"

/** RFC 7523 §2.1: a service user signs who they are with a key that is registered for them. */
export const jwtBearer: Grant = {
  name: "urn:ietf:params:oauth:grant-type:jwt-bearer",
  client: "none",
  allow: async (cx, { parameters }) => {
    const { userId, keyId } = await provenUser(cx, required(parameters, "assertion"))
    const state = cx.store.state(cx, user, userId)
    if (!("kind" in state) || state.kind !== "machine") throw invalidError(userId)
    // A user's id may be chosen; as an application's client id it would pass for that application.
    if (findClient(cx, userId)) throw invalidError(userId)
    const { accessTokenType } = state
    const client = {
      userId,
      clientId: userId,
      anchor: credentialParent(cx, "key", { userId, id: keyId }),
      accessTokenType,
    }
    required(parameters, "scope")
    const { issuance, projects } = forItself(cx, parameters, client)
    return { ...issuance, identity: { audience: [userId, ...projects] } }
  },
}

async function provenUser(cx: Cx, text: string) {
  const { issuer = "", keyId = "" } = readAssertion(text) ?? {}
  const key = serviceUserKey(cx, issuer, keyId)
  const proven = await verifyAssertion(cx, text, { key, as: "grant" })
  const isGood = proven && (await spend(cx, proven))
  if (isGood) return { userId: proven.issuer, keyId }
  const lacksKey = isLive(cx, key) ? undefined : "assertion.key"
  throw invalidError(issuer, () => findingsOfUser(cx, text, { issuer, lacksKey }))
}

type Lacking = { readonly issuer: string; readonly lacksKey: "assertion.key" | undefined }

/** Of a user whose id is that of an application too, the application's owner must learn nothing. */
function findingsOfUser(cx: Cx, text: string, { issuer, lacksKey }: Lacking): readonly Finding[] {
  if (findClient(cx, issuer)) return []
  const wanted = { iss: issuer, sub: issuer, audience: ownNames(cx), lacksKey }
  return findingsInJwt(text, {
    subject: "assertion",
    beside: (claims) => claimsBeside(cx, claims, wanted),
    otherwise: "assertion.other",
  })
}

/**
 * One answer whatever is wrong, so that nobody learns which users and keys there are. Where a
 * request names an application as well, its owner would learn which keys somebody else's users
 * have: what was found is the affair of the user.
 */
const invalidError = (whose: string, finding?: Found) =>
  new OAuthError(
    "invalid_grant",
    "the assertion is not valid: check iss, sub, aud, iat, exp, kid and the signature",
    { finding, whose },
  )
