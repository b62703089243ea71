// What happens on the scripted day: the console is opened, people sign in, programs call the API.
import { brotliDecompressSync } from "node:zlib"
import { connect } from "../../../test/acceptance/service.ts"
import { type Families, openFamilies } from "../../../test/support/family.ts"
import { type Client, call, perform, singleAssertion } from "../../../test/support/load.ts"
import { ok } from "../operations.ts"

/** One request of the day, or a few that belong together. */
export type Operation = () => Promise<unknown>

const signIns = 50
const apiCalls = 500

/**
 * All operations of the day in their order: the console first, the OpenAPI document once, sign-ins
 * and API calls spread evenly.
 */
export async function operationsOf(client: Client): Promise<readonly Operation[]> {
  const families = await openFamilies(client)
  const calls = apiCallsOf(client, families)
  const endpoints = await protocolEndpoints(client, families)
  const all: Operation[] = [() => openConsole(client.url)]
  for (let at = 0; at < apiCalls; at++) {
    if (at % (apiCalls / signIns) === 0) all.push(() => signIn(families, endpoints))
    if (at === apiCalls / 2) all.push(() => get(`${client.url}/openapi/json`))
    const operation = calls[at % calls.length]
    if (operation) all.push(() => operation(at))
  }
  return all
}

/** Calls without end: each is passed its number, and every tenth signs a person in. */
export async function mixOf(client: Client): Promise<(at: number) => Promise<unknown>> {
  const families = await openFamilies(client)
  const calls = apiCallsOf(client, families)
  const endpoints = await protocolEndpoints(client, families)
  return async (at) => {
    if (at % (apiCalls / signIns) === 0) await signIn(families, endpoints)
    await calls[at % calls.length]?.(at)
  }
}

/** Loads the console's document and every file that it can lead to, as browsers request them. */
async function openConsole(url: string): Promise<void> {
  const html = await get(`${url}/ui/console/`)
  await get(`${url}/ui/console/environment.json`)
  await get(`${url}/.well-known/openid-configuration`)
  const seen = new Set<string>()
  const load = async (text: string) => {
    for (const [, name = ""] of text.matchAll(/([\w.-]+-[a-z0-9]{8}\.(?:js|css|svg))\b/g)) {
      if (seen.has(name)) continue
      seen.add(name)
      await load(await asset(`${url}/ui/assets/${name}`))
    }
  }
  await load(html)
  if (seen.size < 10) throw new Error("the console's document names no files")
}

/** Embedded files are sent compressed, and the server isn't made to decompress them. */
async function asset(url: string): Promise<string> {
  const headers = { "accept-encoding": "br" }
  const answer = await fetch(url, { headers, decompress: false })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  if (answer.status !== 200) return ""
  const isPacked = answer.headers.get("content-encoding") === "br"
  return new TextDecoder().decode(isPacked ? brotliDecompressSync(bytes) : bytes)
}

async function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const answer = await fetch(url, { headers: { accept: "text/html, */*", ...headers } })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${text}`)
  return text
}

type Endpoints = {
  readonly userinfo: (token: string) => Promise<unknown>
  readonly introspect: (token: string) => Promise<unknown>
}

/** A person signs in with the password, in a new browser, and the application uses the tokens. */
async function signIn(families: Families, { userinfo, introspect }: Endpoints): Promise<void> {
  const browser = await families.signIn(fetch)
  const { access_token: token } = (await families.redeem(await browser.code())).body
  await userinfo(token)
  await introspect(token)
}

async function protocolEndpoints(client: Client, { projectId }: Families): Promise<Endpoints> {
  const app = await call(client, "application.CreateApplication", {
    projectId,
    name: "API",
    apiConfiguration: {},
  })
  const { clientId, clientSecret } = app.body.apiConfiguration
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`
  return {
    userinfo: (token) =>
      get(`${client.url}/oidc/v1/userinfo`, { authorization: `Bearer ${token}` }),
    introspect: async (token) => {
      const body = new URLSearchParams({ token })
      const init = { method: "POST", headers: { authorization }, body }
      const answer = await fetch(`${client.url}/oauth/v2/introspect`, init)
      if (!(await answer.json()).active) throw new Error("the token is not active")
    },
  }
}

/** Calls of programs and of the console's pages; each is passed the number of the call. */
function apiCallsOf(
  client: Client,
  { projectId }: Families,
): readonly ((at: number) => Promise<unknown>)[] {
  const { url, token, orgId: organizationId } = client
  const v2 = (name: string, request: object) => async () =>
    ok(await connect(url, name, { request, token }))
  const v1 = (path: string) => () => get(`${url}${path}`, { authorization: `Bearer ${token}` })
  const search = (path: string, query: object) => () => post(`${url}${path}`, token, query)
  const method = "TEXT_QUERY_METHOD_CONTAINS_IGNORE_CASE"
  return [
    async (at) => ok(await perform(client, { kind: "user", id: `u${at}`, name: `person-${at}` })),
    v2("ListUsers", { query: { limit: 50 } }),
    v2("ListUsers", { queries: [{ emailQuery: { emailAddress: "person", method } }] }),
    search("/management/v1/orgs/me/changes/_search", { query: { limit: 20 } }),
    (at) => v2("core.user.v2.UserService/GetUserByID", { userId: `u${at - (at % 25)}` })(),
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
    async (at) => ok(await perform(client, { kind: "project", id: `p${at}`, name: `p-${at}` })),
    v2("ListGroups", {}),
    v2("ListAuthorizations", {}),
    v2("ListAdministrators", {}),
    v2("ListChanges", { resource: { organizationId } }),
    v2("ListRefusedRequests", {}),
    async () => ok(await perform(client, await tokenRequest(client))),
    () => get(`${url}/oauth/v2/keys`),
  ]
}

const tokenRequest = async (client: Client) =>
  ({ kind: "token", assertion: await singleAssertion(client) }) as const

async function post(url: string, token: string, request: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(request) })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${text}`)
}
