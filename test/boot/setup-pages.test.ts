import { afterEach, beforeEach, expect, test } from "vitest"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { configOf } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { budgets } from "../../src/kernel/limit.ts"
import { pagesWith } from "../../src/login/index.ts"
import { originOf } from "../../src/server/origin.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { setupPages } from "../../src/server/setup/setup-pages.ts"
import { openSetupToken } from "../../src/server/setup/setup-token.ts"
import { type TextKey, texts } from "../../ui/login/index.ts"
import { temporaryFolder } from "../support/latchkey.ts"

let folder: ReturnType<typeof temporaryFolder>
let services: ServerServices
let secret = ""
let send: (
  token: string,
  address: string,
  headers?: Record<string, string>,
  fields?: object,
) => Promise<Response>

beforeEach(() => {
  folder = temporaryFolder()
  const flags = { "--limits": "0.1", "--log-level": "fatal" }
  const config = configOf({ flags, env: {}, file: {} })
  const master = new Uint8Array(32)
  services = openServices({ config, folder: folderAt(folder.path), master, started: 0 })
  const setupToken = openSetupToken(systemRandom, { open: () => true, closed: () => {} })
  secret = setupToken.renew()
  const assets = { css: "/kit.css", pageJs: "/page.js", icon: "/mark.svg" }
  const pages = setupPages(services, setupToken, pagesWith(assets))
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

const few = budgets.guess.atOnce / 10

test("codes of the set-up link are guessed a few times; the right one still counts", async () => {
  for (let guess = 0; guess < few; guess++) {
    expect((await send(`guess-${guess}`, "198.51.100.7")).status).toBe(403)
  }
  const refused = await send("guess", "198.51.100.7")
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
  expect(await refused.text()).toContain("Too many tries")
  // A header makes nobody somebody else, as long as no proxy is trusted.
  const forwarded = { "x-forwarded-for": "203.0.113.1" }
  expect((await send("guess", "198.51.100.7", forwarded)).status).toBe(429)
  expect((await send("guess", "198.51.100.8")).status).toBe(403)
  // The form is incomplete, but its code is right.
  expect((await send(secret, "198.51.100.7")).status).toBe(400)
})

test("what is wrong is said in the language of who sets up", async () => {
  const fields = {
    organization: "Acme",
    firstName: "Ada",
    lastName: "Love",
    email: "ada@example.com",
  }
  const good = { ...fields, loginName: "ada", password: "Correct-Horse-7" }
  const wrong: readonly (readonly [Partial<typeof good>, TextKey])[] = [
    [{ organization: "" }, "setup.error.name"],
    [{ firstName: " " }, "setup.error.name"],
    [{ lastName: "x".repeat(201) }, "setup.error.name"],
    [{ email: "ada" }, "setup.error.email"],
    [{ loginName: "" }, "setup.error.login_name"],
    [{ password: "simple" }, "setup.error.password_simple"],
    [{ password: "ada@Example.com-1", email: "ada@Example.com-1" }, "password_change.error.name"],
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

test("behind a proxy on this machine that nobody named, all have the wide budget", async () => {
  const forwarded = { "x-forwarded-for": "203.0.113.1" }
  for (let guess = 0; guess < few + 5; guess++) {
    expect((await send("guess", "127.0.0.1", forwarded)).status).toBe(403)
  }
})
