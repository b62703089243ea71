import { type Client, findClient, isValidSecret } from "../../domain/app/index.ts"
import {
  type Finding,
  type FindingSource,
  findingWithoutValue,
  likelyCauseOf,
} from "../../domain/refusal/index.ts"
import { isMachineSecret } from "../../domain/service-account/index.ts"
import type { AccessTokenType } from "../../domain/user-model/index.ts"
import { matchesAny } from "../../kernel/crypto/secret.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { credentialParent } from "../token/token-parent.ts"
import {
  audienceNames,
  isKeyValid,
  parseAssertion,
  recordAssertionUse,
  verifyAssertion,
} from "./assertion.ts"
import {
  type ClientAuthMethod,
  type ClientCredentials,
  type CredentialSource,
  clientAuthMethods,
  parseClientCredentials,
} from "./credentials.ts"
import { compareClaims, findingsInJwt } from "./jwt.ts"
import {
  findOnlyKeyId,
  findPublicKey,
  findRegisteredClient,
  isClientActive,
  methodsOf,
  type RegisteredClient,
  unusableFindings,
} from "./registered-client.ts"

export { assertionAlgorithms } from "./assertion.ts"
export {
  type ClientAuthMethod,
  type CredentialSource,
  clientAuthMethods,
  hasCredentials,
} from "./credentials.ts"

/** A client that was authenticated. */
export type AuthenticatedClient =
  | (Client & {
      readonly kind: "application"
      readonly clientId: string
      readonly method: ClientAuthMethod
    })
  | {
      readonly kind: "service user"
      /** As the client sent it: the user name, or the user ID. */
      readonly clientId: string
      readonly userId: string
      /** What its tokens depend on: the secret or key that it authenticated with. */
      readonly anchor: string
      readonly accessTokenType: AccessTokenType
      readonly method: ClientAuthMethod
    }

/** An authenticated application. */
export type AuthenticatedApp = Extract<AuthenticatedClient, { kind: "application" }>

/** Rejects service accounts for operations that require an application. */
export function requireApplication(client: AuthenticatedClient): AuthenticatedApp {
  if (client.kind === "application") return client
  throw new OAuthError("unauthorized_client", "a service account can't use this grant")
}

/**
 * RFC 7009 §2.1: whether a token was issued to this client. Tokens of a service account are always
 * for itself, whichever name it used; an application may have a token that is for the service
 * account.
 */
export function isOwnToken(
  cx: Cx,
  client: AuthenticatedClient,
  claims: { readonly clientId: string; readonly userId: string },
): boolean {
  if (client.kind === "application") return claims.clientId === client.clientId
  return claims.userId === client.userId && findClient(cx, claims.clientId) === undefined
}

/** Client authentication methods of the introspection endpoint; also in the discovery document. */
export const introspectionMethods = ["client_secret_basic", "private_key_jwt"] as const

/**
 * Authenticates the client of a request with the one method that the request uses, if the endpoint
 * `accepts` it. Unknown clients, deactivated clients and other methods are rejected with the same
 * message.
 */
export async function authenticateClient(
  cx: Cx,
  credentials: CredentialSource,
  accepts: readonly ClientAuthMethod[] = clientAuthMethods,
): Promise<AuthenticatedClient> {
  const clientCredentials = parseClientCredentials(credentials)
  if (!accepts.includes(clientCredentials.method)) {
    const message = `this endpoint only accepts ${accepts.join(", ")}`
    const finding = {
      subject: "client authentication",
      received: clientCredentials.method,
      expected: accepts,
      ...likelyCauseOf("client authentication", "proof.endpoint"),
    }
    throw new OAuthError("invalid_client", message, { status: 401, finding })
  }
  const client = await verifyCredentials(cx, clientCredentials)
  if (client.kind !== "unproven") return client
  // RFC 6749 §5.2: the same error for unknown and unauthenticated clients.
  const { finding, whose: visibleTo } = client
  throw new OAuthError("invalid_client", "client authentication failed", {
    status: 401,
    finding,
    visibleTo,
  })
}

/** A client that failed to authenticate, and why; only its own owner can see the reason. */
type FailedAuthentication = {
  readonly kind: "unproven"
  readonly finding: FindingSource
  readonly whose: string
}

const failedAuthentication = (visibleTo: string, finding: FindingSource): FailedAuthentication => ({
  kind: "unproven",
  finding,
  whose: visibleTo,
})

function verifyCredentials(cx: Cx, clientCredentials: ClientCredentials) {
  if (clientCredentials.method === "private_key_jwt")
    return authenticateByAssertion(cx, clientCredentials)
  return clientCredentials.method === "none"
    ? authenticateByName(cx, clientCredentials)
    : authenticateBySecret(cx, clientCredentials)
}

/** RFC 6749 §2.3: a public client only identifies itself. */
function authenticateByName(
  cx: Cx,
  { method, clientId }: ClientCredentials<"none">,
): AuthenticatedClient | FailedAuthentication {
  const client = findRegisteredClient(cx, clientId)
  return checkRegistered(cx, client, { clientId, method, anchor: "", isValid: true })
}

