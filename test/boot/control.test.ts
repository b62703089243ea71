import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { ask, type Commands, type Control, serveControl } from "../../src/boot/control.ts"
import { type Folder, openFolder } from "../../src/boot/folder/folder.ts"
import { Fault } from "../../src/kernel/fault.ts"

let folder: Folder
let control: Control | undefined
let bugs: unknown[]

beforeEach(() => {
  folder = openFolder(mkdtempSync(join(tmpdir(), "latchkey-control-")))
  bugs = []
})

afterEach(async () => {
  await control?.close()
  control = undefined
  rmSync(folder.path, { recursive: true, force: true })
})

function serve(commands: Commands): void {
  control = serveControl(folder, commands, (error) => bugs.push(error))
}

it("carries plain values both ways", async () => {
  serve({ echo: async (input) => input, nothing: async () => undefined })
  const value = { text: "ä \u0000 🔑", list: [1, null, { a: true }] }
  expect(await ask(folder, "echo", value)).toEqual(value)
  expect(await ask(folder, "nothing")).toBeNull()
})

it("is open to the owner of the folder only", () => {
  serve({})
  expect((statSync(folder.controlSocket).mode & 0o777).toString(8)).toBe("600")
})

it("faults here as the server faulted there", async () => {
  serve({
    fail: async () => {
      throw new Fault("failed_precondition", "setup.done", "there is an owner already")
    },
  })
  await expect(ask(folder, "fail")).rejects.toMatchObject({
    code: "failed_precondition",
    id: "setup.done",
    message: "there is an owner already",
  })
  expect(bugs).toEqual([])
})

it("keeps a bug on the server's side", async () => {
  serve({ crash: () => Promise.reject(new Error("password=hunter2")) })
  await expect(ask(folder, "crash")).rejects.toThrow("the server ran into a bug; see its log")
  expect(String(bugs[0])).toContain("hunter2")
})

it("does not know commands that nobody wrote down", async () => {
  serve({ status: async () => "ok" })
  for (const name of ["stauts", "constructor", "__proto__", ""]) {
    await expect(ask(folder, name)).rejects.toMatchObject({ code: "unimplemented" })
  }
})

it("says so when no server runs, also when a killed one left its socket", async () => {
  await expect(ask(folder, "status")).rejects.toThrow(/no server runs on .* latchkey serve --data/)
  const dead = Bun.spawnSync([
    process.execPath,
    "-e",
    `Bun.listen({ unix: ${JSON.stringify(folder.controlSocket)}, socket: { data() {} } });
     process.kill(process.pid, "SIGKILL")`,
  ])
  expect(dead.signalCode).toBe("SIGKILL")
  expect(statSync(folder.controlSocket).isSocket()).toBe(true)
  await expect(ask(folder, "status")).rejects.toMatchObject({ id: "start.not_running" })
  serve({ status: async () => "ok" })
  expect(await ask(folder, "status")).toBe("ok")
})

it("takes a file in the socket's place for no server", async () => {
  writeFileSync(folder.controlSocket, "")
  await expect(ask(folder, "status")).rejects.toMatchObject({ id: "start.not_running" })
})

it("finds no server where the folder is a file, or a link to itself", async () => {
  const [file, loop] = [join(folder.path, "file"), join(folder.path, "loop")]
  writeFileSync(file, "")
  symlinkSync(loop, loop)
  for (const path of [file, loop]) {
    const elsewhere = { ...folder, path, controlSocket: join(path, "control.sock") }
    await expect(ask(elsewhere, "status")).rejects.toMatchObject({ id: "start.not_running" })
  }
})

it("works in a folder whose path is longer than a socket's name may be", async () => {
  const deep = join(folder.path, "d".repeat(80), "e".repeat(80))
  const inner = openFolder(deep)
  const long = serveControl(inner, { status: async () => "ok" }, () => {})
  expect(await ask(inner, "status")).toBe("ok")
  await long.close()
})
