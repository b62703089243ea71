// A page of a dynamically registered client renews its sign-in in a frame (OpenID Connect Core
// §3.1.2.1, prompt=none), with the library oidc-client-ts, over https as frames require.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, methodOf, pathOf } from "../acceptance/service.ts"
import { openBrowser } from "../support/browser.ts"
import { writeCertificate } from "../support/certificate.ts"
import {
  apiScope,
  assertionOf,
  freePort,
  owner,
  type RunningServer,
  type ServiceKey,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

const hosts = { id: "id.example.com", desk: "desk.example.com" } as const

describe.runIf(needs("chromium"))("a silent renewal of a dynamically registered client", () => {
  const folder = temporaryFolder()
  let server: RunningServer
  let proxy: ReturnType<typeof serveTls>
  let party: ReturnType<typeof serveTls>
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let token = ""
  let issuer = ""
  let desk = ""
  let clientId = ""
  let certificate = { cert: "", key: "" }
  /** The requests at the redirect URI, newest last. */
  const arrived: { readonly dest: string | null; readonly search: URLSearchParams }[] = []

  const serveTls = (port: number, answer: (request: Request) => Response | Promise<Response>) =>
    Bun.serve({ port, hostname: "127.0.0.1", tls: certificate, fetch: answer })

  /** Forwards like a proxy for our host name. */
  const send = (path: string, { headers, ...init }: RequestInit = {}) =>
    fetch(`${server.url}${path}`, {
      ...init,
      redirect: "manual",
      decompress: false,
      headers: {
        ...Object.fromEntries(new Headers(headers)),
        host: new URL(issuer).host,
        "x-forwarded-proto": "https",
      },
    })

  const call = async (name: string, request: object) => {
    const headers = { "content-type": "application/json", ...bearer(token) }
    const init = { method: "POST", headers, body: JSON.stringify(request) }
    const answer = await send(pathOf(methodOf(name)), init)
    const body = JSON.parse(await answer.text())
    if (answer.status === 200) return body
    throw new Error(`${name} answered ${answer.status}: ${JSON.stringify(body)}`)
  }

  const tokenOf = async (key: ServiceKey): Promise<string> => {
    const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    const assertion = await assertionOf(issuer, key)
    const body = new URLSearchParams({ grant_type, assertion, scope: apiScope })
    const answer = await send("/oauth/v2/token", { method: "POST", body })
    return JSON.parse(await answer.text()).access_token
  }

  const pageOf = ({ url, headers }: Request, script: string): Response => {
    const { pathname, searchParams } = new URL(url)
    if (pathname === "/steps.mjs") {
      return new Response(script, { headers: { "content-type": "text/javascript" } })
    }
    const isCallback = pathname === "/callback"
    if (isCallback) arrived.push({ dest: headers.get("sec-fetch-dest"), search: searchParams })
    const settings = JSON.stringify({ authority: issuer, clientId })
    const html = `<h1>${isCallback ? "Back" : "Desk"}</h1><script type="module">
      import { steps } from "/steps.mjs"
      globalThis.run = (name) => steps[name](${settings})
      ${isCallback ? "await run('finish'); document.title = 'done'" : ""}
    </script>`
    return new Response(html, { headers: { "content-type": "text/html" } })
  }

  /** Registers a client without authentication; the application's pages use it from now on. */
  const register = async (name: string) => {
    const metadata = {
      client_name: name,
      redirect_uris: [`${desk}/callback`],
      grant_types: ["authorization_code"],
      token_endpoint_auth_method: "none",
    }
    const headers = { "content-type": "application/json" }
    const init = { method: "POST", headers, body: JSON.stringify(metadata) }
    const answer = await send("/oauth/v2/register", init)
    clientId = JSON.parse(await answer.text()).client_id
  }

  beforeAll(async () => {
    const { certFile, keyFile } = await writeCertificate(
      join(folder.path, "tls"),
      Object.values(hosts),
    )
    certificate = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") }
    const [port, idPort, deskPort] = [await freePort(), await freePort(), await freePort()]
    issuer = `https://${hosts.id}:${idPort}`
    desk = `https://${hosts.desk}:${deskPort}`
    const data = join(folder.path, "data")
    const key = await setUp(data, issuer)
    server = await startLatchkey({ data, port, args: ["--trusted-proxies", "127.0.0.1"] })
    proxy = serveTls(idPort, async (request) => {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = method === "POST" ? { body: await request.arrayBuffer() } : {}
      return send(pathname + search, { method, headers, ...body })
    })
    const entrypoints = [join(import.meta.dirname, "../support/renewing-app.ts")]
    const built = await Bun.build({ entrypoints, target: "browser", format: "esm" })
    const script = (await built.outputs[0]?.text()) ?? ""
    party = serveTls(deskPort, (request) => pageOf(request, script))
    token = await tokenOf(key)
    const { result } = await call("ListOrganizations", {})
    const made = await call("CreateProject", { organizationId: result[0].id, name: "Tools" })
    await call("core.admin.v1.AdminService/AddOIDCSettings", {
      accessTokenLifetime: "3600s",
      idTokenLifetime: "3600s",
      refreshTokenIdleExpiration: "86400s",
      refreshTokenExpiration: "864000s",
      clientRegistration: {
        mode: "CLIENT_REGISTRATION_MODE_OPEN",
        projectId: made.projectId,
      },
    })
    browser = await openBrowser("*.example.com")
    context = await browser.newContext({ ignoreHTTPSErrors: true, locale: "en" })
    page = await context.newPage()
    page.setDefaultTimeout(60_000)
    await register("Desk")
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([proxy?.stop(true), party?.stop(true)])
    await server?.stop()
    folder.remove()
  })

  const renewed = async (): Promise<unknown> => {
    await page.goto(`${desk}/`)
    await page.waitForFunction("globalThis.run")
    return page.evaluate("run('renew')")
  }
  const last = () => {
    const { dest, search } = arrived.at(-1) ?? {}
    return [dest, search?.has("code"), search?.get("error")]
  }

  test("gets login_required in its frame before the user has signed in", async () => {
    expect(await renewed()).toBe("login_required")
    expect(last()).toEqual(["iframe", false, "login_required"])
  })

  test("gets a code once the user has allowed the client", async () => {
    await page.goto(`${desk}/`)
    await page.waitForFunction("globalThis.run")
    await page.evaluate("void run('signIn')")
    await page.fill('[name="loginName"]', owner.loginName)
    await page.click('button[type="submit"]')
    await page.fill('[name="password"]', owner.password)
    await page.click('button[type="submit"]')
    await page.getByRole("heading", { name: "Allow Desk access to your account?" }).waitFor()
    await page.getByRole("button", { name: "Allow" }).click()
    await page.waitForFunction("document.title === 'done'")
    expect(last()).toEqual(["document", true, null])
    expect(await renewed()).toBe(`signed in: ${owner.loginName}`)
    expect(last()).toEqual(["iframe", true, null])
  })

  test("gets consent_required once the user has withdrawn it on the account page", async () => {
    await page.goto(`${issuer}/ui/account/sessions`)
    const item = page.getByRole("listitem").filter({ hasText: "Desk" })
    await item.getByText("Asks for your consent again").waitFor()
    await item.getByRole("button", { name: "Revoke access" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Revoke access" }).click()
    await item.waitFor({ state: "detached" })
    expect(await renewed()).toBe("consent_required")
    expect(last()).toEqual(["iframe", false, "consent_required"])
  })

  test("gets consent_required for a client of the same name without consent", async () => {
    await register("Desk")
    expect(await renewed()).toBe("consent_required")
    expect(last()).toEqual(["iframe", false, "consent_required"])
  })

  test("shows the error on a page if the top-level window is redirected", async () => {
    const before = arrived.length
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: `${desk}/callback`,
      response_type: "code",
      scope: "openid",
      prompt: "none",
      state: "s",
      code_challenge: "c".repeat(43),
      code_challenge_method: "S256",
    })
    await page.goto(`${issuer}/oauth/v2/authorize?${query}`)
    await page.getByText("Desk is not verified").waitFor()
    expect(arrived).toHaveLength(before)
  })
})
