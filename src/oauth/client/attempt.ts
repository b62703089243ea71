import { OAuthError } from "../error.ts"
import type { Parameters } from "../request.ts"

/** How a client may prove who it is (OpenID Connect Core §9); discovery names them. */
export const methods = [
  "client_secret_basic",
  "client_secret_post",
  "none",
  "private_key_jwt",
] as const
export type Method = (typeof methods)[number]

/** What a request brings to prove its client with. */
export type Credentials = {
  readonly parameters: Parameters
  /** The header of that name. */
  readonly authorization: string | null
}

type AnyAttempt =
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

/** What a request says of its client, and what it brings to prove it; nothing is checked yet. */
export type Attempt<Of extends Method = Method> = Extract<AnyAttempt, { readonly method: Of }>

/** Reads the one way in which a request authenticates its client. */
export function attemptOf({ parameters, authorization }: Credentials): AnyAttempt {
  const clientId = parameters.get("client_id")
  const secret = parameters.get("client_secret")
  const assertion = assertionOf(parameters)
  // RFC 6749 §2.3: a request uses one method only.
  const isOneWay = [authorization ?? undefined, secret, assertion].filter(isGiven).length < 2
  if (!isOneWay) throw twoWaysError()
  if (authorization !== null) {
    const basic = basicIn(authorization)
    if (!basic) throw unreadableError(notBasic)
    if (clientId !== undefined && clientId !== basic.clientId) throw twoWaysError()
    return { method: "client_secret_basic", ...basic }
  }
  if (assertion !== undefined) return { method: "private_key_jwt", clientId, assertion }
  if (clientId === undefined)
    throw unreadableError("the request does not say which client it is from")
  return secret === undefined
    ? { method: "none", clientId }
    : { method: "client_secret_post", clientId, secret }
}

/** Whether a request brings anything to prove its client with, be it right or not. */
export const bringsProof = ({ parameters, authorization }: Credentials): boolean =>
  authorization !== null ||
  ["client_secret", "client_assertion", "client_assertion_type"].some((name) =>
    parameters.has(name),
  )

const isGiven = (value: string | undefined): boolean => value !== undefined

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/** RFC 7521 §4.2: an assertion comes with its type. */
function assertionOf(parameters: Parameters): string | undefined {
  const assertion = parameters.get("client_assertion")
  const type = parameters.get("client_assertion_type")
  if (assertion === undefined && type === undefined) return undefined
  if (assertion === undefined || type === undefined) {
    const wanted = "client_assertion and client_assertion_type belong together"
    throw new OAuthError("invalid_request", wanted)
  }
  // RFC 7523 §2.2.
  if (type !== assertionType)
    throw unreadableError(`client_assertion_type must be ${assertionType}`)
  return assertion
}

/** RFC 6749 §2.3.1: both parts are form-urlencoded before they are joined; undefined for others. */
export function basicIn(authorization: string) {
  const [, encoded = ""] = /^basic +([\w+/=-]+)$/i.exec(authorization) ?? []
  const plain = Buffer.from(encoded, "base64").toString()
  const colon = plain.indexOf(":")
  const clientId = formDecoded(plain.slice(0, colon))
  const secret = formDecoded(plain.slice(colon + 1))
  return colon > 0 && clientId && secret !== undefined ? { clientId, secret } : undefined
}

const notBasic = "the Authorization header must be Basic, with client id and secret form-urlencoded"

/** Undefined for what is no encoding; a client sent it, so that is no accident. */
function formDecoded(text: string): string | undefined {
  // Most have nothing to decode, and every token waits for this.
  if (!/[%+]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

const twoWaysError = () =>
  new OAuthError("invalid_request", "the client must authenticate in one way only")

/** RFC 6749 §5.2. */
const unreadableError = (why: string) => new OAuthError("invalid_client", why, { status: 401 })
