// From a release archive to a user signed in to the demo application: on a machine with nothing
// else installed, with only the output of the program and its pages.
import { spawn } from "node:child_process"
import { cpSync, existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { afterAll, describe, expect, test } from "vitest"
import { openBrowser } from "../support/browser.ts"
import { binary, freePort, temporaryFolder } from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"
import { until } from "../support/wait.ts"

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** A user may take five minutes; most of that is not the machine's time. */
const machineMs = 60_000

/** Runs the unpacked binary with an environment that contains only a temporary directory. */
function runUnpacked(...words: readonly string[]) {
  const child = spawn("./latchkey", words, { cwd: folder.path, env: { TMPDIR: folder.path } })
  let said = ""
  child.stdout.on("data", (chunk) => (said += chunk))
  child.stderr.on("data", (chunk) => (said += chunk))
  const ended = new Promise<number | null>((done) => child.once("close", done))
  const stop = () => child.kill("SIGTERM") && ended
  return { said: () => said, ended, stop }
}

describe.runIf(needs("chromium"))("a user who has unpacked a release", () => {
  test("follows the printed instructions, and signs in to the demo application", async () => {
    const began = Date.now()
    cpSync(binary, join(folder.path, "latchkey"))
    const asked = runUnpacked()
    await asked.ended
    const [, command = ""] = /^ *(\w+) .* a demo application/m.exec(asked.said()) ?? []
    expect(command).toBe("dev")

    // The default ports may be in use on this machine.
    const listen = ["--listen", `127.0.0.1:${await freePort()}`]
    const server = runUnpacked(command, ...listen, "--grpc-listen", `127.0.0.1:${await freePort()}`)
    const address = /(http:\/\/localhost:\d+\/\S+)/
    let browser: Browser | undefined
    try {
      await until(() => address.test(server.said()), { limitMs: machineMs })
      browser = await openBrowser()
      const page = await browser.newPage({ locale: "en" })
      await page.goto(address.exec(server.said())?.[1] ?? "")
      const shown = await page.locator("main").innerText()
      const [, password = ""] = /password of all users is (\S+)\./.exec(shown) ?? []
      const [loginName = ""] = /\S+@acme\.example/.exec(shown) ?? []
      await page.getByRole("link", { name: "Open the demo application" }).click()
      await page.getByRole("link", { name: "Sign in" }).click()
      await page.getByLabel("Login name").fill(loginName)
      await page.getByRole("button", { name: "Continue" }).click()
      await page.getByLabel("Password", { exact: true }).fill(password)
      await page.getByRole("button", { name: "Sign in" }).click()
      await page.getByText("You are signed in as Ada Lovelace.").waitFor()
      expect(Date.now() - began).toBeLessThan(machineMs)
      expect(server.said()).not.toMatch(/\[(WRN|ERR|FTL)\]/)
    } finally {
      await browser?.close()
      expect(await server.stop()).toBe(0)
    }
    rmSync(join(folder.path, "latchkey"))
    expect(existsSync(join(folder.path, "latchkey-data"))).toBe(false)
  })
})
