import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { instance, ownersOf } from "../../src/domain/instance/index.ts"
import {
  findPolicy,
  login,
  passwordComplexity,
  setupComplexity,
} from "../../src/domain/policy/index.ts"
import { policies } from "../../src/domain/policy/model.ts"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { findUserName } from "../../src/domain/user-lookup/query.ts"
import { originOf, type RequestOrigin } from "../../src/http/origin.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { budgets } from "../../src/kernel/limit.ts"
import { createShowPage } from "../../src/login/index.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { setupLinkPage, setupRoutes } from "../../src/server/setup/routes.ts"
import { createToken } from "../../src/server/setup/setup-token.ts"
import { type TextKey, texts } from "../../ui/login/index.ts"
import { routeBy } from "../http/answering.ts"
import { temporaryFolder } from "../support/latchkey.ts"

let folder: ReturnType<typeof temporaryFolder>
let services: ServerServices
let secret = ""
let pages: (request: Request, origin: RequestOrigin) => Promise<Response | undefined>
let network: (url: string) => Promise<Response>
let send: (
  token: string,
  address: string,
  headers?: Record<string, string>,
  fields?: object,
) => Promise<Response>

beforeEach(() => {
  folder = temporaryFolder()
  const flags = { "--limits": "0.1", "--log-level": "fatal" }
  const config = parseConfig({ flags, env: {}, file: {} })
  const master = new Uint8Array(32)
  services = openServices({ config, folder: folderAt(folder.path), master, started: 0 })
  const setupToken = createToken(systemRandom, { open: () => true, closed: () => {} })
  secret = setupToken.renew()
  const assets = { css: "/kit.css", pageJs: "/page.js", icon: "/mark.svg" }
  network = () => Promise.reject(Object.assign(new Error("no route"), { code: "ENOTFOUND" }))
  // Reason for the cast: the type of fetch has properties that are never used.
  const reach = ((url: string) => network(url)) as typeof fetch
  const show = createShowPage(assets)
  const routes = setupRoutes(services, setupToken, show, reach)
  pages = (request, origin) => {
    const router = routeBy([routes], async (visit, route) => {
      const page = await route.beforeSetup?.(visit, origin)
      return page ?? setupLinkPage(services, show, { ...visit, origin })
    })
    return router({ request, url: new URL(request.url), peer: () => origin.peer })
  }
  send = async (token, address, headers = {}, fields = {}) => {
    const body = new URLSearchParams({ token, publicUrl: "http://localhost", ...fields })
    const request = new Request("http://localhost/setup", { method: "POST", body, headers })
    const answer = await pages(
      request,
      originOf(services, request, () => address),
    )
    return answer ?? new Response(null, { status: 404 })
  }
})
afterEach(async () => {
  await services.store.close()
  folder.remove()
})

const guessLimit = budgets.guess.atOnce / 10

test("codes of the setup link can be guessed a few times; the right one stays valid", async () => {
  for (let guess = 0; guess < guessLimit; guess++) {
    expect((await send(`guess-${guess}`, "198.51.100.7")).status).toBe(403)
  }
  const refused = await send("guess", "198.51.100.7")
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
  expect(await refused.text()).toContain("Too many attempts")
  // A header does not change the sender unless a proxy is trusted.
  const forwarded = { "x-forwarded-for": "203.0.113.1" }
  expect((await send("guess", "198.51.100.7", forwarded)).status).toBe(429)
  expect((await send("guess", "198.51.100.8")).status).toBe(403)
  // The form is incomplete, but its code is valid.
  expect((await send(secret, "198.51.100.7")).status).toBe(400)
})

test("errors are shown in the visitor's language", async () => {
  const fields = {
    organization: "Acme",
    firstName: "Ada",
    lastName: "Love",
    email: "ada@example.com",
  }
  const good = { ...fields, loginName: "ada", password: "correct horse battery" }
  const wrong: readonly (readonly [Partial<typeof good>, TextKey])[] = [
    [{ organization: "" }, "setup.error.name"],
    [{ firstName: " " }, "setup.error.name"],
    [{ lastName: "x".repeat(201) }, "setup.error.name"],
    [{ email: "ada" }, "setup.error.email"],
    [{ loginName: "x".repeat(201) }, "setup.error.login_name"],
    [{ password: "ada@Example.com-1", email: "ada@Example.com-1" }, "password_change.error.name"],
    [{ password: "passwordpassword1" }, "password_change.error.common"],
    [{ password: `Aa1-${"x".repeat(1100)}` }, "password_change.error.long"],
  ]
  for (const [change, key] of wrong) {
    const answer = await send(
      secret,
      "198.51.100.7",
      { "accept-language": "de" },
      { ...good, ...change },
    )
    expect(answer.status, key).toBe(400)
    expect(await answer.text(), key).toContain(texts.de[key])
  }
})

const completedForm = {
  organization: "Acme",
  firstName: "Ada",
  lastName: "Love",
  email: "ada@example.com",
  password: "correct horse battery",
}
const visitorAddress = "198.51.100.7"

const owner = () =>
  services.store.state(services.call(firstInstance, "test"), instance, firstInstance)

test("an unmet password rule is named, and the password field has the focus", async () => {
  const answer = await send(
    secret,
    visitorAddress,
    {},
    { ...completedForm, password: "fourteen chars" },
  )
  const page = await answer.text()
  expect(answer.status).toBe(400)
  expect(page).toContain("Use at least 15 characters")
  expect(page).toMatch(/<input(?=[^>]*name="password")[^>]*autofocus=""/i)
  expect(page).not.toMatch(/<input(?=[^>]*name="organization")[^>]*autofocus=""/i)
  expect(page).toContain('value="Acme"')
})

