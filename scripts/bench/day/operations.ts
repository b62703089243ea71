// The operations of the simulated day: opening the console, sign-ins and API calls.
import { brotliDecompressSync } from "node:zlib"
import { connect } from "../../../test/acceptance/service.ts"
import {
  type Client,
  call,
  createSingleUseAssertion,
  sendWrite,
} from "../../../test/support/load.ts"
import { type Families, openFamilies } from "../../../test/support/token-family.ts"
import { requireOk } from "../operations.ts"

/** One request, or a short sequence of requests. */
export type Operation = () => Promise<unknown>

const signIns = 50
const apiCalls = 500

/**
 * Returns all operations of the day in order: the console and the OpenAPI document once, then
 * sign-ins and API calls, evenly mixed.
 */
export async function listDayOperations(client: Client): Promise<readonly Operation[]> {
  const families = await openFamilies(client)
  const calls = createApiCalls(client, families)
  const endpoints = await createEndpoints(client, families)
  const all: Operation[] = [() => openConsole(client.url)]
  for (let index = 0; index < apiCalls; index++) {
    if (index % (apiCalls / signIns) === 0) all.push(() => signIn(families, endpoints))
    if (index === apiCalls / 2) all.push(() => getText(`${client.url}/openapi/json`))
    const operation = calls[index % calls.length]
    if (operation) all.push(() => operation(index))
  }
  return all
}

/** Returns an endless mix of calls: each receives its number; every tenth is a sign-in. */
export async function createMix(client: Client): Promise<(index: number) => Promise<unknown>> {
  const families = await openFamilies(client)
  const calls = createApiCalls(client, families)
  const endpoints = await createEndpoints(client, families)
  return async (index) => {
    if (index % (apiCalls / signIns) === 0) await signIn(families, endpoints)
    await calls[index % calls.length]?.(index)
  }
}

/** Loads the console's document and all files it references, as a browser does. */
async function openConsole(url: string): Promise<void> {
  const html = await getText(`${url}/ui/console/`)
  await getText(`${url}/ui/console/environment.json`)
  await getText(`${url}/.well-known/openid-configuration`)
  const visited = new Set<string>()
  const load = async (text: string) => {
    for (const [, name = ""] of text.matchAll(/([\w.-]+-[a-z0-9]{8}\.(?:js|css|svg))\b/g)) {
      if (visited.has(name)) continue
      visited.add(name)
      await load(await getAsset(`${url}/ui/assets/${name}`))
    }
  }
  await load(html)
  if (visited.size < 10) throw new Error("the console's document references no files")
}

/** Requests an embedded file compressed, as browsers do: the server must not decompress it. */
async function getAsset(url: string): Promise<string> {
  const headers = { "accept-encoding": "br" }
  const answer = await fetch(url, { headers, decompress: false })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  if (answer.status !== 200) return ""
  const isCompressed = answer.headers.get("content-encoding") === "br"
  return new TextDecoder().decode(isCompressed ? brotliDecompressSync(bytes) : bytes)
}

async function getText(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const answer = await fetch(url, { headers: { accept: "text/html, */*", ...headers } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${url} returned ${answer.status}: ${text}`)
  return text
}

type Endpoints = {
  readonly userinfo: (token: string) => Promise<unknown>
  readonly introspect: (token: string) => Promise<unknown>
}

/** Signs a user in with a password in a new browser; the application then uses the tokens. */
async function signIn(families: Families, { userinfo, introspect }: Endpoints): Promise<void> {
  const browser = await families.signIn(fetch)
  const { access_token: token } = (await families.redeem(await browser.code())).body
  await userinfo(token)
  await introspect(token)
}

async function createEndpoints(client: Client, { projectId }: Families): Promise<Endpoints> {
  const app = await call(client, "application.CreateApplication", {
    projectId,
    name: "API",
    apiConfiguration: {},
  })
  const { clientId, clientSecret } = app.body.apiConfiguration
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`
  return {
    userinfo: (token) =>
      getText(`${client.url}/oidc/v1/userinfo`, { authorization: `Bearer ${token}` }),
    introspect: async (token) => {
      const body = new URLSearchParams({ token })
      const init = { method: "POST", headers: { authorization }, body }
      const answer = await fetch(`${client.url}/oauth/v2/introspect`, init)
      if (!(await answer.json()).active) throw new Error("the token is not active")
    },
  }
}

/** Calls of API clients and of the console's pages; each receives the number of the call. */
function createApiCalls(
  client: Client,
  { projectId }: Families,
): readonly ((index: number) => Promise<unknown>)[] {
  const { url, token, orgId: organizationId } = client
  const v2 = (name: string, request: object) => async () =>
    requireOk(await connect(url, name, { request, token }))
  const v1 = (path: string) => () => getText(`${url}${path}`, { authorization: `Bearer ${token}` })
  const search = (path: string, query: object) => () => post(`${url}${path}`, token, query)
  const method = "TEXT_QUERY_METHOD_CONTAINS_IGNORE_CASE"
  return [
    async (index) =>
      requireOk(
        await sendWrite(client, { kind: "user", id: `u${index}`, name: `person-${index}` }),
      ),
    v2("ListUsers", { query: { limit: 50 } }),
    v2("ListUsers", { queries: [{ emailQuery: { emailAddress: "person", method } }] }),
    search("/management/v1/orgs/me/changes/_search", { query: { limit: 20 } }),
    (index) => v2("core.user.v2.UserService/GetUserByID", { userId: `u${index - (index % 25)}` })(),
    v2("ListProjects", {}),
    v2("GetProject", { projectId }),
    v2("ListApplications", { filters: [{ projectIdFilter: { projectId } }] }),
    v2("ListOrganizations", {}),
    search("/management/v1/projects/_search", {}),
    v1("/management/v1/orgs/me"),
    v1("/auth/v1/policies/label"),
    v1("/management/v1/policies/password/complexity"),
    v1("/management/v1/policies/login"),
    v1("/admin/v1/policies/label"),
    v2("GetLoginSettings", { ctx: { orgId: organizationId } }),
    v2("GetBrandingSettings", { ctx: { instance: true } }),
    async (index) =>
      requireOk(await sendWrite(client, { kind: "project", id: `p${index}`, name: `p-${index}` })),
    v2("ListGroups", {}),
    v2("ListAuthorizations", {}),
    v2("ListAdministrators", {}),
    v2("ListChanges", { resource: { organizationId } }),
    v2("ListRefusedRequests", {}),
    async () => requireOk(await sendWrite(client, await tokenRequest(client))),
    () => getText(`${url}/oauth/v2/keys`),
  ]
}

const tokenRequest = async (client: Client) =>
  ({ kind: "token", assertion: await createSingleUseAssertion(client) }) as const

async function post(url: string, token: string, request: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(request) })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${url} returned ${answer.status}: ${text}`)
}
