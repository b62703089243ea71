import {
  type OAuthClientProvider,
  UnauthorizedError,
} from "@modelcontextprotocol/sdk/client/auth.js"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { createLocalJWKSet, errors, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createApplication } from "../../src/domain/app/commands.ts"
import { browserOf, issuer, openProvider, type Provider, responseOf } from "./provider.ts"
import { enableRegistration } from "./registration.ts"

/** A third-party client of the Model Context Protocol, and a protected tool server. */
const resource = "https://tools.example.com/mcp"
const redirectUri = "http://127.0.0.1:33418/callback"
const documentUrl = "https://desk.example/client.json"

let provider: Provider
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  const scopes = [{ scope: "mcp:tools", name: "Call tools", description: "" }]
  const api = { authMethod: "basic", resources: [resource], scopes } as const
  const config = { kind: "api", api } as const
  const { projectId } = provider
  await createApplication(cx, cx.ids.next(), { projectId, name: "Tools", config })
})
afterAll(() => provider.close())

const clientMetadata = {
  client_name: "Desk",
  redirect_uris: [redirectUri],
  response_types: ["code"],
  grant_types: ["authorization_code", "refresh_token"],
  token_endpoint_auth_method: "none",
}

/** The network of the client; any other host is unreachable. */
const network: FetchLike = async (address, init = {}) => {
  const request = new Request(new URL(address), init)
  const url = new URL(request.url)
  if (url.origin === new URL(resource).origin) return handleToolRequest(request, url)
  if (url.origin !== issuer) throw new Error(`no server at ${url.origin}`)
  const { method, headers } = request
  const body = method === "GET" ? {} : { body: await request.text() }
  return provider.send(
    url.pathname + url.search,
    { method, headers, ...body },
    {
      outside: {
        ...provider.cx().outside,
        send: async () => ({
          status: 200,
          body: JSON.stringify({ ...clientMetadata, client_id: documentUrl }),
        }),
      },
    },
  )
}

/** The scopes that the tool server announces. */
let supported: readonly string[] | undefined = ["openid", "offline_access"]

/**
 * RFC 9728: the resource publishes its authorization server, and accepts only tokens issued for it.
 */
async function handleToolRequest(request: Request, { pathname }: URL): Promise<Response> {
  const metadata = "/.well-known/oauth-protected-resource/mcp"
  if (pathname === metadata) {
    const named = supported && { scopes_supported: supported }
    return Response.json({ resource, authorization_servers: [issuer], ...named })
  }
  if (pathname !== "/mcp") return new Response(null, { status: 404 })
  const subject = await subjectOf(request)
  if (subject === undefined) {
    const challenge = `Bearer resource_metadata="${new URL(metadata, resource)}"`
    return new Response(null, { status: 401, headers: { "www-authenticate": challenge } })
  }
  const server = new McpServer({ name: "tools", version: "1.0.0" })
  server.registerTool("who", { description: "Who calls" }, async () => ({
    content: [{ type: "text", text: subject }],
  }))
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  return transport.handleRequest(request)
}

async function subjectOf({ headers }: Request): Promise<string | undefined> {
  const token = headers.get("authorization")?.replace("Bearer ", "")
  if (token === undefined) return undefined
  const keys = createLocalJWKSet(await (await provider.send("/oauth/v2/keys")).json())
  const currentDate = new Date(provider.clock.now())
  const wanted = { issuer, audience: resource, typ: "at+jwt", currentDate }
  try {
    return (await jwtVerify(token, keys, wanted)).payload.sub
  } catch (cause) {
    if (cause instanceof errors.JWTExpired) return undefined
    throw cause
  }
}

type ClientState = {
  client?: { client_id: string }
  tokens?: Awaited<ReturnType<OAuthClientProvider["tokens"]>>
  verifier: string
  authorize?: URL
}

