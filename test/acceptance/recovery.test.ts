import { spawn } from "node:child_process"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  binary,
  freePort,
  owner,
  type Running,
  run,
  type ServiceKey,
  serviceToken,
  setUp,
  start,
  temporaryFolder,
} from "../support/latchkey.ts"
import { visit } from "../support/visitor.ts"
import { connect } from "./service.ts"

const folder = temporaryFolder()
const data = `${folder.path}/data`
let service: Running
let port: number
let key: ServiceKey
beforeAll(async () => {
  port = await freePort()
  key = await setUp(data, `http://localhost:${port}`)
  service = await start({ data, port })
})
afterAll(async () => {
  await service?.stop()
  folder.remove()
})

async function recover() {
  const { code, output } = await run(["admin", "recover", "--data", data, "--json"])
  expect(code, output).toBe(0)
  // Without a server its line in the log comes before.
  return JSON.parse(output.slice(output.indexOf("{")))
}

/** Lets the owner prove themselves by codes that are sent by email. */
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

/** Follows the link in a browser and signs in with the password that was chosen there. */
async function choose(link: string, password: string) {
  const browser = visit()
  const { origin, pathname, search, hash } = new URL(link)
  const first = await browser.get(`${origin}${pathname}${search}`)
  const chosen = await browser.post(first, { code: hash.slice(1) })
  const done = await browser.post(chosen, { password, repeat: password })
  expect(done.text).toContain("Password changed")
  const { loginName } = owner
  const named = await browser.post(await browser.get(`${service.url}/ui/login`), { loginName })
  return browser.post(named, { loginName, password })
}

test("an owner who has forgotten everything gets in by one command", async () => {
  const { link, loginName } = await recover()
  expect(loginName).toBe(owner.loginName)
  const end = await choose(link, "Forgotten-horse-8")
  expect(end.url).toBe(`${service.url}/ui/login/signedin`)
})

test("also while no server runs", async () => {
  await service.stop()
  const { link } = await recover()
  service = await start({ data, port })
  const end = await choose(link, "Forgotten-horse-9")
  expect(end.url).toBe(`${service.url}/ui/login/signedin`)
})

test.each([["while the server runs"], ["while no server runs"]])(
  "removes a factor %s only if that was agreed to, and names the flags",
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
    if (isOffline) service = await start({ data, port })
    for (const { code, output } of [refused, again]) {
      expect(output).toMatch(/would remove from \S+: codes by email; --yes .*--keep-factors/)
      expect(output).not.toContain("/ui/login/")
      expect(code).toBe(1)
    }
    expect([kept.code, kept.output.includes("Removed")]).toEqual([0, false])
    expect([removed.code, removed.output.includes("Removed: codes by email.")]).toEqual([0, true])
    expect([free.code, free.output.includes("Removed")]).toEqual([0, false])
  },
)

test("asks on a terminal, and takes nothing but yes for one", async () => {
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

test("the folder must be one of Latchkey's", async () => {
  const { code, output } = await run(["admin", "recover", "--data", `${data}-none`])
  expect(output).toMatch(/^latchkey: there is no database in [^\n]+\n$/)
  expect(code).toBe(1)
})
