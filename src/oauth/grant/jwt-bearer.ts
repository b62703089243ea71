import { findClient } from "../../domain/app/index.ts"
import type { Finding, FindingSource } from "../../domain/refusal/index.ts"
import { findServiceKey } from "../../domain/service-account/index.ts"
import { user } from "../../domain/user-model/index.ts"
import type { Cx } from "../../store/index.ts"
import {
  audienceNames,
  isKeyValid,
  parseAssertion,
  recordAssertionUse,
  verifyAssertion,
} from "../client/assertion.ts"
import { compareClaims, findingsInJwt } from "../client/jwt.ts"
import { OAuthError } from "../error.ts"
import { requireParameter } from "../parameters.ts"
import { credentialParent } from "../token/token-parent.ts"
import type { Grant } from "./grant.ts"
import { issueForItself } from "./service-account.ts"

/** RFC 7523 §2.1: a service account signs an assertion with its registered key. */
export const jwtBearer: Grant = {
  name: "urn:ietf:params:oauth:grant-type:jwt-bearer",
  client: "none",
  allow: async (cx, { parameters }) => {
    const { userId, keyId } = await authenticateUser(cx, requireParameter(parameters, "assertion"))
    const state = cx.store.state(cx, user, userId)
    if (!("kind" in state) || state.kind !== "machine") throw invalidAssertionError(userId)
    // User IDs can be chosen; one that is also a client ID would pass for that application.
    if (findClient(cx, userId)) throw invalidAssertionError(userId)
    const { accessTokenType } = state
    const client = {
      userId,
      clientId: userId,
      anchor: credentialParent(cx, "key", { userId, id: keyId }),
      accessTokenType,
    }
    requireParameter(parameters, "scope")
    const { issuance, projects } = issueForItself(cx, parameters, client)
    return { ...issuance, identity: { audience: [userId, ...projects] } }
  },
}

async function authenticateUser(cx: Cx, text: string) {
  const { issuer = "", keyId = "" } = parseAssertion(text) ?? {}
  const key = findServiceKey(cx, issuer, keyId)
  const verifiedAssertion = await verifyAssertion(cx, text, { key, as: "grant" })
  const isGood = verifiedAssertion && (await recordAssertionUse(cx, verifiedAssertion))
  if (isGood) return { userId: verifiedAssertion.issuer, keyId }
  const missingKeyCause = isKeyValid(cx, key) ? undefined : "assertion.key"
  throw invalidAssertionError(issuer, () =>
    findingsForUser(cx, text, { issuer, missingKeyCause: missingKeyCause }),
  )
}

type AssertionProblem = {
  readonly issuer: string
  readonly missingKeyCause: "assertion.key" | undefined
}

/** If the user ID is also a client ID, the owner of the application must learn nothing. */
function findingsForUser(
  cx: Cx,
  text: string,
  { issuer, missingKeyCause }: AssertionProblem,
): readonly Finding[] {
  if (findClient(cx, issuer)) return []
  const expectedClaims = { iss: issuer, sub: issuer, audience: audienceNames(cx), missingKeyCause }
  return findingsInJwt(text, {
    subject: "assertion",
    compare: (claims) => compareClaims(cx, claims, expectedClaims),
    fallbackCause: "assertion.other",
  })
}

/**
 * The same error for every cause, so that it reveals neither users nor keys. If a request also
 * names an application, its owner must not learn about keys of other users, so the findings are
 * only for the user.
 */
const invalidAssertionError = (visibleTo: string, finding?: FindingSource) =>
  new OAuthError(
    "invalid_grant",
    "the assertion is invalid: check iss, sub, aud, iat, exp, kid and the signature",
    { finding, visibleTo },
  )
