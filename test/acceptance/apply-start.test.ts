// A server configured by files: the first start sets it up, later starts update it, and invalid
// files don't stop it.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, expect, test } from "vitest"
import { openHttpBrowser } from "../support/http-browser.ts"
import {
  freePort,
  type RunningServer,
  run,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { until } from "../support/wait.ts"

const folder = temporaryFolder()
const files = join(folder.path, "files")
const data = join(folder.path, "data")
const password = "Correct-horse-9"
const plantedSecret = "planted-5ecret"
mkdirSync(files)
writeFileSync(join(files, "password"), `${password}\n`)
writeFileSync(join(files, "secret"), plantedSecret)

let server: RunningServer | undefined
afterEach(async () => void (await server?.stop()))
afterAll(() => folder.remove())

const port = await freePort()
const url = `http://localhost:${port}`

async function serve(described: string) {
  writeFileSync(join(files, "a.yaml"), described)
  const started = await startLatchkey({ data, port, args: ["--public-url", url, "--apply", files] })
  server = started
  // Without the color codes for terminals.
  return { ...started, output: () => Bun.stripANSI(started.output()).replaceAll("'", "") }
}

async function doctor() {
  const { output } = await run([
    "doctor",
    "--data",
    data,
    "--public-url",
    url,
    "--listen",
    `127.0.0.1:${port}`,
    "--json",
  ])
  return JSON.parse(output).findings.find(({ check }: { check: string }) => check === "apply")
}

/**
 * The value once `isRight` accepts it, or the last value after the timeout, so that the test shows
 * it.
 */
async function eventually<T>(look: () => Promise<T>, isRight: (seen: T) => boolean): Promise<T> {
  let seen = await look()
  const looksRight = async () => {
    if (!isRight(seen)) seen = await look()
    return isRight(seen)
  }
  await until(looksRight, { limitMs: 60_000 }).catch(() => undefined)
  return seen
}

const waitUntilApplied = () => eventually(doctor, (result) => result?.state === "ok")

async function events(...flags: readonly string[]) {
  const { output } = await run(["events", "search", "--data", data, "--json", ...flags])
  return output
}

const setup = `
setup:
  organization: Acme
  owner: eva@acme.example
  ownerEmail: eva@acme.example
  ownerPassword: { $file: password }
`
const providersYaml = `
providers:
  - { name: Head office, oidc: { issuer: "https://login.example.com", clientId: latchkey,
      clientSecret: { $file: secret } } }
organizations:
  - name: Acme
    projects:
      - name: Wiki
        applications:
          - name: Wiki
            apiConfiguration: { authMethodType: API_AUTH_METHOD_TYPE_BASIC }
`

test("the first start sets up the server and creates what the files describe", async () => {
  const { output } = await serve(setup + providersYaml)
  expect(await waitUntilApplied()).toMatchObject({
    state: "ok",
    said: expect.stringContaining(files),
  })
  expect(output()).toContain(`setup completed at ${url}`)
  expect(output()).not.toContain("/setup#")
  expect(output()).toMatch(/applied .*: create project Wiki of organization Acme/)
  expect(output()).toMatch(/applied .*: create provider Head office/)
  for (const secret of [plantedSecret, password]) expect(output()).not.toContain(secret)
  expect(output()).not.toMatch(/clientSecret\s+\S{20}/)

  const browser = openHttpBrowser()
  const named = await browser.post(await browser.get(`${url}/ui/login`), {
    loginName: "eva@acme.example",
  })
  const end = await browser.post(named, { loginName: "eva@acme.example", password })
  expect(end.text).not.toContain('type="password"')
  const made = await events("--type", "project.added")
  expect(made).toContain("Wiki")
  expect(made).toContain("described")
})

test("a second start changes nothing, and a third one applies a changed file", async () => {
  const second = await serve(setup + providersYaml)
  await waitUntilApplied()
  expect(second.output()).toContain(`everything matches ${files}`)
  expect(second.output()).not.toContain("applied ")
  await second.stop()
  const third = await serve((setup + providersYaml).replace("login.example.com", "sso.example.com"))
  await waitUntilApplied()
  expect(third.output()).toMatch(/applied .*: change provider Head office: issuer/)
})

test("invalid files are reported, and the server continues with its stored data", async () => {
  const { output } = await serve(`${setup}\nusers: []\n`)
  expect((await fetch(`${url}/debug/ready`)).status).toBe(200)
  const found = await eventually(doctor, (each) => !each?.said.includes("not applied yet"))
  expect(found).toMatchObject({
    state: "wrong",
    said: expect.stringContaining('unknown name "users"; expected organizations'),
  })
  expect(output()).toMatch(/could not be applied: .*unknown name "users"/)
  expect((await fetch(`${url}/.well-known/openid-configuration`)).status).toBe(200)
})

test("missing files are reported", async () => {
  const gone = join(folder.path, "gone")
  server = await startLatchkey({ data, port, args: ["--public-url", url, "--apply", gone] })
  const found = await eventually(doctor, (each) => !each?.said.includes("not applied yet"))
  expect(found).toMatchObject({ state: "wrong" })
  expect(found.said).toContain("file or directory not found")
})

test("an empty data directory without an owner in the files keeps its setup link", async () => {
  writeFileSync(join(files, "a.yaml"), providersYaml)
  const empty = join(folder.path, "empty")
  server = await startLatchkey({ data: empty, port, args: ["--public-url", url, "--apply", files] })
  expect(server.output()).toContain("no instance is set up yet")
  expect(server.output()).toContain("/setup#")
})
