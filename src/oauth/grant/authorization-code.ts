import { createHash } from "node:crypto"
import type { OidcApp } from "../../domain/app/index.ts"
import {
  type Answered,
  type AuthRequest,
  endGrant,
  exchangeCode,
  isWithdrawn,
  requestLifetimes,
  requestOf,
} from "../../domain/grant/index.ts"
import {
  about,
  because,
  type Cause,
  type Finding,
  findingOfAddress,
} from "../../domain/refusal/index.ts"
import { usableSession } from "../../domain/session/index.ts"
import { sameText } from "../../kernel/crypto/secret.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { identityOf } from "../authorize/identity.ts"
import type { AuthenticatedApp, AuthenticatedClient } from "../client/authentication.ts"
import type { Proof } from "../client/proof.ts"
import { readCode } from "../code.ts"
import { OAuthError } from "../error.ts"
import { type Parameters, required } from "../request.ts"
import type { Narrow } from "../token/audience.ts"
import { consentedAmong } from "../token/audience.ts"
import type { Issuance } from "../token/issue.ts"
import { type Lifetimes, lifetimesOf } from "../token/lifetime.ts"
import { offlineFor, writeRefreshToken } from "../token/refresh.ts"
import { projectsInIdToken } from "../token/scope.ts"
import type { Grant } from "./grant.ts"
import { applicationFor } from "./registered.ts"

/** RFC 6749 §4.1.3 with PKCE (RFC 7636). */
export const authorizationCode: Grant = {
  name: "authorization_code",
  client: "authenticated",
  allow: (cx, asked) => redeemCode(cx, asked),
}

type Presented = Pick<Requested, "parameters" | "proof" | "narrow"> & {
  readonly client: AuthenticatedClient
}

/** What a code is worth to the client that it was issued to. */
export async function redeemCode(
  cx: Cx,
  { parameters, client, proof, narrow }: Presented,
): Promise<Issuance> {
  const application = applicationFor(client, "authorization_code")
  const { state } = application
  const answered = readCode(cx, required(parameters, "code"))
  if (answered === undefined) throw wrongCodeError("code.not_ours")
  const projects = projectsInIdToken(cx, state)
  const asked = {
    answered,
    parameters,
    client: application,
    oidc: state.oidc,
    projects,
    proof,
    narrow,
    lifetimes: lifetimesOf(cx, application.clientId),
    arrived: cx.clock.now(),
  }
  const step = await cx.store.transact(cx, (tx) => redeem(cx, tx, asked))
  if (step.value === "used before") throw wrongCodeError("code.used")
  const { offline, ...issuance } = step.value
  if (!offline) return issuance
  const first = { grantId: issuance.grantId, generation: 1 }
  return { ...issuance, refreshToken: writeRefreshToken(cx, first) }
}

type Requested = {
  readonly answered: Answered
  readonly parameters: Parameters
  readonly client: AuthenticatedApp
  readonly oidc: OidcApp["oidc"]
  /** What stands in the id_token's audience beside the client. */
  readonly projects: readonly string[]
  readonly proof: Proof | undefined
  readonly narrow: Narrow
  readonly lifetimes: Lifetimes
  /** ms UTC. */
  readonly arrived: number
}

/** `offline`: a refresh token goes with it. */
type Redeemed = Issuance & { readonly offline: boolean }