/** RFC 6749 §2.3.1: in the header or in the body; see `methodsOf`. */
function authenticateBySecret(
  cx: Cx,
  { method, clientId, secret }: ClientCredentials<"client_secret_basic" | "client_secret_post">,
): AuthenticatedClient | FailedAuthentication {
  const client = findRegisteredClient(cx, clientId)
  const isValid = hasValidSecret(cx, client, secret)
  const isMachine = client?.kind === "service user"
  const id = isMachine ? (client.state.secret?.id ?? "") : ""
  const anchor = isMachine ? credentialParent(cx, "secret", { userId: client.userId, id }) : ""
  return checkRegistered(cx, client, { clientId, method, anchor, isValid })
}

/** Takes the same time for a client that does not exist or has no secret. */
function hasValidSecret(cx: Cx, client: RegisteredClient | undefined, secret: string): boolean {
  if (!client) return matchesAny(cx.secrets, [], { plain: secret, about: "client_secret/" })
  return client.kind === "application"
    ? isValidSecret(cx, client.appId, { state: client.state, secret })
    : isMachineSecret(cx, client.userId, { state: client.state, secret })
}

/**
 * RFC 7523 §2.2: an assertion signed with a key of the client. Issuer and subject are the client
 * ID; for a service account its name, or the ID in its key file.
 */
async function authenticateByAssertion(
  cx: Cx,
  { method, clientId: clientIdParameter, assertion }: ClientCredentials<"private_key_jwt">,
): Promise<AuthenticatedClient | FailedAuthentication> {
  const read = parseAssertion(assertion)
  if (!read)
    return failedAuthentication(
      clientIdParameter ?? "",
      findingWithoutValue("client_assertion", "assertion.no_jwt"),
    )
  const { issuer: clientId } = read
  const client = findRegisteredClient(cx, clientId)
  const keyId = read.keyId ?? (client ? findOnlyKeyId(cx, client) : "")
  const key = findPublicKey(
    cx,
    client && methodsOf(client).includes(method) ? client : undefined,
    keyId,
  )
  const checked = await verifyAssertion(cx, assertion, { key, as: "client" })
  // RFC 7521 §4.2: a client_id parameter must match.
  if (clientIdParameter !== undefined && clientIdParameter !== clientId) {
    return failedAuthentication(clientIdParameter, {
      subject: "iss",
      received: clientId,
      expected: [clientIdParameter],
    })
  }
  const missingKey = client?.kind === "application" ? "assertion.app_key" : "assertion.key"
  const missingKeyCause = isKeyValid(cx, key) ? undefined : missingKey
  const message = {
    iss: clientId,
    sub: clientId,
    audience: audienceNames(cx),
    missingKeyCause,
  } as const
  const claims = () =>
    findingsInJwt(assertion, {
      subject: "client_assertion",
      compare: (claims) => compareClaims(cx, claims, message),
    })
  const userId = client?.kind === "service user" ? client.userId : ""
  const credentialCheck = {
    clientId,
    method,
    anchor: credentialParent(cx, "key", { userId, id: keyId }),
  }
  const found = checkRegistered(cx, client, {
    ...credentialCheck,
    isValid: checked !== undefined,
    claims,
  })
  if (found.kind === "unproven" || !checked || (await recordAssertionUse(cx, checked))) return found
  return checkRegistered(cx, client, { ...credentialCheck, isValid: false })
}

type CredentialCheck = {
  readonly clientId: string
  readonly method: ClientAuthMethod
  readonly anchor: string
  /** Whether the secret or assertion is valid; true if the method requires none. */
  readonly isValid: boolean
  /** The findings in an invalid assertion. */
  readonly claims?: () => readonly Finding[]
}

function checkRegistered(
  cx: Cx,
  client: RegisteredClient | undefined,
  credentialCheck: CredentialCheck,
): AuthenticatedClient | FailedAuthentication {
  const { clientId, method, anchor, isValid, claims } = credentialCheck
  const isUsed = client && methodsOf(client).includes(method)
  if (!client || !isUsed || !isValid || !isClientActive(cx, client, anchor)) {
    return failedAuthentication(clientId, () => {
      const unusable = unusableFindings(cx, clientId)
      if (!client || unusable.length > 0) return unusable
      const proof = methodFinding(client, method)
      return isUsed ? [proof, ...(claims?.() ?? [])] : [proof]
    })
  }
  if (client.kind === "application") return { ...client, clientId, method }
  const { kind, userId, state } = client
  return { kind, clientId, userId, anchor, accessTokenType: state.accessTokenType, method }
}

/** Each client must use its registered method; the finding never contains a secret. */
function methodFinding(client: RegisteredClient, received: ClientAuthMethod): Finding {
  const subject = "client authentication"
  const expected = methodsOf(client)
  const right = received === "private_key_jwt" ? "proof.assertion" : "proof.secret"
  const own = expected.includes(received) ? right : "proof.method"
  const cause = client.kind === "service user" ? "proof.service_user" : own
  return { subject, received, expected, ...likelyCauseOf(subject, cause) }
}