test("a new instance requires fifteen characters of any kind, also in its policy", async () => {
  expect((await send(secret, visitorAddress, {}, completedForm)).status).toBe(303)
  const cx = services.call(firstInstance, "test")
  const { values, isDefault } = findPolicy(cx, undefined, passwordComplexity)
  expect({ values, isDefault }).toEqual({ values: setupComplexity, isDefault: true })
  expect(services.store.state(cx, policies, "instance")["password.complexity"]).toBeDefined()
})

test("a new instance allows recovery codes, an older one does not", async () => {
  expect((await send(secret, visitorAddress, {}, completedForm)).status).toBe(303)
  const { values } = findPolicy(services.call(firstInstance, "test"), undefined, login)
  expect(values).toEqual({ ...login.standard, secondFactors: ["otp", "u2f", "recovery_codes"] })
  expect(login.standard.secondFactors).toEqual(["otp", "u2f"])
})

test("the login name defaults to the email address", async () => {
  expect((await send(secret, visitorAddress, {}, completedForm)).status).toBe(303)
  const [first] = ownersOf(owner())
  const cx = services.call(firstInstance, "test")
  expect(first && findUserName(cx, first.userId)).toBe("ada@example.com")
})

describe("the public address", () => {
  const get = async (headers: Record<string, string>) => {
    const request = new Request("http://id.example.com/setup", {
      headers: { accept: "text/html", ...headers },
    })
    const origin = originOf(services, request, () => "127.0.0.1")
    return (await pages(request, origin))?.text()
  }
  const secure = { publicUrl: "https://id.example.com", browserOrigin: "https://id.example.com" }

  test("defaults to the scheme that a proxy reports", async () => {
    expect(await get({ "x-forwarded-proto": "https" })).toContain('value="https://id.example.com"')
    expect(await get({ "x-forwarded-proto": "gopher" })).toContain('value="http://id.example.com"')
  })

  test("defaults to the browser's address, where the owner is signed in", async () => {
    const answer = await send(secret, visitorAddress, {}, { ...completedForm, ...secure })
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/ui/console/"])
    expect(answer.headers.get("set-cookie")).toMatch(/^__Host-.*; Secure/)
    expect(owner().publicUrl).toBe("https://id.example.com")
  })

  test("is rejected until it is confirmed if it leads elsewhere", async () => {
    const plain = { ...completedForm, ...secure, publicUrl: "http://id.example.com" }
    const refused = await send(secret, visitorAddress, {}, plain)
    const page = await refused.text()
    expect(refused.status).toBe(400)
    expect(page).toContain("reached at http://id.example.com (ENOTFOUND)")
    expect(page).toContain("Your browser reached it at https://id.example.com")
    expect(page).toMatch(/name="keptUrl" value="http:\/\/id\.example\.com"/)
    expect(services.store.newest()).toBeFalsy()
    // The confirmation applies to that address only.
    const other = { ...plain, publicUrl: "http://other.example.com" }
    const kept = { keptUrl: "http://id.example.com" }
    expect((await send(secret, visitorAddress, {}, { ...other, ...kept })).status).toBe(400)
    // The password need not be entered again, and is nowhere in the page.
    expect(page).not.toContain(completedForm.password)
    const keptPassword = /name="keptPassword" value="([^"]+)"/.exec(page)?.[1] ?? ""
    const again = { ...plain, ...kept, password: "", keptPassword }
    const forged = { ...again, keptPassword: `${keptPassword.slice(0, -2)}xx` }
    expect((await send(secret, visitorAddress, {}, forged)).status).toBe(400)
    const foreign = {
      ...again,
      keptPassword: services.secrets.seal("cookie", "[]", "setup/password/x"),
    }
    expect((await send(secret, visitorAddress, {}, foreign)).status).toBe(400)
    expect((await send(secret, visitorAddress, {}, again)).status).toBe(303)
    expect(owner().publicUrl).toBe("http://id.example.com")
  })

  test("is accepted if it leads to this server, whatever address the browser uses", async () => {
    network = async (url) => {
      const request = new Request(url)
      const origin = originOf(services, request, () => "127.0.0.1")
      return (await pages(request, origin)) ?? new Response(null, { status: 404 })
    }
    const local = { ...secure, browserOrigin: "http://192.0.2.7:8080" }
    const answer = await send(secret, visitorAddress, {}, { ...completedForm, ...local })
    // A session would be useless at the other address.
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"])
    expect(answer.headers.get("set-cookie")).toBeNull()
  })

  test("is rejected if it is that of another server, whatever that answers", async () => {
    const elsewhere = { ...completedForm, ...secure, publicUrl: "https://other.example.com" }
    for (const answer of [
      () => new Response("nothing of ours"),
      () => new Response("x".repeat(5000)),
      () => Response.redirect("http://localhost/setup/reached/"),
      () => new Response(null, { status: 204 }),
    ]) {
      network = async () => answer()
      expect((await send(secret, visitorAddress, {}, elsewhere)).status).toBe(400)
    }
  })

  test("is not tried without the code", async () => {
    let tries = 0
    network = async () => {
      tries++
      return new Response()
    }
    const elsewhere = { ...completedForm, ...secure, publicUrl: "https://other.example.com" }
    expect((await send("guess", visitorAddress, {}, elsewhere)).status).toBe(403)
    expect(tries).toBe(0)
  })
})

test("behind an unlisted proxy on this machine, all clients have the large budget", async () => {
  const forwarded = { "x-forwarded-for": "203.0.113.1" }
  for (let guess = 0; guess < guessLimit + 5; guess++) {
    expect((await send("guess", "127.0.0.1", forwarded)).status).toBe(403)
  }
})
