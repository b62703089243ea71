// From an empty data directory to a Model Context Protocol client that registers itself and calls a
// tool, with only the information that the console shows. Client and tool server use the official
// SDK.
import {
  type OAuthClientProvider,
  UnauthorizedError,
} from "@modelcontextprotocol/sdk/client/auth.js"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import { createRemoteJWKSet, jwtVerify } from "jose"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openBrowser } from "../support/browser.ts"
import {
  freePort,
  owner,
  type RunningServer,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

describe.runIf(needs("chromium"))("an administrator who connects an MCP client", () => {
  const folder = temporaryFolder()
  let server: RunningServer
  let tools: ReturnType<typeof Bun.serve>
  let browser: Browser
  let page: Page
  let resource = ""
  let redirectUrl = ""

  beforeAll(async () => {
    server = await startLatchkey({ data: folder.path, port: await freePort() })
    tools = Bun.serve({ port: 0, hostname: "localhost", fetch: answer })
    resource = `http://localhost:${tools.port}/mcp`
    redirectUrl = `http://localhost:${tools.port}/callback`
    browser = await openBrowser()
    page = await newPage()
  })
  afterAll(async () => {
    await browser?.close()
    await tools?.stop(true)
    await server?.stop()
    folder.remove()
  })

  const newPage = async () => {
    const opened = await (await browser.newContext({ locale: "en" })).newPage()
    opened.setDefaultTimeout(60_000)
    return opened
  }

  /**
   * RFC 9728: the tool server publishes its authorization server, and accepts only tokens issued
   * for it.
   */
  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    const metadata = "/.well-known/oauth-protected-resource/mcp"
    if (pathname === metadata) {
      const scopes_supported = ["openid", "profile"]
      return Response.json({ resource, authorization_servers: [server.url], scopes_supported })
    }
    if (pathname === "/callback") return new Response("back at the client")
    const subject = await subjectOf(request)
    if (subject === undefined) {
      const challenge = `Bearer resource_metadata="${new URL(metadata, resource)}"`
      return new Response(null, { status: 401, headers: { "www-authenticate": challenge } })
    }
    const mcp = new McpServer({ name: "tools", version: "1.0.0" })
    mcp.registerTool("who", { description: "Who calls" }, async () => ({
      content: [{ type: "text", text: `called by ${subject}` }],
    }))
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    await mcp.connect(transport)
    return transport.handleRequest(request)
  }

  async function subjectOf({ headers }: Request): Promise<string | undefined> {
    const token = headers.get("authorization")?.replace("Bearer ", "")
    if (token === undefined) return undefined
    const keys = createRemoteJWKSet(new URL(`${server.url}/oauth/v2/keys`))
    const wanted = { issuer: server.url, audience: resource, typ: "at+jwt" }
    return (await jwtVerify(token, keys, wanted)).payload.sub
  }

  type ClientState = {
    client?: { client_id: string }
    tokens?: Awaited<ReturnType<OAuthClientProvider["tokens"]>>
    verifier: string
    authorize: string
  }

  /** A client on the user's device that has only the tool server's URL. */
  function deskOf(stored: ClientState) {
    const authProvider: OAuthClientProvider = {
      redirectUrl,
      clientMetadata: {
        client_name: "Desk",
        redirect_uris: [redirectUrl],
        response_types: ["code"],
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: "none",
      },
      clientInformation: () => stored.client,
      saveClientInformation: (client) => {
        stored.client = client
      },
      tokens: () => stored.tokens,
      saveTokens: (tokens) => {
        stored.tokens = tokens
      },
      redirectToAuthorization: ({ href }) => {
        stored.authorize = href
      },
      saveCodeVerifier: (verifier) => {
        stored.verifier = verifier
      },
      codeVerifier: () => stored.verifier,
    }
    const transport = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider })
    const client = () => new Client({ name: "desk", version: "1.0.0" })
    return { transport, client }
  }

  /** Authorizes the client in a browser if required, then calls the tool. */
  async function called(stored: ClientState, visitor: Page): Promise<string> {
    const desk = deskOf(stored)
    const first = desk.transport()
    await expect(desk.client().connect(first)).rejects.toBeInstanceOf(UnauthorizedError)
    await visitor.goto(stored.authorize)
    if ((await visitor.locator('[name="loginName"]').count()) > 0) {
      await visitor.fill('[name="loginName"]', owner.loginName)
      await visitor.click('button[type="submit"]')
      await visitor.fill('[name="password"]', owner.password)
      await visitor.click('button[type="submit"]')
    }
    await visitor.getByText("Desk registered itself here.").waitFor()
    expect(await visitor.getByText("asked again until").count()).toBe(0)
    await visitor.getByRole("button", { name: "Allow" }).click()
    await visitor.waitForURL(`${redirectUrl}?**`)
    await first.finishAuth(new URL(visitor.url()).searchParams.get("code") ?? "")
    const client = desk.client()
    await client.connect(desk.transport())
    return JSON.stringify((await client.callTool({ name: "who" })).content)
  }

  test("sets up the server, and adds the API with its URL", async () => {
    await page.goto(/http:\S+\/setup#\S+/.exec(server.output())?.[0] ?? "")
    await page.getByLabel("Organization").fill("Acme")
    await page.getByLabel("First name").fill("Ada")
    await page.getByLabel("Last name").fill("Lovelace")
    await page.getByLabel("Email").fill(owner.email)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "First steps" }).waitFor()
    await page.getByRole("link", { name: "Create an application" }).click()
    await page.getByLabel("Project name").fill("Tools")
    await page.getByRole("radio", { name: "API" }).check()
    await page.getByLabel("Name", { exact: true }).fill("Tool server")
    await page.getByRole("button", { name: "Create application" }).click()
    await page.getByRole("link", { name: "Open application" }).click()
    await page.getByRole("button", { name: "Edit: Resource URIs of the API" }).click()
    await page.fill('[name="uris"]', resource)
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("button", { name: "Edit: Resource URIs of the API" }).waitFor()
  })

  test("enables dynamic registration, and sees the remembered consents", async () => {
    await page.getByRole("link", { name: "Settings", exact: true }).click()
    const edit = { name: "Edit: Dynamic client registration" }
    await page.getByRole("button", edit).click()
    await page.getByLabel("Who can register clients").selectOption({ label: "Anyone" })
    await page.getByLabel("Project", { exact: true }).selectOption({ label: "Tools" })
    expect(await page.getByLabel("Remember consents", { exact: true }).inputValue()).toBe("30")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("button", edit).waitFor()
    await page.getByText("30 days").first().waitFor()
  })

  test("calls the tool as the consenting user, who is asked each time", async () => {
    const visitor = await newPage()
    const kept: ClientState = { verifier: "", authorize: "" }
    const first = await called(kept, visitor)
    expect(first).toMatch(/called by \d+/)
    // The client has lost its tokens. Any program on the device can claim to be this client.
    delete kept.tokens
    expect(await called(kept, visitor)).toBe(first)
    await visitor.goto(`${server.url}/ui/account/sessions`)
    const item = visitor.getByRole("listitem").filter({ hasText: "Desk" })
    await item.getByText("Can see your name").waitFor()
    expect(await item.getByText("Asks for your consent again").count()).toBe(0)
    await item.getByRole("button", { name: "Revoke access" }).click()
    await visitor.getByRole("dialog").getByRole("button", { name: "Revoke access" }).click()
    await item.waitFor({ state: "detached" })
  })
})
