import { spawn } from "node:child_process"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openHttpBrowser } from "../support/http-browser.ts"
import {
  binary,
  freePort,
  owner,
  type RunningServer,
  run,
  type ServiceKey,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { connect } from "./service.ts"

const folder = temporaryFolder()
const data = `${folder.path}/data`
let service: RunningServer
let port: number
let key: ServiceKey
beforeAll(async () => {
  port = await freePort()
  key = await setUp(data, `http://localhost:${port}`)
  service = await startLatchkey({ data, port })
})
afterAll(async () => {
  await service?.stop()
  folder.remove()
})

async function recoverOwner() {
  const { code, output } = await run(["admin", "recover", "--data", data, "--json"])
  expect(code, output).toBe(0)
  // Without a server, a line of its log precedes the output.
  return JSON.parse(output.slice(output.indexOf("{")))
}

/** Adds a one-time code by email as the owner's second factor. */
async function addFactor() {
  const token = await serviceToken(service.url, key)
  const get = async (name: string, request: object) => {
    const { status, body } = await connect(service.url, name, { request, token })
    expect(status, name).toBe(200)
    return body
  }
  const queries = [{ loginNameQuery: { loginName: owner.loginName } }]
  const { result } = await get("ListUsers", { queries })
  await get("AddOTPEmail", { userId: result[0].userId })
}

/** Opens the link, sets a new password and signs in with it. */
async function chooseNewPassword(link: string, password: string) {
  const browser = openHttpBrowser()
  const { origin, pathname, search, hash } = new URL(link)
  const first = await browser.get(`${origin}${pathname}${search}`)
  const chosen = await browser.post(first, { code: hash.slice(1) })
  const done = await browser.post(chosen, { password, repeat: password })
  expect(done.text).toContain("Password changed")
  const { loginName } = owner
  const named = await browser.post(await browser.get(`${service.url}/ui/login`), { loginName })
  return browser.post(named, { loginName, password })
}

test("an owner without credentials regains access with one command", async () => {
  const { link, loginName } = await recoverOwner()
  expect(loginName).toBe(owner.loginName)
  const end = await chooseNewPassword(link, "Forgotten-horse-8")
  expect(end.url).toBe(`${service.url}/ui/login/signedin`)
})

test("works while no server runs", async () => {
  await service.stop()
  const { link } = await recoverOwner()
  service = await startLatchkey({ data, port })
  const end = await chooseNewPassword(link, "Forgotten-horse-9")
  expect(end.url).toBe(`${service.url}/ui/login/signedin`)
})

test.each([["while the server runs"], ["while no server runs"]])(
  "removes a factor %s only if confirmed, and names the flags",
  async (when) => {
    const isOffline = when === "while no server runs"
    await addFactor()
    if (isOffline) await service.stop()
    const asked = ["admin", "recover", "--data", data]
    const refused = await run(asked)
    const kept = await run([...asked, "--keep-factors"])
    const again = await run(asked)
    const removed = await run([...asked, "--yes"])
    const free = await run(asked)
    if (isOffline) service = await startLatchkey({ data, port })
    for (const { code, output } of [refused, again]) {
      expect(output).toMatch(
        /would remove the following factors of \S+: codes by email; use --yes .*--keep-factors/,
      )
      expect(output).not.toContain("/ui/login/")
      expect(code).toBe(1)
    }
    expect([kept.code, kept.output.includes("Removed")]).toEqual([0, false])
    expect([removed.code, removed.output.includes("Removed: codes by email.")]).toEqual([0, true])
    expect([free.code, free.output.includes("Removed")]).toEqual([0, false])
  },
)

test("prompts on a terminal, and accepts yes only", async () => {
  await addFactor()
  const typed = async (answer: string) => {
    const command = `"${binary}" admin recover --data "${data}"`
    const child = spawn("script", ["-qec", command, "/dev/null"], { env: {} })
    let output = ""
    let isAnswered = false
    child.stdout.on("data", (chunk) => {
      output += chunk
      if (isAnswered || !output.includes("[y/N] ")) return
      isAnswered = true
      child.stdin.write(`${answer}\r`)
    })
    const code = await new Promise((done) => child.once("close", done))
    return { code, output }
  }
  const no = await typed("")
  expect(no.output).toContain("- codes by email")
  expect(no.output).toMatch(/nothing was changed/)
  expect(no.code).toBe(1)
  const yes = await typed("y")
  expect(yes.output).toContain("Removed: codes by email.")
  expect(yes.code).toBe(0)
})

test("rejects a directory that is not a Latchkey data directory", async () => {
  const { code, output } = await run(["admin", "recover", "--data", `${data}-none`])
  expect(output).toMatch(/^latchkey: no database found in [^\n]+\n$/)
  expect(code).toBe(1)
})
