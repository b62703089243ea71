import { readFileSync } from "node:fs"
import type { DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { SignJWT } from "jose"
import * as z from "zod/mini"
import { Fault, type Precondition } from "../kernel/fault.ts"
import type { Network } from "../runtime/network.ts"
import { isObject, listAt, textAt } from "./json.ts"

/** Calls an operation of a server, by Connect and JSON; `orgId` is the organisation it is about. */
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

/** The audience of tokens for our own interface. */
const scope = "openid urn:core:iam:org:project:id:core:aud"
const secondsMax = 30

type Server = {
  /** Its public address. */
  readonly url: string
  /** The key file of a service user, as it was downloaded. */
  readonly keyFile: string
}

/** Signs a service user in by its key (RFC 7523 §2.1), and answers an access token of theirs. */
export const accessToken = ({ url, keyFile: file }: Server, send: Network["send"]) =>
  tokenFor(asking(send), addressOf(url), keyIn(file))

/** Signs a service user in, and answers what calls as them. */
export async function apiClient(server: Server, send: Network["send"]): Promise<CallApi> {
  const base = addressOf(server.url)
  const ask = asking(send)
  const token = await accessToken(server, send)
  return async (method, request, orgId) => {
    const path = `${base}/${method.parent.typeName}/${method.name}`
    const { status, body } = await ask(path, {
      method: "POST",
      body: JSON.stringify(request),
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...(orgId !== undefined && { "x-core-orgid": orgId }),
      },
    })
    if (status === 200 && isObject(body)) return body
    const message = textAt(body, "message") || `answered ${status}`
    throw refusedError(`${method.name}: ${message}`, conditionsIn(body))
  }
}

/** What a Connect error lists that must be so first; `debug` is a detail in JSON. */
function conditionsIn(body: JsonValue | undefined): readonly Precondition[] {
  return listAt(body, "details")
    .filter((detail) => textAt(detail, "type") === "google.rpc.PreconditionFailure")
    .flatMap((detail) => listAt(detail, "debug.violations"))
    .map((violation) => ({
      type: textAt(violation, "type"),
      subject: textAt(violation, "subject"),
      description: textAt(violation, "description"),
    }))
}

/** A token travels with each call: in the clear to this machine only. */
function addressOf(url: string): string {
  if (!URL.canParse(url)) throw refusedError(`--server must be an address, not "${url}"`)
  const { protocol, hostname, origin } = new URL(url)
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$|\.localhost$/.test(hostname)
  if (protocol === "https:" || (protocol === "http:" && isHere)) return origin
  throw refusedError(
    `${url} is not https, and anybody on the way could read the token; use https, or run this on ` +
      "the machine itself with --server http://localhost:8080",
  )
}

function keyIn(file: string) {
  const todo = "make one with setup --service-key-file, or on the page of a service user"
  try {
    return keyFile.parse(JSON.parse(readFileSync(file, "utf8")))
  } catch (cause) {
    throw new Fault("invalid_argument", "apply.key", `${file} is no key file; ${todo}`, { cause })
  }
}

async function tokenFor(ask: Ask, base: string, key: z.output<typeof keyFile>): Promise<string> {
  const { createPrivateKey } = await import("node:crypto")
  const found = await ask(`${base}/.well-known/openid-configuration`, {})
  const assertion = await new SignJWT({})
    .setProtectedHeader({ alg: "RS256", kid: key.keyId })
    .setIssuer(key.userId)
    .setSubject(key.userId)
    .setAudience(textAt(found.body, "issuer"))
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(createPrivateKey(key.key))
  const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  const { body } = await ask(`${base}/oauth/v2/token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: grant, assertion, scope }),
  })
  const token = textAt(body, "access_token")
  if (token) return token
  throw refusedError(`${base} doesn't take the key: ${textAt(body, "error_description")}`)
}

type Told = { readonly status: number; readonly body: JsonValue | undefined }
type Ask = (url: string, init: RequestInit) => Promise<Told>

const asking =
  (send: Network["send"]): Ask =>
  async (url, init) => {
    const signal = AbortSignal.timeout(secondsMax * 1000)
    const response = await send(url, { ...init, redirect: "error", signal }).catch((cause) => {
      throw new Fault("unavailable", "apply.unreachable", `${url} can't be reached`, { cause })
    })
    const text = await response.text()
    try {
      return { status: response.status, body: JSON.parse(text) }
    } catch {
      // Whatever else answers there, a proxy for example, is told by its status.
      return { status: response.status, body: undefined }
    }
  }

const refusedError = (message: string, preconditions: readonly Precondition[] = []) =>
  new Fault("failed_precondition", "apply.refused", message, { preconditions })
