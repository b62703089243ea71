// Setup by a browser behind a TLS proxy that sends no forwarded headers: the server sees only http.
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { openBrowser } from "../support/browser.ts"
import { writeCertificate } from "../support/certificate.ts"
import {
  freePort,
  owner,
  type RunningServer,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { type StartedProgram, startProxy } from "../support/proxy.ts"

describe.runIf(needs("nginx"))("setup behind a TLS proxy", () => {
  let folder: ReturnType<typeof temporaryFolder>
  let browser: Browser
  let server: RunningServer
  let proxy: StartedProgram
  let origin = ""
  let page: Page

  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  beforeEach(async () => {
    folder = temporaryFolder()
    const [port, upstream] = [await freePort(), await freePort()]
    const { certFile, keyFile } = await writeCertificate(join(folder.path, "tls"), ["localhost"])
    const data = join(folder.path, "data")
    mkdirSync(data, { mode: 0o700 })
    server = await startLatchkey({ data, port: upstream })
    origin = `https://localhost:${port}`
    proxy = await startProxy("nginx", {
      folder: join(folder.path, "nginx"),
      url: `${origin}/healthz`,
      serverName: "localhost",
      settings: `server {
        listen 127.0.0.1:${port} ssl;
        ssl_certificate ${certFile};
        ssl_certificate_key ${keyFile};
        location / { proxy_pass http://127.0.0.1:${upstream}; proxy_set_header Host $http_host; }
      }`,
    })
    page = await browser.newPage({ ignoreHTTPSErrors: true, locale: "en" })
    page.setDefaultTimeout(60_000)
    const code = /\/setup#(\S+)/.exec(server.output())?.[1]
    await page.goto(`${origin}/setup#${code}`)
  })
  afterEach(async () => {
    await page?.close()
    await proxy?.stop()
    await server?.stop()
    folder.remove()
  })

  const fill = async (password: string) => {
    await page.fill('[name="organization"]', "Acme")
    await page.fill('[name="firstName"]', "Ada")
    await page.fill('[name="lastName"]', "Lovelace")
    await page.fill('[name="email"]', owner.email)
    await page.fill('[name="password"]', password)
  }
  const submit = () => page.click('button[type="submit"]')
  const field = (name: string) => page.locator(`[name="${name}"]`)

  test("suggests the browser's address, and signs the owner in there", async () => {
    await expect.poll(() => field("publicUrl").inputValue()).toBe(origin)
    await page.getByText(`Your browser uses ${origin}, but the server received http`).waitFor()
    await fill("correct horse battery staple")
    expect(await field("loginName").inputValue()).toBe(owner.email)
    await submit()
    await page.getByRole("heading", { name: "First steps" }).waitFor()
    expect(page.url()).toContain(`${origin}/ui/console/`)
  })

  test("keeps the input if a rule is violated or the address is unreachable", async () => {
    await fill("only fourteen.")
    const length = page.locator('[data-rule="length"]')
    expect(await length.getAttribute("data-met")).toBeNull()
    await submit()
    // The browser rejects it, and keeps the cursor in the field.
    expect(await field("password").inputValue()).toBe("only fourteen.")
    expect(await field("password").evaluate((input) => input === document.activeElement)).toBe(true)
    await field("password").pressSequentially("!")
    expect(await length.getAttribute("data-met")).toBe("")
    await field("publicUrl").fill("https://id.example.invalid")
    await submit()
    await page.getByText("This server can't be reached at https://id.example.invalid").waitFor()
    await field("publicUrl").fill(origin)
    expect(await field("organization").inputValue()).toBe("Acme")
    await submit()
    await page.getByRole("heading", { name: "First steps" }).waitFor()
  })

  test("keeps an entered login name", async () => {
    await page.fill('[name="email"]', "ada@example.com")
    await page.fill('[name="loginName"]', "ada")
    await page.fill('[name="email"]', "ada@example.org")
    expect(await field("loginName").inputValue()).toBe("ada")
  })
})
