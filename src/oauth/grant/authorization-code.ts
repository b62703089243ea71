import { createHash } from "node:crypto"
import type { OidcApp } from "../../domain/app/index.ts"
import {
  type AuthRequestState,
  type CodeReference,
  endGrant,
  exchangeCode,
  isWithdrawn,
  requestLifetimes,
  requestOfCode,
} from "../../domain/grant/index.ts"
import {
  type Cause,
  type Finding,
  findingOfUri,
  findingWithoutValue,
  likelyCauseOf,
} from "../../domain/refusal/index.ts"
import { findUsableSession } from "../../domain/session/index.ts"
import { constantTimeEquals } from "../../kernel/crypto/secret.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { identityOf } from "../authorize/identity.ts"
import type { AuthenticatedApp, AuthenticatedClient } from "../client/authentication.ts"
import type { DpopProof } from "../client/proof.ts"
import { openCode } from "../code.ts"
import { OAuthError } from "../error.ts"
import { type Parameters, requireParameter } from "../parameters.ts"
import type { Narrow } from "../token/audience.ts"
import { consentedAmong } from "../token/audience.ts"
import type { Issuance } from "../token/issue.ts"
import { type Lifetimes, lifetimesOf } from "../token/lifetime.ts"
import { offlineAccessOf, sealRefreshToken } from "../token/refresh.ts"
import { projectsInIdToken } from "../token/scope.ts"
import type { Grant } from "./grant.ts"
import { requireRegisteredGrant } from "./registered-grant.ts"

/** RFC 6749 §4.1.3 with PKCE (RFC 7636). */
export const authorizationCode: Grant = {
  name: "authorization_code",
  client: "authenticated",
  allow: (cx, redemption) => redeemCode(cx, redemption),
}

type RedeemInput = Pick<CodeRedemption, "parameters" | "proof" | "narrow"> & {
  readonly client: AuthenticatedClient
}

/** Redeems a code for the client that it was issued to. */
export async function redeemCode(
  cx: Cx,
  { parameters, client, proof, narrow }: RedeemInput,
): Promise<Issuance> {
  const application = requireRegisteredGrant(client, "authorization_code")
  const { state } = application
  const answered = openCode(cx, requireParameter(parameters, "code"))
  if (answered === undefined) throw invalidCodeError("code.not_ours")
  const projects = projectsInIdToken(cx, state)
  const redemption = {
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
  const step = await cx.store.transact(cx, (tx) => redeemInTransaction(cx, tx, redemption))
  if (step.value === "used before") throw invalidCodeError("code.used")
  const { offline, ...issuance } = step.value
  if (!offline) return issuance
  const first = { grantId: issuance.grantId, generation: 1 }
  return { ...issuance, refreshToken: sealRefreshToken(cx, first) }
}

type CodeRedemption = {
  readonly answered: CodeReference
  readonly parameters: Parameters
  readonly client: AuthenticatedApp
  readonly oidc: OidcApp["oidc"]
  /** Projects in the audience of the ID token, in addition to the client. */
  readonly projects: readonly string[]
  readonly proof: DpopProof | undefined
  readonly narrow: Narrow
  readonly lifetimes: Lifetimes
  /** ms UTC. */
  readonly arrived: number
}

/** `offline`: with a refresh token. */
type RedeemedCode = Issuance & { readonly offline: boolean }

/** Marks the code as used and adds the grant, in one transaction. */
function redeemInTransaction(
  cx: Cx,
  tx: Transaction,
  redemption: CodeRedemption,
): RedeemedCode | "used before" {
  const { answered, parameters, client, oidc } = redemption
  const request = requestOfClient(requestOfCode(tx, answered), client)
  if (request.status === "exchanged") {
    // RFC 6749 §4.1.2: a second use is always denied, and revokes the tokens of the first.
    if (!isRepeated(request, redemption)) endGrant(tx, request.grantId, "the code was used twice")
    return "used before"
  }
  if (request.status !== "answered") throw invalidCodeError("code.over")
  if (tx.now >= request.codeAt + requestLifetimes.code) throw invalidCodeError("code.old")
  validateRedirectUri(requireParameter(parameters, "redirect_uri"), request.asked.redirectUri)
  verifyPkce(request.asked.challenge, parameters.get("code_verifier"))
  // RFC 9449 §10: a code that is bound to a key requires a proof of that key.
  if (request.asked.dpopJkt !== undefined && request.asked.dpopJkt !== redemption.proof?.jkt) {
    throw new OAuthError("invalid_dpop_proof", "the code is bound to another key")
  }

  const session = findUsableSession(tx, request.sessionId)
  if (!session) throw new OAuthError("invalid_grant", "the user has signed out meanwhile")
  const { clientId, appId, scopes, leftOut, audience, foreign, claims } = request.asked
  if (isWithdrawn(tx, request, appId)) throw invalidCodeError("code.over")
  const narrowed = redemption.narrow({ audience, clientId, userId: session.userId })
  const offline = offlineAccessOf({
    client,
    scopes,
    proof: redemption.proof,
    lifetimes: redemption.lifetimes,
  })
  const grantId = exchangeCode(tx, answered, {
    clientId,
    appId,
    scopes,
    leftOut,
    audience,
    claims,
    session,
    consented: consentedAmong(cx, session.userId, foreign),
    accessLifetimeSeconds: redemption.lifetimes.access,
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
        projects: redemption.projects,
        withUserClaims: oidc.idTokenUserinfoAssertion,
      }),
      code: requireParameter(parameters, "code"),
    },
  }
}

