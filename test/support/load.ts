import { createPrivateKey, randomUUID } from "node:crypto"
import { hash } from "@node-rs/argon2"
import { SignJWT } from "jose"
import type { ServiceKey } from "./latchkey.ts"

/** The request of a writer. Each states the server's expected state once it is acknowledged. */
export type WriteRequest =
  | { readonly kind: "user"; readonly id: string; readonly name: string }
  | { readonly kind: "rename"; readonly id: string; readonly name: string }
  | { readonly kind: "password"; readonly id: string; readonly password: string }
  | { readonly kind: "project"; readonly id: string; readonly name: string }
  | { readonly kind: "app"; readonly id: string; readonly projectId: string; readonly name: string }
  | { readonly kind: "token"; readonly assertion: string }
  /** The newest refresh token of a family. */
  | { readonly kind: "refresh"; readonly clientId: string; readonly token: string }

export type Reply = {
  readonly status: number
  readonly body: any
  /** The position of the request's last event; NaN if it wrote none, or does not return it. */
  readonly position: number
  readonly requestId: string
}

/** The requests, recorded before they were sent, and every response. */
export type Journal = { readonly sent: WriteRequest[]; readonly answers: Map<WriteRequest, Reply> }

export const newJournal = (): Journal => ({ sent: [], answers: new Map() })

export const isAcknowledged = ({ answers }: Journal, deed: WriteRequest): boolean =>
  answers.get(deed)?.status === 200

/** The access to a server that was set up, as the service account that owns it. */
export type Client = {
  readonly url: string
  readonly key: ServiceKey
  readonly token: string
  readonly orgId: string
  /**
   * The PHC string of `firstPassword` at argon2's lowest cost, because the client is not under
   * test.
   */
  readonly passwordHash: string
}

export const firstPassword = "Imported-pass-1"

export const cheapHash = (plain: string): Promise<string> =>
  hash(plain, { memoryCost: 64, timeCost: 1, parallelism: 1 })

/** Calls a v2 operation by Connect, such as "user.CreateUser". */
export async function call(client: Client, name: string, request: object): Promise<Reply> {
  const [room = "", method] = name.split(".")
  const service = { user: "User", org: "Organization" }[room] ?? capitalize(room)
  const path = `/core.${room}.v2.${service}Service/${method}`
  const headers = { "content-type": "application/json", authorization: `Bearer ${client.token}` }
  return sendRequest(`${client.url}${path}`, { headers, body: JSON.stringify(request) })
}

