import { type Client, findClient, isSecret } from "../../domain/app/index.ts"
import { about, because, type Finding, type Found } from "../../domain/refusal/index.ts"
import { isMachineSecret } from "../../domain/service-account/index.ts"
import type { AccessTokenType } from "../../domain/user-model/index.ts"
import { isOneOf } from "../../kernel/crypto/secret.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { credentialParent } from "../token/token-parent.ts"
import { isLive, ownNames, readAssertion, spend, verifyAssertion } from "./assertion.ts"
import { type Attempt, attemptOf, type Credentials, type Method, methods } from "./attempt.ts"
import { claimsBeside, findingsInJwt } from "./jwt.ts"
import {
  isUsable,
  keyOf,
  methodsOf,
  onlyKeyOf,
  type Registered,
  registered,
  unusableFindings,
} from "./registered.ts"

export { assertionAlgorithms } from "./assertion.ts"
export { bringsProof, type Credentials, type Method, methods } from "./attempt.ts"

/** A client whose claim to be one was checked. */
export type AuthenticatedClient =
  | (Client & {
      readonly kind: "application"
      readonly clientId: string
      readonly method: Method
    })
  | {
      readonly kind: "service user"
      /** What it called itself: the user name, or the user's id. */
      readonly clientId: string
      readonly userId: string
      /** What its tokens hang from: the secret or the key that it came with. */
      readonly anchor: string
      readonly accessTokenType: AccessTokenType
      readonly method: Method
    }

/** An application that was authenticated. */
export type AuthenticatedApp = Extract<AuthenticatedClient, { kind: "application" }>

/** Refuses service users where only an application makes sense. */
export function applicationOf(client: AuthenticatedClient): AuthenticatedApp {
  if (client.kind === "application") return client
  throw new OAuthError("unauthorized_client", "a service user can't use this grant")
}

/**
 * RFC 7009 §2.1: whether a token was issued to this client. A service user gets tokens for itself
 * alone, whatever it calls or called itself; an application may have got one that speaks for it.
 */
export function isOwnToken(
  cx: Cx,
  client: AuthenticatedClient,
  claims: { readonly clientId: string; readonly userId: string },
): boolean {
  if (client.kind === "application") return claims.clientId === client.clientId
  return claims.userId === client.userId && findClient(cx, claims.clientId) === undefined
}

/** How a client may prove itself at the introspection endpoint; discovery names it. */
export const introspectionMethods = ["client_secret_basic", "private_key_jwt"] as const

/**
 * Authenticates the client of a request to the token endpoint and its like, by the one method that
 * the request uses, of those that the endpoint `accepts`. Refuses unknown clients, switched-off
 * ones, and any method but theirs, all with the same words.
 */
export async function authenticateClient(
  cx: Cx,
  credentials: Credentials,
  accepts: readonly Method[] = methods,
): Promise<AuthenticatedClient> {
  const attempt = attemptOf(credentials)
  if (!accepts.includes(attempt.method)) {
    const wanted = `this endpoint accepts ${accepts.join(", ")} only`
    const finding = {
      subject: "client authentication",
      received: attempt.method,
      expected: accepts,
      ...because("client authentication", "proof.endpoint"),
    }
    throw new OAuthError("invalid_client", wanted, { status: 401, finding })
  }
  const client = await provenBy(cx, attempt)
  if (client.kind !== "unproven") return client
  // RFC 6749 §5.2: unknown and unproven clients are told the same.
  const { finding, whose } = client
  throw new OAuthError("invalid_client", "client authentication failed", {
    status: 401,
    finding,
    whose,
  })
}

/** A client that has not proved itself, and what is found of it; its own owner alone may know. */
type Unproven = { readonly kind: "unproven"; readonly finding: Found; readonly whose: string }

const unproven = (whose: string, finding: Found): Unproven => ({ kind: "unproven", finding, whose })

function provenBy(cx: Cx, attempt: Attempt) {
  if (attempt.method === "private_key_jwt") return byAssertion(cx, attempt)
  return attempt.method === "none" ? byName(cx, attempt) : bySecret(cx, attempt)
}

/** RFC 6749 §2.3: a public client only says who it is. */
function byName(cx: Cx, { method, clientId }: Attempt<"none">): AuthenticatedClient | Unproven {
  const client = registered(cx, clientId)
  return proven(cx, client, { clientId, method, anchor: "", isRight: true })
}