/** A double click, or a client that repeats a request. */
const repeatMs = 1000

/**
 * Whether the same client repeats a used code immediately: it is authenticated, and no one else has
 * the verifier. Its first response remains valid. Without PKCE, this could also be an attacker who
 * injects the code into the same client.
 */
function isRepeated(
  request: ExchangedRequest,
  { answered, parameters, arrived }: CodeRedemption,
): boolean {
  const challenge = request.challenge ?? answered.atOnce?.asked.challenge
  const verifier = parameters.get("code_verifier")
  if (request.exchangedAt === undefined || challenge === undefined) return false
  if (verifier === undefined || !matchesChallenge(challenge, verifier)) return false
  return Math.abs(arrived - request.exchangedAt) <= repeatMs
}

type ExchangedRequest = Extract<AuthRequestState, { status: "exchanged" }>

/** RFC 6749 §4.1.3: only the client that the code was issued to can use it. */
function requestOfClient(request: AuthRequestState, { state }: AuthenticatedApp) {
  if (request.status === "absent" || request.status === "failed") {
    throw invalidCodeError("code.over")
  }
  const { clientId } = request.status === "exchanged" ? request : request.asked
  if (clientId !== state.clientId) throw invalidCodeError("code.other_client")
  return request
}

/** RFC 6749 §4.1.3: the same redirect_uri as in the authorization request. */
function validateRedirectUri(received: string, registered: string): void {
  if (received === registered) return
  throw new OAuthError("invalid_grant", "redirect_uri does not match the authorization request", {
    finding: () => [findingOfUri("redirect_uri", received, [registered])],
  })
}

/**
 * RFC 7636 §4.6; RFC 9700 §4.8.2: a verifier without a challenge means that the challenge was
 * removed.
 */
function verifyPkce(challenge: string | undefined, verifier: string | undefined): void {
  if (challenge === undefined && verifier === undefined) return
  if (challenge === undefined)
    throw verifierError(findingWithoutValue("code_verifier", "verifier.unasked"))
  if (verifier === undefined)
    throw verifierError(findingWithoutValue("code_verifier", "verifier.missing"))
  if (matchesChallenge(challenge, verifier)) return
  const cause = verifier === challenge ? "verifier.challenge" : "verifier.other"
  // The hash can be shown, the verifier can't.
  const received = challengeOf(verifier)
  const subject = "SHA-256 of code_verifier"
  throw verifierError({
    subject,
    received,
    expected: [challenge],
    ...likelyCauseOf("code_verifier", cause),
  })
}

const challengeOf = (verifier: string) => createHash("sha256").update(verifier).digest("base64url")

const matchesChallenge = (challenge: string, verifier: string): boolean =>
  /^[\w.~-]{43,128}$/.test(verifier) && constantTimeEquals(challengeOf(verifier), challenge)

const verifierError = (finding: Finding) =>
  new OAuthError("invalid_grant", "code_verifier does not match the code_challenge", { finding })

/** The same error for every invalid code: unknown, expired, used, or of another client. */
const invalidCodeError = (cause: Cause) =>
  new OAuthError("invalid_grant", "the code is invalid or has expired", {
    finding: findingWithoutValue("code", cause),
  })
