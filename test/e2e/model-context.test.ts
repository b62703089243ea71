// The official SDK of the Model Context Protocol as a client, in a page of another origin and on
// Node: discovery, registration, a sign-in with PKCE and a resource, tokens, and their renewal.
import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openService, type Service } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { freePort, owner, temporaryFolder } from "../support/latchkey.ts"
import { nodeProgram } from "../support/node.ts"
import { needs } from "../support/prerequisite.ts"

/** Bundles the client's steps for a page or for Node. */
async function bundleClient(target: "browser" | "node"): Promise<string> {
  const entrypoints = [join(import.meta.dirname, "../support/mcp-steps.ts")]
  const built = await Bun.build({ entrypoints, target, format: "esm" })
  const [file] = built.outputs
  if (!file) throw new Error(built.logs.join("\n"))
  return file.text()
}

describe.runIf(needs("chromium"))("the SDK of the Model Context Protocol", () => {
  const folder = temporaryFolder()
  let service: Service
  let browser: Browser
  let party: Server
  let origin = ""

  beforeAll(async () => {
    service = await openService()
    const { result } = await service.get("ListOrganizations")
    const organizationId = result[0].id
    const made = await service.get("CreateProject", { organizationId, name: "Tools" })
    const { projectId } = made
    await service.get("core.admin.v1.AdminService/AddOIDCSettings", {
      accessTokenLifetime: "3600s",
      idTokenLifetime: "3600s",
      refreshTokenIdleExpiration: "86400s",
      refreshTokenExpiration: "864000s",
      clientRegistration: { mode: "CLIENT_REGISTRATION_MODE_OPEN", projectId },
    })
    const port = await freePort()
    origin = `http://localhost:${port}`
    await service.get("CreateApplication", {
      projectId,
      name: "Tools",
      apiConfiguration: {
        resources: { uris: [`${origin}/mcp`] },
        scopes: {
          scopes: [{ scope: "mcp:tools", name: "Call tools", description: "All of them" }],
        },
      },
    })
    const script = await bundleClient("browser")
    writeFileSync(`${folder.path}/steps.mjs`, await bundleClient("node"))
    party = createServer(({ url = "" }, response) => {
      const isScript = url === "/steps.mjs"
      response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" })
      response.end(isScript ? script : "<h1>Desk</h1>")
    })
    await new Promise<void>((done) => party.listen(port, "localhost", done))
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    party?.closeAllConnections()
    party?.close()
    await service?.close()
    folder.remove()
  })

  type Run = (name: "begin" | "finish", input: object) => Promise<any>

  const inPage =
    (page: Page): Run =>
    async (name, input) => {
      await page.goto(`${origin}/`)
      return page.evaluate(
        `import("/steps.mjs").then(({ steps }) => steps.${name}(${JSON.stringify(input)}))`,
      )
    }

  const onNode: Run = async (name, input) => {
    const program =
      `import { steps } from "${folder.path}/steps.mjs";` +
      `console.log(JSON.stringify(await steps.${name}(${JSON.stringify(input)})))`
    const run = promisify(execFile)
    const { stdout } = await run(nodeProgram(), ["--input-type=module", "--eval", program])
    return JSON.parse(stdout)
  }

  test.each([
    ["in a page", inPage],
    ["on Node", () => onNode],
  ])("registers %s, signs a user in, and renews its tokens", async (_, runIn) => {
    const page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(60_000)
    const run = runIn(page)
    const redirectUri = `${origin}/callback`
    const scope = "openid profile offline_access"
    const server = { issuer: service.url, resource: `${origin}/mcp`, redirectUri, scope }
    const { authorizationUrl, ...begun } = await run("begin", server)
    const asked = new URL(authorizationUrl).searchParams
    expect(asked.get("code_challenge_method")).toBe("S256")
    expect(asked.get("resource")).toBe(server.resource)
    await page.goto(authorizationUrl)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("button", { name: "Allow" }).click()
    await page.waitForURL(`${redirectUri}?**`)
    const authorizationCode = new URL(page.url()).searchParams.get("code") ?? ""
    const input = { ...server, ...begun, authorizationCode }
    const { first, second, userinfo } = await run("finish", input)
    expect(first.refresh_token).not.toBe(second.refresh_token)
    expect(second.access_token).not.toBe(first.access_token)
    expect(userinfo).toMatchObject({ preferred_username: owner.loginName })
    const [, claims = ""] = second.access_token.split(".")
    const { aud } = JSON.parse(Buffer.from(claims, "base64url").toString())
    expect(aud).toContain(server.resource)
    await page.context().close()
  })

  test("gets a server's scope without openid; a phone shows the consent in dark mode", async () => {
    const viewport = { width: 360, height: 740 }
    const page = await (await browser.newContext({ viewport, colorScheme: "dark" })).newPage()
    page.setDefaultTimeout(60_000)
    const redirectUri = `${origin}/callback`
    const scope = "mcp:tools read:user offline_access"
    const server = { issuer: service.url, resource: `${origin}/mcp`, redirectUri, scope }
    const { authorizationUrl, ...begun } = await onNode("begin", server)
    await page.goto(authorizationUrl)
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    const allow = page.getByRole("button", { name: "Allow" })
    await allow.waitFor()
    const shown = await page.locator("main").innerText()
    expect(shown).toMatch(/It can access “Tools” of \S+:\s+Call tools\s+All of them/)
    expect(shown).toContain("Desk will receive: your user ID")
    expect(shown).not.toContain("read:user")
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(viewport.width)
    await allow.click()
    await page.waitForURL(`${redirectUri}?**`)
    const authorizationCode = new URL(page.url()).searchParams.get("code") ?? ""
    const { first, second, userinfo } = await onNode("finish", {
      ...server,
      ...begun,
      authorizationCode,
    })
    for (const tokens of [first, second]) {
      expect(tokens.scope).toBe("mcp:tools offline_access")
      expect(tokens).not.toHaveProperty("id_token")
    }
    expect(userinfo).toMatchObject({ error: "insufficient_scope" })
    await page.context().close()
  })
})
