import { type Client, findClient, isSecret } from "../../domain/app/index.ts"
import { type AccessTokenType, isMachineSecret } from "../../domain/user/index.ts"
import { isOneOf } from "../../kernel/secret.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { anchorOf } from "../token/anchor.ts"
import { readAssertion, spend, verifyAssertion } from "./assertion.ts"
import { type Attempt, attemptOf, type Credentials, type Method, methods } from "./attempt.ts"
import { isUsable, keyOf, methodsOf, onlyKeyOf, type Registered, registered } from "./registered.ts"

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
  said: { readonly clientId: string; readonly userId: string },
): boolean {
  if (client.kind === "application") return said.clientId === client.clientId
  return said.userId === client.userId && findClient(cx, said.clientId) === undefined
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
    throw new OAuthError("invalid_client", wanted, 401)
  }
  const client = await provenBy(cx, attempt)
  if (client) return client
  // RFC 6749 §5.2: unknown and unproven clients are told the same.
  throw new OAuthError("invalid_client", "client authentication failed", 401)
}

function provenBy(cx: Cx, attempt: Attempt) {
  if (attempt.method === "private_key_jwt") return byAssertion(cx, attempt)
  return attempt.method === "none" ? byName(cx, attempt) : bySecret(cx, attempt)
}

/** RFC 6749 §2.3: a public client only says who it is. */
function byName(cx: Cx, { method, clientId }: Attempt<"none">): AuthenticatedClient | undefined {
  const client = registered(cx, clientId)
  if (!client) return undefined
  return ifUsable(cx, client, { clientId, method, anchor: "" })
}

/** RFC 6749 §2.3.1: in the header or in the body; see `methodsOf`. */
function bySecret(
  cx: Cx,
  { method, clientId, secret }: Attempt<"client_secret_basic" | "client_secret_post">,
): AuthenticatedClient | undefined {
  const client = registered(cx, clientId)
  if (!knowsSecret(cx, client, secret) || !client) return undefined
  const anchor =
    client.kind === "service user" ? anchorOf("secret", client.state.secret?.id ?? "") : ""
  return ifUsable(cx, client, { clientId, method, anchor })
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
): Promise<AuthenticatedClient | undefined> {
  const read = await readAssertion(assertion)
  if (!read) return undefined
  const { issuer: clientId } = read
  const client = registered(cx, clientId)
  const keyId = read.keyId ?? (client ? onlyKeyOf(cx, client) : "")
  const key = keyOf(cx, client && methodsOf(client).includes(method) ? client : undefined, keyId)
  const proven = await verifyAssertion(cx, assertion, { key, as: "client" })
  // RFC 7521 §4.2: a client_id beside it must name the same client.
  if (!client || !proven || (named !== undefined && named !== clientId)) return undefined
  const found = ifUsable(cx, client, { clientId, method, anchor: anchorOf("key", keyId) })
  return found && (await spend(cx, proven)) ? found : undefined
}

type Shown = { readonly clientId: string; readonly method: Method; readonly anchor: string }

function ifUsable(
  cx: Cx,
  client: Registered,
  { clientId, method, anchor }: Shown,
): AuthenticatedClient | undefined {
  if (!methodsOf(client).includes(method) || !isUsable(cx, client, anchor)) return undefined
  if (client.kind === "application") return { ...client, clientId, method }
  const { kind, userId, state } = client
  return { kind, clientId, userId, anchor, accessTokenType: state.accessTokenType, method }
}
