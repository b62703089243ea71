import { spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { createRemoteJWKSet, jwtVerify } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openHttpBrowser } from "../support/http-browser.ts"
import {
  binary,
  freePort,
  owner,
  type ServiceKey,
  serviceToken,
  temporaryFolder,
} from "../support/latchkey.ts"
import { until } from "../support/wait.ts"
import { connect } from "./service.ts"

/** A copy of the binary in an otherwise empty directory, with an empty environment. */
describe("the binary alone", () => {
  const folder = temporaryFolder()
  const home = join(folder.path, "home")
  const program = join(home, "latchkey")
  const redirectUri = "https://app.example.com/callback"
  let url = ""
  let server: ReturnType<typeof spawn> | undefined
  let key: ServiceKey
  let client: { readonly clientId: string; readonly clientSecret: string }

  beforeAll(() => {
    mkdirSync(home)
    copyFileSync(binary, program)
    chmodSync(program, 0o755)
  })
  afterAll(async () => {
    const ended = new Promise((done) => server?.once("exit", done))
    if (server?.kill()) await ended
    folder.remove()
  })

  const start = (args: readonly string[]) => spawn(program, args, { cwd: home, env: {} })

  test("is set up without interaction", async () => {
    const port = await freePort()
    url = `http://localhost:${port}`
    writeFileSync(join(home, "password"), `${owner.password}\n`, { mode: 0o600 })
    const child = start([
      "setup",
      "--public-url",
      url,
      "--org",
      "Acme",
      "--owner",
      owner.loginName,
      "--owner-email",
      owner.email,
      "--owner-password-file",
      "password",
      "--service-key-file",
      "key.json",
    ])
    expect(await new Promise((done) => child.once("close", done))).toBe(0)
    key = JSON.parse(readFileSync(join(home, "key.json"), "utf8"))
    expect(readdirSync(home).sort()).toEqual(["key.json", "latchkey", "latchkey-data", "password"])
  })

  test("serves, and creates an application", async () => {
    const { port } = new URL(url)
    const ports = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", "127.0.0.1:0"]
    server = start(["serve", ...ports])
    await waitUntilServing(async () => (await fetch(`${url}/healthz`)).ok)
    const token = await serviceToken(url, key)
    const ask = async (name: string, request: object) =>
      (await connect(url, name, { request, token })).body
    const { result } = await ask("ListOrganizations", {})
    const organizationId = result[0].id
    const { projectId } = await ask("CreateProject", { organizationId, name: "Intranet" })
    const oidcConfiguration = { redirectUris: [redirectUri] }
    const made = await ask("CreateApplication", { projectId, name: "Wiki", oidcConfiguration })
    client = made.oidcConfiguration
    expect(client.clientId).toMatch(/^\d{18}$/)
  })

  test("signs in a user with forms and cookies only", async () => {
    const discovery = await (await fetch(`${url}/.well-known/openid-configuration`)).json()
    const verifier = randomBytes(32).toString("base64url")
    const query = new URLSearchParams({
      client_id: client.clientId,
      redirect_uri: redirectUri,
      response_type: "code",
      scope: "openid email",
      state: "state-1",
      nonce: "nonce-1",
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    })
    const visitor = openHttpBrowser()
    const loginName = await visitor.get(`${discovery.authorization_endpoint}?${query}`)
    const password = await visitor.post(loginName, { loginName: owner.loginName })
    const end = await visitor.post(password, { password: owner.password })
    const answer = new URL(end.url)
    expect(`${answer.origin}${answer.pathname}`).toBe(redirectUri)
    expect(answer.searchParams.get("state")).toBe("state-1")

    const tokens = await (
      await fetch(discovery.token_endpoint, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`${client.clientId}:${client.clientSecret}`)}` },
        body: new URLSearchParams({
          grant_type: "authorization_code",
          code: answer.searchParams.get("code") ?? "",
          redirect_uri: redirectUri,
          code_verifier: verifier,
        }),
      })
    ).json()
    const keys = createRemoteJWKSet(new URL(discovery.jwks_uri))
    const options = { issuer: url, audience: client.clientId }
    const { payload } = await jwtVerify(tokens.id_token, keys, options)
    expect(payload.nonce).toBe("nonce-1")
    const userinfo = await fetch(discovery.userinfo_endpoint, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    })
    expect(await userinfo.json()).toMatchObject({ sub: payload.sub, email: owner.email })
  })

  test("serves its pages with all referenced files", async () => {
    const page = await openHttpBrowser().get(`${url}/ui/console/`)
    const named = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path)
    expect(named.length).toBeGreaterThan(1)
    for (const path of named)
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 200])
  })

  test("writes only to its data directory, and prints no secret", () => {
    expect(readdirSync(home).sort()).toEqual(["key.json", "latchkey", "latchkey-data", "password"])
  })
})

const waitUntilServing = (holds: () => Promise<boolean>) =>
  until(() => holds().catch(() => false), { what: "the server to come up", limitMs: 60_000 })
