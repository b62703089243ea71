import { readFileSync } from "node:fs"
import type { DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { SignJWT } from "jose"
import * as z from "zod/mini"
import { Fault, type Precondition } from "../kernel/fault.ts"
import type { Network } from "../runtime/network.ts"
import { isObject, listAt, textAt } from "./json.ts"

/**
 * Calls an operation of a server over Connect with JSON. `orgId` is the organization of the call.
 */
export type CallApi = (
  method: DescMethod,
  request: JsonObject,
  orgId?: string | undefined,
) => Promise<JsonObject>

const keyFile = z.object({
  type: z.literal("serviceaccount"),
  keyId: z.string(),
  key: z.string(),
  userId: z.string(),
})

/** The scope for tokens of the Latchkey API. */
const scope = "openid urn:core:iam:org:project:id:core:aud"
const timeoutSeconds = 30

type ServerAccess = {
  /** The public URL of the server. */
  readonly url: string
  /** The path of the downloaded key file of a service account. */
  readonly keyFile: string
}

/** Signs in a service account with its key (RFC 7523 §2.1) and returns an access token. */
export const requestAccessToken = ({ url, keyFile: file }: ServerAccess, send: Network["send"]) =>
  requestToken(createSend(send), parseServerUrl(url), readKeyFile(file))

/** Signs in a service account and returns a function that calls the API with its token. */
export async function createApiClient(
  server: ServerAccess,
  send: Network["send"],
): Promise<CallApi> {
  const base = parseServerUrl(server.url)
  const sendJson = createSend(send)
  const token = await requestAccessToken(server, send)
  return async (method, request, orgId) => {
    const path = `${base}/${method.parent.typeName}/${method.name}`
    const { status, body } = await sendJson(path, {
      method: "POST",
      body: JSON.stringify(request),
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...(orgId !== undefined && { "x-core-orgid": orgId }),
      },
    })
    if (status === 200 && isObject(body)) return body
    const message = textAt(body, "message") || `the server returned ${status}`
    throw refusedError(`${method.name}: ${message}`, preconditionsIn(body))
  }
}

/** The preconditions listed in a Connect error; `debug` is a detail in JSON. */
function preconditionsIn(body: JsonValue | undefined): readonly Precondition[] {
  return listAt(body, "details")
    .filter((detail) => textAt(detail, "type") === "google.rpc.PreconditionFailure")
    .flatMap((detail) => listAt(detail, "debug.violations"))
    .map((violation) => ({
      type: textAt(violation, "type"),
      subject: textAt(violation, "subject"),
      description: textAt(violation, "description"),
    }))
}

/** Each call contains a token, so unencrypted connections are accepted only to this machine. */
function parseServerUrl(url: string): string {
  if (!URL.canParse(url)) throw refusedError(`--server must be a URL, not "${url}"`)
  const { protocol, hostname, origin } = new URL(url)
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$|\.localhost$/.test(hostname)
  if (protocol === "https:" || (protocol === "http:" && isHere)) return origin
  throw refusedError(
    `${url} does not use https, so the token could be intercepted; use https, or run this ` +
      "command on the server with --server http://localhost:8080",
  )
}

function readKeyFile(file: string) {
  const todo = "create one with setup --service-key-file, or on the page of a service account"
  try {
    return keyFile.parse(JSON.parse(readFileSync(file, "utf8")))
  } catch (cause) {
    throw new Fault("invalid_argument", "apply.key", `${file} is not a valid key file; ${todo}`, {
      cause,
    })
  }
}

async function requestToken(
  sendJson: SendJson,
  base: string,
  key: z.output<typeof keyFile>,
): Promise<string> {
  const { createPrivateKey } = await import("node:crypto")
  const found = await sendJson(`${base}/.well-known/openid-configuration`, {})
  const assertion = await new SignJWT({})
    .setProtectedHeader({ alg: "RS256", kid: key.keyId })
    .setIssuer(key.userId)
    .setSubject(key.userId)
    .setAudience(textAt(found.body, "issuer"))
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(createPrivateKey(key.key))
  const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  const { body } = await sendJson(`${base}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: grant, assertion, scope }),
  })
  const token = textAt(body, "access_token")
  if (token) return token
  throw refusedError(`${base} rejected the key: ${textAt(body, "error_description")}`)
}

type HttpResult = { readonly status: number; readonly body: JsonValue | undefined }
type SendJson = (url: string, init: RequestInit) => Promise<HttpResult>

const createSend =
  (send: Network["send"]): SendJson =>
  async (url, init) => {
    const signal = AbortSignal.timeout(timeoutSeconds * 1000)
    const response = await send(url, { ...init, redirect: "error", signal }).catch((cause) => {
      throw new Fault("unavailable", "apply.unreachable", `${url} is not reachable`, { cause })
    })
    const text = await response.text()
    try {
      return { status: response.status, body: JSON.parse(text) }
    } catch {
      // The response is not from Latchkey, for example from a proxy; its status describes the
      // problem.
      return { status: response.status, body: undefined }
    }
  }

const refusedError = (message: string, preconditions: readonly Precondition[] = []) =>
  new Fault("failed_precondition", "apply.refused", message, { preconditions })
