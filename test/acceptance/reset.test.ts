import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openHttpBrowser, parseForm } from "../support/http-browser.ts"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { openService, type Service } from "./service.ts"

const connections = 20

let server: TestMailServer
let service: Service
let userId: string

beforeAll(async () => {
  server = await startMailServer()
  service = await openService(["--outbound-allow", "127.0.0.1"])
  const admin = (name: string) => `core.admin.v1.AdminService/${name}`
  const smtp = { senderAddress: "id@example.com", senderName: "Acme" }
  const host = `127.0.0.1:${server.port}`
  const { id } = await service.get(admin("AddEmailProviderSMTP"), { ...smtp, host })
  await service.get(admin("ActivateEmailProvider"), { id })
  const organizationId = (await service.get("ListOrganizations")).result[0].id
  const human = {
    profile: { givenName: "Eva", familyName: "Müller" },
    email: { email: "eva@example.com", isVerified: true },
    password: { password: "Correct-horse-7-battery" },
  }
  userId = (await service.get("CreateUser", { organizationId, username: "eva", human })).id
})
afterAll(async () => {
  await service?.close()
  await server?.close()
})

async function waitForLink(count: number): Promise<string> {
  const resets = () =>
    server.received.filter(({ mail }) => mail.text?.includes("/ui/login/password/set"))
  await expect.poll(() => resets().length, { timeout: 60_000 }).toBe(count)
  return /https?:\S+#\S+/.exec(resets().at(-1)?.mail.text ?? "")?.[0] ?? ""
}

/** The cookie and the fields of a page, for requests that no browser would send. */
async function loadForm(path: string) {
  const url = `${service.url}${path}`
  const response = await fetch(url)
  const cookie = response.headers.getSetCookie().map((line) => line.split(";")[0])
  return { ...parseForm({ url, text: await response.text() }), cookie: cookie.join("; ") }
}

describe("the password reset link", () => {
  test("points to the public address, whatever headers the request has", async () => {
    const { action, fields, cookie } = await loadForm("/ui/login/password/forgot")
    const lies = {
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
      forwarded: "host=evil.example;proto=https",
      "x-core-public-host": "evil.example",
    }
    const body = new URLSearchParams({ ...fields, loginName: "eva" })
    const init = { method: "POST", redirect: "manual", body } as const
    const { status } = await fetch(action, { ...init, headers: { cookie, ...lies } })
    expect(status).toBe(303)
    const link = await waitForLink(1)
    expect(link.startsWith(`${service.url}/ui/login/password/set?userId=${userId}&`)).toBe(true)
  })

  test(`works for one of ${connections} concurrent requests`, async () => {
    await service.get("PasswordReset", { userId })
    const link = new URL(await waitForLink(2))
    const code = link.hash.slice(1)
    const attempts = Array.from({ length: connections }, async (_, at) => {
      const browser = openHttpBrowser()
      const first = await browser.get(`${link.origin}${link.pathname}${link.search}`)
      const chosen = await browser.post(first, { code })
      const plain = `Race-horse-${at}-battery`
      return { browser, chosen, fields: { password: plain, repeat: plain } }
    })
    const ready = await Promise.all(attempts)
    const ends = await Promise.all(
      ready.map(({ browser, chosen, fields }) => browser.post(chosen, fields)),
    )
    const won = ends.map(({ text }) => text.includes("Password changed"))
    expect(won.filter((isWon) => isWon)).toHaveLength(1)
    const browser = openHttpBrowser()
    const named = await browser.post(await browser.get(`${service.url}/ui/login`), {
      loginName: "eva",
    })
    const password = ready[won.indexOf(true)]?.fields.password ?? ""
    const end = await browser.post(named, { loginName: "eva", password })
    expect(end.url).toBe(`${service.url}/ui/login/signedin`)
  })
})
