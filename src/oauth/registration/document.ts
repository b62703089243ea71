import {
  apiAt,
  type Client,
  changeRegistration,
  findClient,
  registerApplication,
} from "../../domain/app/index.ts"
import { requireInstance } from "../../domain/instance/index.ts"
import { about } from "../../domain/refusal/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { type Cx, cached } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { type Members, membersOf, metadataError, textIn } from "./member.ts"
import { metadataOf } from "./metadata.ts"

/**
 * draft-ietf-oauth-client-id-metadata-document §3: whether a client id is the address of a document
 * that says what the client is. By https, at a path, in the one spelling that a browser would show;
 * no longer than any client id.
 */
export function isDocument(clientId: string): boolean {
  if (!clientId.startsWith("https://") || clientId.length > lengthMax) return false
  const url = URL.parse(clientId)
  const { username, password, hash, pathname } = url ?? {}
  return url?.href === clientId && !username && !password && !hash && pathname !== "/"
}

const lengthMax = 200

/**
 * §4: reads what the document at a client id says, where the instance lets clients be such, and
 * keeps it like a registration. Whoever asks for a client that is not fresh in mind pays for the
 * request that goes out. Does nothing for every other client id.
 */
export async function knowDocument(cx: Cx, clientId: string): Promise<void> {
  if (!isDocument(clientId)) return
  if (requireInstance(cx).oidc.registration.metadataDocuments !== true) {
    if (findClient(cx, clientId)) throw unreadError()
    return
  }
  const known = fresh(cx)
  if (cx.clock.now() < (known.get(clientId) ?? 0) && findClient(cx, clientId)) return
  cx.allowance?.spend("registration")
  const { members, seconds } = await fetched(cx, clientId)
  await keep(cx, clientId, members)
  if (known.size >= freshMax) known.clear()
  known.set(clientId, cx.clock.now() + seconds * 1000)
}

/** Until when what is kept of a document is good, ms UTC; forgotten when a setting changes. */
const fresh = cached(() => new Map<string, number>(), ["instance"])
const freshMax = 10_000

type Read = { readonly members: Members; readonly seconds: number }

/** §6.6: no answer of a client has to be larger. */
const sizeMax = 10_240

async function fetched(cx: Cx, url: string): Promise<Read> {
  const reply = await replyFrom(cx, url)
  // §4: anything but 200 is a failure, a redirect, too.
  if (reply?.status !== 200) throw unreadError()
  const members = membersOf(reply.body)
  if (!members) throw unreadError()
  return { members, seconds: lifetimeOf(reply.cacheControl) }
}

/** Why nothing came is not told: who asks would learn what this machine can reach. */
async function replyFrom(cx: Cx, url: string) {
  try {
    const headers = { accept: "application/json" }
    return await cx.outside.send({ url, method: "GET", headers, sizeMax })
  } catch (cause) {
    if (cause instanceof Error) return undefined
    throw cause
  }
}

async function keep(cx: Cx, clientId: string, members: Members): Promise<void> {
  const known = findClient(cx, clientId)
  if (known) return change(cx, known, members)
  // An address in an audience stands for one thing: the API at it would take this client's tokens.
  if (apiAt(cx, clientId) !== undefined) throw unreadError()
  const metadata = metadataOf(cx, documented(members, clientId))
  try {
    await registerApplication(cx, metadata, clientId)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    // Somebody else's request has read it, too.
    if (findClient(cx, clientId)) return
    if (cause.id === "app.client_id_taken") throw unreadError()
    throw cause
  }
}

async function change(cx: Cx, { appId, state }: Client, members: Members): Promise<void> {
  if (state.kind !== "oidc" || !state.registration) throw unreadError()
  const metadata = metadataOf(cx, documented(members, state.clientId), state.oidc)
  await changeRegistration(cx, appId, metadata)
}

/** §4.1: it says its own address, and nothing that only two can share. */
function documented(members: Members, url: string): Members {
  if (textIn(members, "client_id") !== url) {
    throw metadataError("client_id", "must be the address of the document")
  }
  const name = "token_endpoint_auth_method"
  const method = textIn(members, name) ?? "none"
  if (method !== "none" && method !== "private_key_jwt") {
    throw metadataError(name, "must be none or private_key_jwt: everybody can read the document")
  }
  if (members.client_secret !== undefined || members.client_secret_expires_at !== undefined) {
    throw metadataError("client_secret", "must not be there: everybody can read the document")
  }
  return { ...members, [name]: method }
}

const minute = 60
const secondsMin = 5 * minute
const secondsUsual = 60 * minute
const secondsMax = 24 * 60 * minute

/** §4.3: as long as its server says (RFC 9111 §5.2.2), within bounds of ours. */
function lifetimeOf(cacheControl = ""): number {
  if (/(^|[\s,])no-(store|cache)\b/i.test(cacheControl)) return secondsMin
  const [, said] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl) ?? []
  const seconds = said === undefined ? secondsUsual : Number(said)
  return Math.min(Math.max(seconds, secondsMin), secondsMax)
}

const unreadError = () =>
  new OAuthError("invalid_client_metadata", "the document at client_id can't be used", {
    finding: about("client_id", "client.document"),
  })
