import {
  type Client,
  findApiByResource,
  findClient,
  registerApplication,
  updateRegistration,
} from "../../domain/app/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { findingWithoutValue } from "../../domain/refusal/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { type Cx, cacheQuery } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { findString, type Members, metadataError, parseMembers } from "./json-member.ts"
import { parseMetadata } from "./metadata.ts"

/**
 * draft-ietf-oauth-client-id-metadata-document §3: whether a client ID is the URL of a client
 * metadata document: an https URL with a path, normalized, no longer than any client ID.
 */
export function isMetadataDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith("https://") || clientId.length > lengthMax) return false
  const url = URL.parse(clientId)
  const { username, password, hash, pathname } = url ?? {}
  return url?.href === clientId && !username && !password && !hash && pathname !== "/"
}

const lengthMax = 200

/**
 * §4: loads the client metadata document of a client ID, if the instance allows such clients, and
 * stores it like a registration. The outgoing request counts toward the rate limit of the sender.
 * No-op for other client IDs.
 */
export async function loadMetadataDocument(cx: Cx, clientId: string): Promise<void> {
  if (!isMetadataDocumentUrl(clientId)) return
  if (requireInstance(cx).oidc.registration.metadataDocuments !== true) {
    if (findClient(cx, clientId)) throw unusableDocumentError()
    return
  }
  const existing = expiryByClient(cx)
  if (cx.clock.now() < (existing.get(clientId) ?? 0) && findClient(cx, clientId)) return
  cx.allowance?.spend("registration")
  const { members, seconds } = await fetchDocument(cx, clientId)
  await storeClient(cx, clientId, members)
  if (existing.size >= expiryByClientMax) existing.clear()
  existing.set(clientId, cx.clock.now() + seconds * 1000)
}

/** When each cached document expires, ms UTC; cleared when a setting changes. */
const expiryByClient = cacheQuery(() => new Map<string, number>(), ["instance"])
const expiryByClientMax = 10_000

type FetchedDocument = { readonly members: Members; readonly seconds: number }

/** §6.6: documents are not larger. */
const sizeMax = 10_240

async function fetchDocument(cx: Cx, url: string): Promise<FetchedDocument> {
  const response = await fetchResponse(cx, url)
  // §4: every status other than 200 is an error, including redirects.
  if (response?.status !== 200) throw unusableDocumentError()
  const members = parseMembers(response.body)
  if (!members) throw unusableDocumentError()
  return { members, seconds: lifetimeOf(response.cacheControl) }
}

/** The reason is not reported, because it would reveal what this machine can reach. */
async function fetchResponse(cx: Cx, url: string) {
  try {
    const headers = { accept: "application/json" }
    return await cx.outside.send({ url, method: "GET", headers, sizeMax })
  } catch (cause) {
    if (cause instanceof Error) return undefined
    throw cause
  }
}

async function storeClient(cx: Cx, clientId: string, members: Members): Promise<void> {
  const existing = findClient(cx, clientId)
  if (existing) return updateClient(cx, existing, members)
  // An API with this resource URI would accept tokens of this client.
  if (findApiByResource(cx, clientId) !== undefined) throw unusableDocumentError()
  const metadata = parseMetadata(cx, validateDocument(members, clientId))
  try {
    await registerApplication(cx, metadata, clientId)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    // A concurrent request has already stored it.
    if (findClient(cx, clientId)) return
    if (cause.id === "app.client_id_taken") throw unusableDocumentError()
    throw cause
  }
}

async function updateClient(cx: Cx, { appId, state }: Client, members: Members): Promise<void> {
  if (state.kind !== "oidc" || !state.registration) throw unusableDocumentError()
  const metadata = parseMetadata(cx, validateDocument(members, state.clientId), state.oidc)
  await updateRegistration(cx, appId, metadata)
}

/** §4.1: the document must contain its own URL, and no shared secret. */
function validateDocument(members: Members, url: string): Members {
  if (findString(members, "client_id") !== url) {
    throw metadataError("client_id", "must be the URL of the document")
  }
  const name = "token_endpoint_auth_method"
  const method = findString(members, name) ?? "none"
  if (method !== "none" && method !== "private_key_jwt") {
    throw metadataError(name, "must be one of: none, private_key_jwt; anyone can read the document")
  }
  if (members.client_secret !== undefined || members.client_secret_expires_at !== undefined) {
    throw metadataError("client_secret", "must be omitted: anyone can read the document")
  }
  return { ...members, [name]: method }
}

const minute = 60
const secondsMin = 5 * minute
const secondsDefault = 60 * minute
const secondsMax = 24 * 60 * minute

/** §4.3: the cache lifetime of the HTTP response (RFC 9111 §5.2.2), within limits. */
function lifetimeOf(cacheControl = ""): number {
  if (/(^|[\s,])no-(store|cache)\b/i.test(cacheControl)) return secondsMin
  const [, said] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl) ?? []
  const seconds = said === undefined ? secondsDefault : Number(said)
  return Math.min(Math.max(seconds, secondsMin), secondsMax)
}

const unusableDocumentError = () =>
  new OAuthError("invalid_client_metadata", "the document at client_id can't be used", {
    finding: findingWithoutValue("client_id", "client.document"),
  })
