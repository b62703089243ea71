import { expect } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { addAuthorization } from "../../src/domain/authorization/index.ts"
import { addRoles, createProject } from "../../src/domain/project/index.ts"
import { addServiceAccount, encodeBasic } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

export const host = "wiki.example.com"
export const callback = `https://${host}/.latchkey/callback`
export const resource = `https://${host}/api`

export const accessRules = [
  { prefix: "/api", everybody: false, roles: ["editor"], accessTokens: true },
  { prefix: "/api/status", everybody: true, roles: [], accessTokens: true },
  { prefix: "/public", everybody: true, roles: [] },
]

type ProxyRequest = {
  readonly target?: string
  readonly authorization?: string
  readonly at?: string
  /** The path of the proxy's request; by default that of the settings in the console. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
}

type SignInOptions = {
  readonly as?: NewClient
  readonly scope?: string
  readonly resource?: string
}

export type ProtectedHost = Awaited<ReturnType<typeof openProtectedHost>>

/**
 * A host whose proxy authorizes each request: `client` protects it, users sign in to `tool`, which
 * calls its API, as does `robot`.
 */
export async function openProtectedHost() {
  const provider = await openProvider()
  const cx = provider.cx()
  const { orgId } = provider.setup
  await createProject(cx, "wiki", { orgId, name: "Wiki" })
  await addRoles(cx, "wiki", [{ key: "editor", displayName: "Editor" }])
  const client = await provider.addClient(
    { redirectUris: [callback], accessRules: accessRules },
    "wiki",
  )
  await createApplication(cx, "wiki-api", {
    projectId: "wiki",
    name: "API",
    config: { kind: "api", api: { authMethod: "basic", resources: [resource] } },
  })
  /** The path used by proxy settings from before access tokens. */
  const own = `/forward-auth/id.example.com/${client.id}`
  const tool = await provider.addClient({ grantTypes: ["authorization_code", "refresh_token"] })
  const robot = await addServiceAccount(provider)
  const pat = await provider.addPerson("pat")
  for (const userId of [pat, robot.userId]) {
    const given = { userId, projectId: "wiki", orgId, roleKeys: ["editor"] }
    await provider.store.transact(cx, (tx) => addAuthorization(tx, `a-${userId}`, given))
  }
  // The process has been running for longer than any proof is valid.
  provider.clock.advance(120_000)

  /** The proxy's request for a program that calls the protected host, and also accepts a page. */
  const ask = ({ target = "/api/pages?x=1", authorization, at = "", ...more }: ProxyRequest = {}) =>
    provider.send(`${more.path ?? `${own}/authorization`}${at}`, {
      headers: {
        accept: "text/html",
        "x-forwarded-host": host,
        "x-forwarded-method": "POST",
        "x-forwarded-uri": target,
        ...(authorization !== undefined && { authorization }),
        ...more.headers,
      },
    })

  /** Status, user and challenge of both requests that proxies send. */
  async function answers(request: ProxyRequest) {
    const [gate, check] = [await ask(request), await ask({ ...request, at: "/check" })]
    expect(check.status).toBe(gate.status)
    expect(gate.headers.get("location")).toBeNull()
    // nginx forwards it from both.
    expect(check.headers.get("www-authenticate")).toBeNull()
    return {
      status: gate.status,
      user: gate.headers.get("remote-user"),
      challenge: gate.headers.get("www-authenticate"),
      text: await gate.text(),
    }
  }

  /** The tokens of a user who signs in to a program. */
  async function tokensOf(loginName: string, { as = tool, ...changes }: SignInOptions = {}) {
    const browser = browserOf(provider)
    const end = await browser.signIn(authorizePath(as.id, { resource, ...changes }), loginName)
    const allowed = end.page.includes('value="allow"')
      ? await browser.post(end, { answer: "allow" })
      : end
    const { code = "" } = responseOf(allowed)
    const { answer } = await sendTokenRequest(provider, codeFields(code), `${as.id}:${as.secret}`)
    expect(answer).toHaveProperty("access_token")
    return { access: String(answer.access_token), id: String(answer.id_token) }
  }

  const robotToken = async (fields: Readonly<Record<string, string>> = { resource }) => {
    const asked = { grant_type: "client_credentials", ...fields }
    const { answer } = await sendTokenRequest(provider, asked, encodeBasic(robot.id, robot.secret))
    return String(answer.access_token)
  }

  /** The session cookie of a user's browser at the protected host. */
  async function passOf(loginName: string): Promise<string> {
    const cookies = (answer: Response) =>
      answer.headers.getSetCookie().map((line) => line.split(";")[0])
    const begun = await ask({ target: "/", headers: { "x-forwarded-method": "GET" } })
    const to = new URL(begun.headers.get("location") ?? "")
    const visited = await browserOf(provider).signIn(to.pathname + to.search, loginName)
    const { pathname, search } = new URL(visited.path)
    const headers = { cookie: cookies(begun).join("; ") }
    const done = await ask({ target: pathname + search, headers })
    return cookies(done).join("; ")
  }

  return { provider, own, client, tool, robot, pat, ask, answers, tokensOf, robotToken, passOf }
}