/** Uses up the code and adds the grant, in one step. */
function redeem(cx: Cx, tx: Transaction, asked: Requested): Redeemed | "used before" {
  const { answered, parameters, client, oidc } = asked
  const request = ownRequest(requestOf(tx, answered), client)
  if (request.status === "exchanged") {
    // RFC 6749 §4.1.2: a second use is always denied, and revokes what the first one gave.
    if (!isSentTwice(request, asked)) endGrant(tx, request.grantId, "code used twice")
    return "used before"
  }
  if (request.status !== "answered") throw wrongCodeError("code.over")
  if (tx.now >= request.codeAt + requestLifetimes.code) throw wrongCodeError("code.old")
  checkRedirectUri(required(parameters, "redirect_uri"), request.asked.redirectUri)
  checkVerifier(request.asked.challenge, parameters.get("code_verifier"))
  // RFC 9449 §10: a code that was asked for with a key is worth nothing without it.
  if (request.asked.dpopJkt !== undefined && request.asked.dpopJkt !== asked.proof?.jkt) {
    throw new OAuthError("invalid_dpop_proof", "the code is bound to another key")
  }

  const session = usableSession(tx, request.sessionId)
  if (!session) throw new OAuthError("invalid_grant", "the person has signed out meanwhile")
  const { clientId, appId, scopes, leftOut, audience, foreign, claims } = request.asked
  if (isWithdrawn(tx, request, appId)) throw wrongCodeError("code.over")
  const narrowed = asked.narrow({ audience, clientId, userId: session.userId })
  const offline = offlineFor({ client, scopes, proof: asked.proof, lifetimes: asked.lifetimes })
  const grantId = exchangeCode(tx, answered, {
    clientId,
    appId,
    scopes,
    leftOut,
    audience,
    claims,
    session,
    consented: consentedAmong(cx, session.userId, foreign),
    accessLifetimeSeconds: asked.lifetimes.access,
    ...(offline && { offline }),
  })
  return {
    grantId,
    userId: session.userId,
    clientId,
    audience: narrowed,
    scopes,
    offline: offline !== undefined,
    tokenType: oidc.tokenType,
    clockSkewSeconds: oidc.clockSkewSeconds,
    identity: {
      ...identityOf(request.asked, {
        sessionId: request.sessionId,
        session,
        projects: asked.projects,
        withUserClaims: oidc.idTokenUserinfoAssertion,
      }),
      code: required(parameters, "code"),
    },
  }
}

/** A double click, or a client that sends a request again. */
const twiceMs = 1000

/**
 * Whether a used code is sent again at the same moment by whoever used it: the client is
 * authenticated, and nobody else has the verifier. Its first answer stays valid. Without PKCE
 * nobody can tell the user from a thief who injects the code into the same client.
 */
function isSentTwice(request: Exchanged, { answered, parameters, arrived }: Requested): boolean {
  const challenge = request.challenge ?? answered.atOnce?.asked.challenge
  const verifier = parameters.get("code_verifier")
  if (request.exchangedAt === undefined || challenge === undefined) return false
  if (verifier === undefined || !isVerifierOf(challenge, verifier)) return false
  return Math.abs(arrived - request.exchangedAt) <= twiceMs
}

type Exchanged = Extract<AuthRequest, { status: "exchanged" }>

/** RFC 6749 §4.1.3: a code is worth something only to the client it was issued to. */
function ownRequest(request: AuthRequest, { state }: AuthenticatedApp) {
  if (request.status === "absent" || request.status === "failed") {
    throw wrongCodeError("code.over")
  }
  const { clientId } = request.status === "exchanged" ? request : request.asked
  if (clientId !== state.clientId) throw wrongCodeError("code.other_client")
  return request
}

/** RFC 6749 §4.1.3: same redirect_uri as at authorization. */
function checkRedirectUri(received: string, wanted: string): void {
  if (received === wanted) return
  throw new OAuthError("invalid_grant", "redirect_uri is not that of the authorization request", {
    finding: () => [findingOfAddress("redirect_uri", received, [wanted])],
  })
}

/** RFC 7636 §4.6; RFC 9700 §4.8.2: a verifier without a challenge means that it was taken away. */
function checkVerifier(challenge: string | undefined, verifier: string | undefined): void {
  if (challenge === undefined && verifier === undefined) return
  if (challenge === undefined) throw verifierError(about("code_verifier", "verifier.unasked"))
  if (verifier === undefined) throw verifierError(about("code_verifier", "verifier.missing"))
  if (isVerifierOf(challenge, verifier)) return
  const cause = verifier === challenge ? "verifier.challenge" : "verifier.other"
  // A hash may be shown, what it is made of may not.
  const received = hashOf(verifier)
  const subject = "SHA-256 of code_verifier"
  throw verifierError({
    subject,
    received,
    expected: [challenge],
    ...because("code_verifier", cause),
  })
}

const hashOf = (verifier: string) => createHash("sha256").update(verifier).digest("base64url")

const isVerifierOf = (challenge: string, verifier: string): boolean =>
  /^[\w.~-]{43,128}$/.test(verifier) && sameText(hashOf(verifier), challenge)

const verifierError = (finding: Finding) =>
  new OAuthError("invalid_grant", "code_verifier does not fit the code_challenge", { finding })

/** One answer for every code that isn't good: unknown, expired, used or someone else's. */
const wrongCodeError = (cause: Cause) =>
  new OAuthError("invalid_grant", "the code is not valid (any more)", {
    finding: about("code", cause),
  })