/** A client as its developer configures it: it has the tool server's URL and its own metadata. */
function deskOf(more: Pick<OAuthClientProvider, "clientMetadataUrl"> = {}) {
  const kept: ClientState = { verifier: "" }
  const auth: OAuthClientProvider = {
    ...more,
    redirectUrl: redirectUri,
    clientMetadata: clientMetadata,
    clientInformation: () => kept.client,
    saveClientInformation: (client) => {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      kept.tokens = tokens
    },
    redirectToAuthorization: (url) => {
      kept.authorize = url
    },
    saveCodeVerifier: (verifier) => {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier,
  }
  const transport = () =>
    new StreamableHTTPClientTransport(new URL(resource), { authProvider: auth, fetch: network })
  return { kept, transport, client: () => new Client({ name: "desk", version: "1.0.0" }) }
}

/** Signs in as the user whose browser is opened, and calls the tool. */
async function authorizeAndCall(desk: ReturnType<typeof deskOf>) {
  const first = desk.transport()
  await expect(desk.client().connect(first)).rejects.toBeInstanceOf(UnauthorizedError)
  const { pathname, search, origin, searchParams } = desk.kept.authorize ?? new URL(redirectUri)
  expect([origin, searchParams.get("resource")]).toEqual([issuer, resource])
  const send: Provider["send"] = (path, init) => {
    const url = new URL(path, issuer)
    return Promise.resolve(network(url, { redirect: "manual", ...init }))
  }
  const browser = browserOf({ send })
  const asked = await browser.signIn(pathname + search)
  const { code = "" } = responseOf(await browser.post(asked, { answer: "allow" }))
  await first.finishAuth(code)
  const client = desk.client()
  await client.connect(desk.transport())
  return { asked: asked.page, said: await client.callTool({ name: "who" }) }
}

const resultForOlga = () => ({ content: [{ type: "text", text: provider.setup.ownerId }] })

describe("an unregistered client of the Model Context Protocol", () => {
  test("registers itself, signs a user in, and calls a tool", async () => {
    await enableRegistration(provider)
    const desk = deskOf()
    const { asked, said } = await authorizeAndCall(desk)
    expect(asked).toContain("Desk registered itself here")
    expect(said).toMatchObject(resultForOlga())
    expect(desk.kept.client?.client_id).toMatch(/^\d+$/)
  })

  test("uses the URL of its own document as its ID, without registering", async () => {
    await enableRegistration(provider, { mode: "off", metadataDocuments: true })
    const desk = deskOf({ clientMetadataUrl: documentUrl })
    const { asked, said } = await authorizeAndCall(desk)
    expect(asked).toContain("Desk is the name that desk.example gave this application")
    expect(said).toMatchObject(resultForOlga())
    expect(desk.kept.client?.client_id).toBe(documentUrl)
  })

  test("continues with its refresh token when the access token has expired", async () => {
    await enableRegistration(provider)
    const desk = deskOf()
    await authorizeAndCall(desk)
    const before = desk.kept.tokens
    provider.clock.advance(13 * 3_600_000)
    const client = desk.client()
    await client.connect(desk.transport())
    expect(await client.callTool({ name: "who" })).toMatchObject(resultForOlga())
    expect(desk.kept.tokens?.refresh_token).not.toBe(before?.refresh_token)
  })

  const servers = [
    ["no scopes", undefined, ""],
    ["an empty list of scopes", [], ""],
    ["a scope of its own", ["mcp:tools"], "mcp:tools"],
    ["scopes that nobody defines", ["read:user", "mcp:tools"], "mcp:tools"],
    ["the scope for a refresh token", ["mcp:tools", "offline_access"], "mcp:tools offline_access"],
  ] as const
  test.each(servers)(
    "calls a server that requests %s, without openid",
    async (_, name, granted) => {
      await enableRegistration(provider)
      supported = name
      const desk = deskOf()
      const { asked, said } = await authorizeAndCall(desk)
      expect(said).toMatchObject(resultForOlga())
      expect(desk.kept.authorize?.searchParams.get("scope") ?? "").not.toContain("openid")
      expect(desk.kept.tokens).toMatchObject({ scope: granted })
      expect(desk.kept.tokens).not.toHaveProperty("id_token")
      expect(asked.includes("Call tools")).toBe(granted.includes("mcp:tools"))
      supported = ["openid", "offline_access"]
    },
  )

  test("is rejected if the instance accepts no such clients", async () => {
    await enableRegistration(provider, { mode: "off", metadataDocuments: false })
    const desk = deskOf({ clientMetadataUrl: documentUrl })
    await expect(desk.client().connect(desk.transport())).rejects.toThrow(/registration/)
  })
})