const capitalize = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`

/** Exchanges an assertion for an access token to the API. */
export const exchangeAssertion = (client: Client, assertion: string): Promise<Reply> =>
  sendRequest(`${client.url}/oauth/v2/token`, { body: assertionForm(assertion) })

export const assertionForm = (assertion: string): URLSearchParams =>
  new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    scope: "openid urn:core:iam:org:project:id:core:aud",
    assertion,
  })

/** RFC 6749 §6, by a public client. */
const refresh = (client: Client, deed: { readonly clientId: string; readonly token: string }) =>
  sendRequest(`${client.url}/oauth/v2/token`, {
    body: new URLSearchParams({
      grant_type: "refresh_token",
      client_id: deed.clientId,
      refresh_token: deed.token,
    }),
  })

async function sendRequest(url: string, init: RequestInit): Promise<Reply> {
  const response = await fetch(url, { method: "POST", ...init })
  const text = await response.text()
  return {
    status: response.status,
    body: text && JSON.parse(text),
    position: Number(response.headers.get("x-core-position") ?? "NaN"),
    requestId: response.headers.get("x-request-id") ?? "",
  }
}

/** An assertion that is accepted once, because it has a jti. */
export const createSingleUseAssertion = ({
  url,
  key,
}: Pick<Client, "url" | "key">): Promise<string> =>
  new SignJWT({})
    .setProtectedHeader({ alg: "RS256", kid: key.keyId })
    .setIssuer(key.userId)
    .setSubject(key.userId)
    .setAudience(url)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(createPrivateKey(key.key))

/** Sends the request, without recording it. */
export function sendWrite(client: Client, deed: WriteRequest): Promise<Reply> {
  const { orgId: organizationId, passwordHash } = client
  switch (deed.kind) {
    case "user":
      return call(client, "user.CreateUser", {
        organizationId,
        userId: deed.id,
        username: deed.name,
        human: {
          profile: { givenName: deed.name, familyName: "Load" },
          email: { email: `${deed.name}@example.com`, isVerified: true },
          hashedPassword: { hash: passwordHash },
        },
      })
    case "rename": {
      const human = { profile: { givenName: deed.name } }
      return call(client, "user.UpdateUser", { userId: deed.id, human })
    }
    case "password": {
      const newPassword = { password: deed.password }
      return call(client, "user.SetPassword", { userId: deed.id, newPassword })
    }
    case "project": {
      const { id: projectId, name } = deed
      return call(client, "project.CreateProject", { organizationId, projectId, name })
    }
    case "app":
      return call(client, "application.CreateApplication", {
        projectId: deed.projectId,
        applicationId: deed.id,
        name: deed.name,
        oidcConfiguration: { redirectUris: ["https://load.example.com/callback"] },
      })
    case "token":
      return exchangeAssertion(client, deed.assertion)
    case "refresh":
      return refresh(client, deed)
  }
}

export type Load = {
  /** Resolves when every writer has ended: stopped, or without a response. */
  readonly ended: Promise<unknown>
  readonly stop: () => void
}

export const writers = 8

/** The parameters of a group of writers. */
type LoadOptions = {
  /** A unique prefix for their names. */
  readonly name: string
  /** The client of `tokens`: each writer continues a family of its own, if there are any. */
  readonly clientId?: string
  readonly tokens?: readonly string[]
}

/** Writers that run until they are stopped, or get no response. */
export function startLoad(client: Client, journal: Journal, work: LoadOptions): Load {
  let stopped = false
  const { name, clientId = "", tokens = [] } = work
  const write = async (writer: number) => {
    let token = tokens[writer]
    for (let count = 0; !stopped; count++) {
      const isRefresh = token !== undefined && count % 10 === 9
      const deed: WriteRequest = isRefresh
        ? { kind: "refresh", clientId, token: token ?? "" }
        : await createWrite(client, `${name}-${writer}`, count)
      journal.sent.push(deed)
      const reply = await sendWrite(client, deed).catch(() => undefined)
      if (!reply) return
      journal.answers.set(deed, reply)
      if (isRefresh) token = String(reply.body.refresh_token)
    }
  }
  return {
    ended: Promise.all(Array.from({ length: writers }, (_, writer) => write(writer))),
    stop: () => {
      stopped = true
    },
  }
}

/**
 * Ten kinds of requests in turn, each on the writer's own resources; hashing is expensive and
 * therefore rare.
 */
async function createWrite(client: Client, writer: string, count: number): Promise<WriteRequest> {
  const first = count - (count % 10)
  const id = `${writer}-${count}`
  switch (count % 10) {
    case 1:
    case 5:
    case 8:
      return { kind: "rename", id: `${writer}-${first}`, name: `renamed-${id}` }
    case 2:
      return { kind: "project", id, name: `project-${id}` }
    case 3:
      return { kind: "app", id, projectId: `${writer}-${first + 2}`, name: `app-${id}` }
    case 6:
      return { kind: "token", assertion: await createSingleUseAssertion(client) }
    case 7:
      if (count % 40 !== 7) return { kind: "user", id, name: `user-${id}` }
      return { kind: "password", id: `${writer}-${first}`, password: `Changed-pass-${id}` }
    default:
      return { kind: "user", id, name: `user-${id}` }
  }
}
