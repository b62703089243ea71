import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { formatFailure, listenError } from "../../src/boot/start-error.ts"
import { shortVersion, version } from "../../src/boot/version.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { runProgram } from "./child.ts"

let data: string

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "latchkey-main-"))
})

afterEach(() => rmSync(data, { recursive: true, force: true }))

const runLatchkey = (...args: string[]) => runProgram("../../src/main.ts", args).ended

it("prints its version, which is that of the package", async () => {
  const file = join(import.meta.dirname, "../../package.json")
  expect(version).toBe(JSON.parse(readFileSync(file, "utf8")).version)
  expect(shortVersion).toMatch(/^\d+\.\d+/)
  expect(await runLatchkey("version")).toEqual({ code: 0, output: `latchkey ${version}\n` })
})

it("reports in one line why it does not start, and changes nothing", async () => {
  const file = join(data, "file")
  writeFileSync(file, "a file")
  const key = join(data, "key")
  writeFileSync(key, "short")
  const setUpWith = [
    "setup",
    "--data",
    data,
    "--public-url",
    "http://localhost",
    "--org",
    "Acme",
    "--owner",
    "ada",
    "--owner-email",
    "ada@example.com",
    "--owner-password-file",
    file,
  ]
  const cases = [
    { args: ["serve", "--data", file], code: 1, says: /it is not a directory/ },
    { args: ["serve", "--listen", "8080"], code: 1, says: /--listen must be HOST:PORT/ },
    { args: ["serve", "--config", `${file}.toml`], code: 1, says: /can't be read \(ENOENT\)/ },
    { args: ["serve", "--lisetn", ":1"], code: 2, says: /did you mean --listen\?/ },
    { args: ["setup-link", "--data", data], code: 1, says: /no server runs on/ },
    { args: ["setup", "--data", data], code: 2, says: /latchkey setup requires --org, --owner,/ },
    {
      args: [...setUpWith, "--password-rules", "short"],
      code: 2,
      says: /must be one of: length, comp/,
    },
  ]
  for (const { args, code, says } of cases) {
    const ended = await runLatchkey(...args)
    expect(ended.output).toMatch(says)
    expect(ended.output).toMatch(/^latchkey: [^\n]+\n$/)
    expect(ended.code).toBe(code)
  }
  expect(existsSync(join(data, "lock"))).toBe(false)
})

it("names the flag for a port that is in use", () => {
  const address = { host: "127.0.0.1", port: 8080 }
  const taken = Object.assign(new Error("in use"), { code: "EADDRINUSE" })
  const refused = listenError(taken, "--listen", address)
  expect(refused).toBeInstanceOf(Fault)
  expect(formatFailure(refused)).toBe(
    "latchkey: another program already listens on 127.0.0.1:8080; " +
      "stop it, or choose another port with --listen HOST:PORT",
  )
  const bug = new Error("else")
  expect(listenError(bug, "--listen", address)).toBe(bug)
})
