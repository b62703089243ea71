import { createPrivateKey, randomUUID } from "node:crypto"
import { hash } from "@node-rs/argon2"
import { SignJWT } from "jose"
import type { ServiceKey } from "./latchkey.ts"

/** What a writer asks for. All of it says how the server must look once it is acknowledged. */
export type Deed =
  | { readonly kind: "user"; readonly id: string; readonly name: string }
  | { readonly kind: "rename"; readonly id: string; readonly name: string }
  | { readonly kind: "password"; readonly id: string; readonly password: string }
  | { readonly kind: "project"; readonly id: string; readonly name: string }
  | { readonly kind: "app"; readonly id: string; readonly projectId: string; readonly name: string }
  | { readonly kind: "token"; readonly assertion: string }
  /** Of a family of refresh tokens: the one that was given last. */
  | { readonly kind: "refresh"; readonly clientId: string; readonly token: string }

export type Reply = {
  readonly status: number
  readonly body: any
  /** Of the last event that the request wrote; NaN where it wrote none, or does not say. */
  readonly position: number
  readonly requestId: string
}

/** What was asked, written down before it was sent, and every answer as it came. */
export type Journal = { readonly sent: Deed[]; readonly answers: Map<Deed, Reply> }

export const newJournal = (): Journal => ({ sent: [], answers: new Map() })

export const isAcknowledged = ({ answers }: Journal, deed: Deed): boolean =>
  answers.get(deed)?.status === 200

/** How to reach a server that was set up, as the service user who owns it. */
export type Client = {
  readonly url: string
  readonly key: ServiceKey
  readonly token: string
  readonly orgId: string
  /** PHC string of `firstPassword`, as cheap as argon2 gets: the client is not what is tried. */
  readonly passwordHash: string
}

export const firstPassword = "Imported-pass-1"

export const cheapHash = (plain: string): Promise<string> =>
  hash(plain, { memoryCost: 64, timeCost: 1, parallelism: 1 })

/** Calls an operation of v2 by Connect, such as "user.CreateUser". */
export async function call(client: Client, name: string, request: object): Promise<Reply> {
  const [room = "", method] = name.split(".")
  const service = { user: "User", org: "Organization" }[room] ?? capital(room)
  const path = `/core.${room}.v2.${service}Service/${method}`
  const headers = { "content-type": "application/json", authorization: `Bearer ${client.token}` }
  return ask(`${client.url}${path}`, { headers, body: JSON.stringify(request) })
}

const capital = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`

/** Trades an assertion for an access token to the interface. */
export const trade = (client: Client, assertion: string): Promise<Reply> =>
  ask(`${client.url}/oauth/v2/token`, { body: tradeOf(assertion) })

export const tradeOf = (assertion: string): URLSearchParams =>
  new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
    scope: "openid urn:core:iam:org:project:id:core:aud",
    assertion,
  })

/** RFC 6749 §6, by a public client. */
const refresh = (client: Client, deed: { readonly clientId: string; readonly token: string }) =>
  ask(`${client.url}/oauth/v2/token`, {
    body: new URLSearchParams({
      grant_type: "refresh_token",
      client_id: deed.clientId,
      refresh_token: deed.token,
    }),
  })

async function ask(url: string, init: RequestInit): Promise<Reply> {
  const response = await fetch(url, { method: "POST", ...init })
  const text = await response.text()
  return {
    status: response.status,
    body: text && JSON.parse(text),
    position: Number(response.headers.get("x-core-position") ?? "NaN"),
    requestId: response.headers.get("x-request-id") ?? "",
  }
}

/** An assertion that counts once: it carries an id. */
export const singleAssertion = ({ url, key }: Pick<Client, "url" | "key">): Promise<string> =>
  new SignJWT({})
    .setProtectedHeader({ alg: "RS256", kid: key.keyId })
    .setIssuer(key.userId)
    .setSubject(key.userId)
    .setAudience(url)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(createPrivateKey(key.key))

/** Does it, without writing it down. */
export function perform(client: Client, deed: Deed): Promise<Reply> {
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
      return trade(client, deed.assertion)
    case "refresh":
      return refresh(client, deed)
  }
}

export type Load = {
  /** Resolves when every writer has ended: told to, or since nobody answered any more. */
  readonly ended: Promise<unknown>
  readonly stop: () => void
}

export const writers = 8

/** What the work of some writers is about. */
type Work = {
  /** Theirs alone. */
  readonly name: string
  /** The client of `tokens`: each writer goes on with a family of its own, where there are some. */
  readonly clientId?: string
  readonly tokens?: readonly string[]
}

/** Writers that work until they are told to end, or get no answer. */
export function startLoad(client: Client, journal: Journal, work: Work): Load {
  let stopped = false
  const { name, clientId = "", tokens = [] } = work
  const write = async (writer: number) => {
    let token = tokens[writer]
    for (let count = 0; !stopped; count++) {
      const isRefresh = token !== undefined && count % 10 === 9
      const deed: Deed = isRefresh
        ? { kind: "refresh", clientId, token: token ?? "" }
        : await deedOf(client, `${name}-${writer}`, count)
      journal.sent.push(deed)
      const reply = await perform(client, deed).catch(() => undefined)
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

/** Ten kinds of steps in turn, each on what this writer made before; hashing costs, so seldom. */
async function deedOf(client: Client, writer: string, count: number): Promise<Deed> {
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
      return { kind: "token", assertion: await singleAssertion(client) }
    case 7:
      if (count % 40 !== 7) return { kind: "user", id, name: `user-${id}` }
      return { kind: "password", id: `${writer}-${first}`, password: `Changed-pass-${id}` }
    default:
      return { kind: "user", id, name: `user-${id}` }
  }
}
