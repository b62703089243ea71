import { OAuthError } from "../error.ts"
import type { Parameters } from "../parameters.ts"

/** Client authentication methods (OpenID Connect Core §9); also in the discovery document. */
export const clientAuthMethods = [
  "client_secret_basic",
  "client_secret_post",
  "none",
  "private_key_jwt",
] as const
export type ClientAuthMethod = (typeof clientAuthMethods)[number]

/** The parts of a request that authenticate its client. */
export type CredentialSource = {
  readonly parameters: Parameters
  /** The Authorization header. */
  readonly authorization: string | null
}

type AnyClientCredentials =
  | {
      readonly method: "client_secret_basic" | "client_secret_post"
      readonly clientId: string
      readonly secret: string
    }
  | { readonly method: "none"; readonly clientId: string }
  | {
      readonly method: "private_key_jwt"
      readonly clientId: string | undefined
      readonly assertion: string
    }

/** The claimed client of a request and its credentials; not verified yet. */
export type ClientCredentials<Of extends ClientAuthMethod = ClientAuthMethod> = Extract<
  AnyClientCredentials,
  { readonly method: Of }
>

/** Parses the credentials of a request, which must use one method. */
export function parseClientCredentials({
  parameters,
  authorization,
}: CredentialSource): AnyClientCredentials {
  const clientId = parameters.get("client_id")
  const secret = parameters.get("client_secret")
  const assertion = assertionOf(parameters)
  // RFC 6749 §2.3: a request uses only one method.
  const isOneWay = [authorization ?? undefined, secret, assertion].filter(isPresent).length < 2
  if (!isOneWay) throw multipleMethodsError()
  if (authorization !== null) {
    const basic = parseBasic(authorization)
    if (!basic) throw invalidClientError(basicFormatMessage)
    if (clientId !== undefined && clientId !== basic.clientId) throw multipleMethodsError()
    return { method: "client_secret_basic", ...basic }
  }
  if (assertion !== undefined) return { method: "private_key_jwt", clientId, assertion }
  if (clientId === undefined)
    throw invalidClientError(
      "client authentication is required: the request does not identify its client",
    )
  return secret === undefined
    ? { method: "none", clientId }
    : { method: "client_secret_post", clientId, secret }
}

/** Whether a request contains client credentials, valid or not. */
export const hasCredentials = ({ parameters, authorization }: CredentialSource): boolean =>
  authorization !== null ||
  ["client_secret", "client_assertion", "client_assertion_type"].some((name) =>
    parameters.has(name),
  )

const isPresent = (value: string | undefined): boolean => value !== undefined

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/** RFC 7521 §4.2: an assertion requires its type. */
function assertionOf(parameters: Parameters): string | undefined {
  const assertion = parameters.get("client_assertion")
  const type = parameters.get("client_assertion_type")
  if (assertion === undefined && type === undefined) return undefined
  if (assertion === undefined || type === undefined) {
    const message = "client_assertion and client_assertion_type must be used together"
    throw new OAuthError("invalid_request", message)
  }
  // RFC 7523 §2.2.
  if (type !== assertionType)
    throw invalidClientError(`client_assertion_type must be ${assertionType}`)
  return assertion
}

/**
 * RFC 6749 §2.3.1: both parts are form-urlencoded before they are joined; undefined if they are
 * not.
 */
export function parseBasic(authorization: string) {
  const [, encoded = ""] = /^basic +([\w+/=-]+)$/i.exec(authorization) ?? []
  const plain = Buffer.from(encoded, "base64").toString()
  const colon = plain.indexOf(":")
  const clientId = decodeForm(plain.slice(0, colon))
  const secret = decodeForm(plain.slice(colon + 1))
  return colon > 0 && clientId && secret !== undefined ? { clientId, secret } : undefined
}

const basicFormatMessage =
  "the Authorization header must be Basic, with form-urlencoded client ID and secret"

/** Undefined for an invalid encoding, which is the client's error. */
function decodeForm(text: string): string | undefined {
  // Most values contain nothing to decode, and every token request waits for this.
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

const multipleMethodsError = () =>
  new OAuthError("invalid_request", "the client must use only one authentication method")

/** RFC 6749 §5.2. */
const invalidClientError = (description: string) =>
  new OAuthError("invalid_client", description, { status: 401 })
