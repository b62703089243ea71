import { spawn } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { findViolations } from "../support/axe.ts"
import { openBrowser } from "../support/browser.ts"
import { binary, freePort, run, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"

const folder = temporaryFolder()
const kept = join(folder.path, "kept")
afterAll(() => folder.remove())

/** A development instance; `stop` returns its exit code. */
async function develop(...args: string[]) {
  const [port, grpcPort] = [await freePort(), await freePort()]
  const listen = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", `127.0.0.1:${grpcPort}`]
  const child = spawn(binary, ["dev", ...listen, ...args], { env: { TMPDIR: folder.path } })
  let output = ""
  child.stdout.on("data", (chunk) => (output += chunk))
  child.stderr.on("data", (chunk) => (output += chunk))
  const ended = new Promise<number | null>((done) => child.once("exit", done))
  const url = `http://localhost:${port}`
  const isUp = () => output.includes(`${url}/dev`)
  await until(() => isUp() || child.exitCode !== null, { what: () => output, limitMs: 60_000 })
  if (!isUp()) throw new Error(output)
  const stop = () => {
    child.kill("SIGTERM")
    return ended
  }
  return { url, stop, output: () => output }
}

test("deletes its data directory, unless one is named, which no other mode opens", async () => {
  const first = await develop()
  const [made = ""] = await Array.fromAsync(new Bun.Glob("latchkey-dev-*").scan(onlyFolders))
  expect(existsSync(join(folder.path, made, "latchkey.db"))).toBe(true)
  expect(await first.stop()).toBe(0)
  expect(existsSync(join(folder.path, made))).toBe(false)

  const second = await develop("--data", kept)
  await second.stop()
  const third = await develop("--data", kept)
  await third.stop()
  const served = await run(["serve", "--data", kept])
  expect([served.code, served.output]).toEqual([1, expect.stringContaining("latchkey dev --data")])
  // No other command opens its directory as a regular instance either.
  for (const words of [
    ["backup", join(folder.path, "kept.backup")],
    ["move", "--to", "postgres://127.0.0.1:9/latchkey"],
  ]) {
    const { code, output } = await run([...words, "--data", kept])
    expect([code, output]).toEqual([1, expect.stringContaining("was created by latchkey dev")])
  }
})
const onlyFolders = { cwd: folder.path, onlyFiles: false }

test("uses fixed public signing keys if configured, and reports it", async () => {
  const keysOf = async (...args: string[]) => {
    const { url, stop } = await develop(...args)
    const keys = await (await fetch(`${url}/oauth/v2/keys`)).json()
    const page = await (await fetch(`${url}/dev`)).text()
    await stop()
    return { keys, isSaid: page.includes("fixed keys that are public") }
  }
  const first = await keysOf("--fixed-keys")
  expect(first.keys.keys.map(({ alg }: { alg: string }) => alg).sort()).toEqual(["ES256", "RS256"])
  expect(first.isSaid).toBe(true)
  expect(await keysOf("--fixed-keys")).toEqual(first)
  const other = await keysOf()
  expect(other.isSaid).toBe(false)
  for (const { n } of other.keys.keys) expect(JSON.stringify(first.keys)).not.toContain(n ?? "none")
  const mixed = await run(["dev", "--fixed-keys", "--data", kept])
  expect([mixed.code, mixed.output]).toEqual([1, expect.stringContaining("without --fixed-keys")])
  const served = await run(["serve", "--fixed-keys"])
  expect(served.code).toBe(2)
})

test("rejects a directory that is not empty, and every host but this machine", async () => {
  const other = join(folder.path, "other")
  mkdirSync(other)
  writeFileSync(join(other, "latchkey.db"), "somebody's")
  const foreign = await run(["dev", "--data", other])
  expect(foreign.output).toContain("was not created by latchkey dev")
  for (const flags of [
    ["--listen", ":8080"],
    ["--grpc-listen", "0.0.0.0:1"],
  ]) {
    const refused = await run(["dev", "--data", kept, ...flags])
    expect([refused.code, refused.output]).toEqual([
      1,
      expect.stringContaining("must listen on a loopback address"),
    ])
  }
})

describe.runIf(needs("chromium"))("in a browser", () => {
  let server: Awaited<ReturnType<typeof develop>>
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    server = await develop()
    browser = await openBrowser()
    page = await browser.newPage({ bypassCSP: true, locale: "en" })
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  const mark = () => page.getByRole("link", { name: "Development instance" })

  test("the demo application signs in as any user, and shows the claims", async () => {
    await page.goto(`${server.url}/dev`)
    expect(await findViolations(page)).toEqual([])
    await page.getByRole("button", { name: "Sign in as Grace Hopper" }).click()
    await page.getByText("You are signed in as Grace Hopper.").waitFor()
    const claims = JSON.parse((await page.locator("details code").first().textContent()) ?? "")
    expect(claims).toMatchObject({ sub: "grace", iss: server.url, azp: "development-demo" })
    expect(claims["urn:core:iam:org:project:notes:roles"]).toHaveProperty("editor")
    expect(await findViolations(page)).toEqual([])
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("link", { name: "Sign in", exact: true }).click()
    await page.locator('[name="loginName"]').waitFor()
    expect(await mark().isVisible()).toBe(true)
  })

  test("messages are not sent, and their links work", async () => {
    await page.fill('[name="loginName"]', "alan@acme.example")
    await page.click('button[type="submit"]')
    await page.getByRole("link", { name: "Forgot password?" }).click()
    await page.getByRole("button", { name: "Send link" }).click()
    await page.getByRole("heading", { name: "Check your email" }).waitFor()
    const link = page.locator("article a")
    for (let tries = 0; tries < 50 && (await link.count()) === 0; tries++) {
      await page.goto(`${server.url}/dev/messages`)
    }
    expect(await page.getByText("Mail to alan@acme.example").isVisible()).toBe(true)
    expect(await findViolations(page)).toEqual([])
    await link.first().click()
    await page.getByRole("heading", { name: "Choose a new password" }).waitFor()
  })

  test("the console shows that the instance is for development, and opens as owner", async () => {
    await page.goto(`${server.url}/dev`)
    await page.getByRole("button", { name: "Open the console as Ada Lovelace" }).click()
    await page.getByRole("heading", { name: "Projects", level: 1 }).waitFor()
    expect(await mark().isVisible()).toBe(true)
  })

  test("forms of other sites or under another host sign nobody in", async () => {
    const body = new URLSearchParams({ user: "grace", to: "demo", csrf: "guessed" })
    const posted = await fetch(`${server.url}/dev/sign-in`, {
      method: "POST",
      body,
      redirect: "manual",
    })
    expect([posted.status, posted.headers.get("location")]).toEqual([303, "/dev"])
    const rebound = await fetch(`${server.url}/dev`, { headers: { host: "evil.example" } })
    expect(rebound.status).not.toBe(200)
  })
})
