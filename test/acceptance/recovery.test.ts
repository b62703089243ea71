import { afterAll, beforeAll, expect, test } from "vitest"
import {
  freePort,
  owner,
  type Running,
  run,
  setUp,
  start,
  temporaryFolder,
} from "../support/latchkey.ts"
import { visit } from "../support/visitor.ts"

const folder = temporaryFolder()
const data = `${folder.path}/data`
let service: Running
let port: number
beforeAll(async () => {
  port = await freePort()
  await setUp(data, `http://localhost:${port}`)
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

/** Follows the link in a browser and signs in with the password that was chosen there. */
async function choose(link: string, password: string) {
  const browser = visit()
  const { origin, pathname, search, hash } = new URL(link)
  const first = await browser.get(`${origin}${pathname}${search}`)
  const chosen = await browser.post(first, { code: hash.slice(1) })
  const done = await browser.post(chosen, { password, repeat: password })
  expect(done.text).toContain("Your password is changed")
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

test("the folder must be one of Latchkey's", async () => {
  const { code, output } = await run(["admin", "recover", "--data", `${data}-none`])
  expect(output).toMatch(/^latchkey: there is no database in [^\n]+\n$/)
  expect(code).toBe(1)
})
