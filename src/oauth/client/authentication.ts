import { type Client, findClient, isAppActive, isSecret } from "../../domain/app/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import type { Parameters } from "../request.ts"

/** How a client proved who it is. */
export type Method = Proof["method"]

/** A client whose claim to be one was checked. */
export type AuthenticatedClient =
  | (Client & {
      readonly kind: "application"
      readonly clientId: string
      readonly method: Method
    })
  | {
      readonly kind: "service user"
      /** The user name. */
      readonly clientId: string
      readonly userId: string
      /** What its tokens hang from: the secret or the key that it came with. */
      readonly anchor: string
      readonly method: Method
    }

/** An application that was authenticated. */
export type AuthenticatedApp = Extract<AuthenticatedClient, { kind: "application" }>

/** Refuses service users where only an application makes sense. */
export function applicationOf(client: AuthenticatedClient): AuthenticatedApp {
  if (client.kind === "application") return client
  throw new OAuthError("unauthorized_client", "a service user can't use this grant")
}

/** What a request brings to prove its client with. */
export type Credentials = {
  readonly parameters: Parameters
  /** The header of that name. */
  readonly authorization: string | null
}

/**
 * Authenticates the client of a request to the token endpoint and its like, by the one method that
 * the request uses. Refuses unknown clients, switched-off ones, and any method but theirs.
 */
export async function authenticateClient(
  cx: Cx,
  { parameters, authorization }: Credentials,
): Promise<AuthenticatedClient> {
  const proof = proofOf(parameters, authorization)
  const { clientId, method } = proof
  const client = findClient(cx, clientId)
  if (!client || !isProven(cx, client, proof) || !isAppActive(cx, client.appId)) throw refused()
  return { kind: "application", ...client, clientId, method }
}

type Proof =
  | { readonly method: "secret"; readonly clientId: string; readonly secret: string }
  | { readonly method: "none"; readonly clientId: string }

/** RFC 6749 §2.3: a request uses one method only. */
function proofOf(parameters: Parameters, authorization: string | null): Proof {
  const clientId = parameters.get("client_id")
  const secret = parameters.get("client_secret")
  if (parameters.has("client_assertion")) {
    throw new OAuthError("invalid_client", "no key is registered for this client", 401)
  }
  if (authorization !== null) {
    const basic = basicOf(authorization)
    if (!basic) throw refused()
    if (secret !== undefined || (clientId !== undefined && clientId !== basic.clientId)) {
      throw new OAuthError("invalid_request", "the client must authenticate in one way only")
    }
    return { method: "secret", ...basic }
  }
  if (clientId === undefined) throw refused()
  return secret === undefined
    ? { method: "none", clientId }
    : { method: "secret", clientId, secret }
}

/** RFC 6749 §2.3.1: both parts are form-urlencoded before they are joined. */
function basicOf(authorization: string) {
  const [, encoded = ""] = /^basic +([\w+/=-]+)$/i.exec(authorization) ?? []
  const plain = Buffer.from(encoded, "base64").toString()
  const colon = plain.indexOf(":")
  const clientId = formDecoded(plain.slice(0, colon))
  const secret = formDecoded(plain.slice(colon + 1))
  return colon > 0 && clientId && secret !== undefined ? { clientId, secret } : undefined
}

/** Undefined for what is no encoding; a client sent it, so that is no accident. */
function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

/** A secret proves its client wherever it stands, in the header or in the body. */
function isProven(cx: Cx, { appId, state }: Client, proof: Proof): boolean {
  if (proof.method === "secret") return isSecret(cx, appId, { state, secret: proof.secret })
  return state.kind === "oidc" && state.oidc.authMethod === "none"
}

/** RFC 6749 §5.2: unknown and unproven clients are told the same. */
const refused = () => new OAuthError("invalid_client", "client authentication failed", 401)