/** RFC 6749 §2.3.1: in the header or in the body; see `methodsOf`. */
function bySecret(
  cx: Cx,
  { method, clientId, secret }: Attempt<"client_secret_basic" | "client_secret_post">,
): AuthenticatedClient | Unproven {
  const client = registered(cx, clientId)
  const isRight = knowsSecret(cx, client, secret)
  const isMachine = client?.kind === "service user"
  const id = isMachine ? (client.state.secret?.id ?? "") : ""
  const anchor = isMachine ? credentialParent(cx, "secret", { userId: client.userId, id }) : ""
  return proven(cx, client, { clientId, method, anchor, isRight })
}

/** The same work for a client that isn't there, or has no secret. */
function knowsSecret(cx: Cx, client: Registered | undefined, secret: string): boolean {
  if (!client) return isOneOf(cx.secrets, [], { plain: secret, about: "client_secret/" })
  return client.kind === "application"
    ? isSecret(cx, client.appId, { state: client.state, secret })
    : isMachineSecret(cx, client.userId, { state: client.state, secret })
}

/**
 * RFC 7523 §2.2: an assertion that the client signed with a key of its own. Its issuer and subject
 * are the client id: of a service user its name, or the id that the file of its key has.
 */
async function byAssertion(
  cx: Cx,
  { method, clientId: named, assertion }: Attempt<"private_key_jwt">,
): Promise<AuthenticatedClient | Unproven> {
  const read = readAssertion(assertion)
  if (!read) return unproven(named ?? "", about("client_assertion", "assertion.no_jwt"))
  const { issuer: clientId } = read
  const client = registered(cx, clientId)
  const keyId = read.keyId ?? (client ? onlyKeyOf(cx, client) : "")
  const key = keyOf(cx, client && methodsOf(client).includes(method) ? client : undefined, keyId)
  const checked = await verifyAssertion(cx, assertion, { key, as: "client" })
  // RFC 7521 §4.2: a client_id beside it must name the same client.
  if (named !== undefined && named !== clientId) {
    return unproven(named, { subject: "iss", received: clientId, expected: [named] })
  }
  const lacking = client?.kind === "application" ? "assertion.app_key" : "assertion.key"
  const lacksKey = isLive(cx, key) ? undefined : lacking
  const wanted = { iss: clientId, sub: clientId, audience: ownNames(cx), lacksKey } as const
  const claims = () =>
    findingsInJwt(assertion, {
      subject: "client_assertion",
      beside: (claims) => claimsBeside(cx, claims, wanted),
    })
  const userId = client?.kind === "service user" ? client.userId : ""
  const shown = { clientId, method, anchor: credentialParent(cx, "key", { userId, id: keyId }) }
  const found = proven(cx, client, { ...shown, isRight: checked !== undefined, claims })
  if (found.kind === "unproven" || !checked || (await spend(cx, checked))) return found
  return proven(cx, client, { ...shown, isRight: false })
}

type SubjectToken = {
  readonly clientId: string
  readonly method: Method
  readonly anchor: string
  /** Whether the secret, or the assertion, is right; nothing more is needed where there is none. */
  readonly isRight: boolean
  /** What is found in an assertion that is not. */
  readonly claims?: () => readonly Finding[]
}

function proven(
  cx: Cx,
  client: Registered | undefined,
  shown: SubjectToken,
): AuthenticatedClient | Unproven {
  const { clientId, method, anchor, isRight, claims } = shown
  const isUsed = client && methodsOf(client).includes(method)
  if (!client || !isUsed || !isRight || !isUsable(cx, client, anchor)) {
    return unproven(clientId, () => {
      const unusable = unusableFindings(cx, clientId)
      if (!client || unusable.length > 0) return unusable
      const proof = proofFinding(client, method)
      return isUsed ? [proof, ...(claims?.() ?? [])] : [proof]
    })
  }
  if (client.kind === "application") return { ...client, clientId, method }
  const { kind, userId, state } = client
  return { kind, clientId, userId, anchor, accessTokenType: state.accessTokenType, method }
}

/** A client proves itself by the method it is registered with; a secret never comes back. */
function proofFinding(client: Registered, received: Method): Finding {
  const subject = "client authentication"
  const expected = methodsOf(client)
  const right = received === "private_key_jwt" ? "proof.assertion" : "proof.secret"
  const own = expected.includes(received) ? right : "proof.method"
  const cause = client.kind === "service user" ? "proof.service_user" : own
  return { subject, received, expected, ...because(subject, cause) }
}
