import { sha256 } from "@oslojs/crypto/sha2"
import { base64url } from "jose"
import * as oidc from "openid-client"

/** What the server tells its own console about itself. */
export type Environment = {
  readonly issuer: string
  readonly clientId: string
  readonly scope: string
}

/** Somebody signed in; the token lives in this object and nowhere else. */
export type SignedIn = {
  readonly accessToken: string
  readonly person: { readonly id: string; readonly name: string; readonly loginName: string }
  /** Ends the session at the server and comes back to the signed-out page. */
  readonly signOut: () => void
  /** Signs in anew and returns to the page that is open. */
  readonly again: () => void
}

export type Arrival =
  | { readonly kind: "signed-in"; readonly signedIn: SignedIn }
  | { readonly kind: "signed-out"; readonly signIn: () => void }
  | { readonly kind: "failed"; readonly message: string; readonly signIn: () => void }
  | { readonly kind: "leaving" }

const home = "/ui/console/projects"
const pendingKey = "latchkey.sign-in"

/** Finds out where the browser stands in the sign-in, and takes the next step. */
export async function arrive(): Promise<Arrival> {
  const environment = await readEnvironment()
  const origin = new URL(environment.issuer).origin
  if (origin !== location.origin) {
    location.replace(origin + location.pathname + location.search)
    return { kind: "leaving" }
  }
  const config = await configOf(environment)
  const signIn = () => void leave(config, environment, home)
  if (location.pathname === "/ui/console/signed-out") return { kind: "signed-out", signIn }
  if (location.pathname === "/ui/console/callback") return finish(config, environment, signIn)
  await leave(config, environment, location.pathname)
  return { kind: "leaving" }
}

async function readEnvironment(): Promise<Environment> {
  const answer = await fetch("/ui/console/environment.json")
  if (!answer.ok) throw new Error(`environment.json: ${answer.status}`)
  const { issuer, clientId, scope }: Record<string, unknown> = await answer.json()
  return { issuer: String(issuer), clientId: String(clientId), scope: String(scope) }
}

function configOf({ issuer, clientId }: Environment): Promise<oidc.Configuration> {
  const server = new URL(issuer)
  const execute = server.protocol === "http:" ? [oidc.allowInsecureRequests] : []
  return oidc.discovery(server, clientId, undefined, oidc.None(), { execute })
}

type Pending = {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
}

/** RFC 6749 §4.1.1 with PKCE (RFC 7636 §4.3); with a living session the way back is immediate. */
async function leave(
  config: oidc.Configuration,
  { issuer, scope }: Environment,
  returnTo: string,
): Promise<void> {
  const pending: Pending = {
    state: oidc.randomState(),
    nonce: oidc.randomNonce(),
    verifier: oidc.randomPKCECodeVerifier(),
    returnTo,
  }
  sessionStorage.setItem(pendingKey, JSON.stringify(pending))
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: `${new URL(issuer).origin}/ui/console/callback`,
    scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: challengeOf(pending.verifier),
    code_challenge_method: "S256",
  })
  location.assign(url)
}

/** WebCrypto is missing on plain http beyond localhost, where people try things out first. */
function challengeOf(verifier: string): string {
  return base64url.encode(sha256(new TextEncoder().encode(verifier)))
}

async function finish(
  config: oidc.Configuration,
  environment: Environment,
  signIn: () => void,
): Promise<Arrival> {
  const pending = takePending()
  if (!pending) {
    await leave(config, environment, home)
    return { kind: "leaving" }
  }
  try {
    const signedIn = await redeem(config, environment, pending)
    history.replaceState(null, "", pending.returnTo)
    return { kind: "signed-in", signedIn }
  } catch (failure) {
    return { kind: "failed", message: reasonOf(failure), signIn }
  }
}

function takePending(): Pending | undefined {
  const stored = sessionStorage.getItem(pendingKey)
  sessionStorage.removeItem(pendingKey)
  if (stored === null) return undefined
  const { state, nonce, verifier, returnTo }: Record<string, unknown> = JSON.parse(stored)
  const own = String(returnTo).startsWith("/ui/console") ? String(returnTo) : home
  return { state: String(state), nonce: String(nonce), verifier: String(verifier), returnTo: own }
}

async function redeem(
  config: oidc.Configuration,
  environment: Environment,
  pending: Pending,
): Promise<SignedIn> {
  const tokens = await oidc.authorizationCodeGrant(config, new URL(location.href), {
    expectedState: pending.state,
    expectedNonce: pending.nonce,
    pkceCodeVerifier: pending.verifier,
    idTokenExpected: true,
  })
  const id = tokens.claims()?.sub ?? ""
  const info = await oidc.fetchUserInfo(config, tokens.access_token, id)
  const loginName = info.preferred_username ?? id
  return {
    accessToken: tokens.access_token,
    person: { id, name: info.name ?? loginName, loginName },
    signOut: () => location.assign(endOf(config, environment, tokens.id_token ?? "")),
    again: () => void leave(config, environment, location.pathname),
  }
}

function endOf(config: oidc.Configuration, { issuer }: Environment, idToken: string): URL {
  return oidc.buildEndSessionUrl(config, {
    id_token_hint: idToken,
    post_logout_redirect_uri: `${new URL(issuer).origin}/ui/console/signed-out`,
  })
}

function reasonOf(failure: unknown): string {
  if (failure instanceof oidc.AuthorizationResponseError) {
    return failure.error_description ?? failure.error
  }
  if (failure instanceof oidc.ResponseBodyError) return failure.error_description ?? failure.error
  return failure instanceof Error ? failure.message : String(failure)
}
