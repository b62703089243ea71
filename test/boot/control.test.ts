import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { type Commands, type Control, sendCommand, serveControl } from "../../src/boot/control.ts"
import { type Folder, openFolder } from "../../src/boot/folder/folder.ts"
import { Fault } from "../../src/kernel/fault.ts"

let folder: Folder
let control: Control | undefined
let reportedErrors: unknown[]

beforeEach(() => {
  folder = openFolder(mkdtempSync(join(tmpdir(), "latchkey-control-")))
  reportedErrors = []
})

afterEach(async () => {
  await control?.close()
  control = undefined
  rmSync(folder.path, { recursive: true, force: true })
})

function serve(commands: Commands): void {
  control = serveControl(folder, commands, (error) => reportedErrors.push(error))
}

it("transfers plain values in both directions", async () => {
  serve({ echo: async (input) => input, nothing: async () => undefined })
  const value = { text: "ä \u0000 🔑", list: [1, null, { a: true }] }
  expect(await sendCommand(folder, "echo", value)).toEqual(value)
  expect(await sendCommand(folder, "nothing")).toBeNull()
})

it("is accessible to the directory's owner only", () => {
  serve({})
  expect((statSync(folder.controlSocket).mode & 0o777).toString(8)).toBe("600")
})

it("throws the fault that the server threw", async () => {
  serve({
    fail: async () => {
      throw new Fault("failed_precondition", "setup.done", "there is an owner already")
    },
  })
  await expect(sendCommand(folder, "fail")).rejects.toMatchObject({
    code: "failed_precondition",
    id: "setup.done",
    message: "there is an owner already",
  })
  expect(reportedErrors).toEqual([])
})

it("does not send unexpected errors to the client", async () => {
  serve({ crash: () => Promise.reject(new Error("password=hunter2")) })
  await expect(sendCommand(folder, "crash")).rejects.toThrow(
    "the server encountered an internal error; see its log",
  )
  expect(String(reportedErrors[0])).toContain("hunter2")
})

it("rejects unknown commands", async () => {
  serve({ status: async () => "ok" })
  for (const name of ["stauts", "constructor", "__proto__", ""]) {
    await expect(sendCommand(folder, name)).rejects.toMatchObject({ code: "unimplemented" })
  }
})

it("reports that no server runs, even if a killed one left its socket", async () => {
  await expect(sendCommand(folder, "status")).rejects.toThrow(
    /no server runs on .* latchkey serve --data/,
  )
  const dead = Bun.spawnSync([
    process.execPath,
    "-e",
    `Bun.listen({ unix: ${JSON.stringify(folder.controlSocket)}, socket: { data() {} } });
     process.kill(process.pid, "SIGKILL")`,
  ])
  expect(dead.signalCode).toBe("SIGKILL")
  expect(statSync(folder.controlSocket).isSocket()).toBe(true)
  await expect(sendCommand(folder, "status")).rejects.toMatchObject({ id: "start.not_running" })
  serve({ status: async () => "ok" })
  expect(await sendCommand(folder, "status")).toBe("ok")
})

it("reports no server if the socket path is a file", async () => {
  writeFileSync(folder.controlSocket, "")
  await expect(sendCommand(folder, "status")).rejects.toMatchObject({ id: "start.not_running" })
})

it("reports no server if the directory is a file or a link to itself", async () => {
  const [file, loop] = [join(folder.path, "file"), join(folder.path, "loop")]
  writeFileSync(file, "")
  symlinkSync(loop, loop)
  for (const path of [file, loop]) {
    const elsewhere = { ...folder, path, controlSocket: join(path, "control.sock") }
    await expect(sendCommand(elsewhere, "status")).rejects.toMatchObject({
      id: "start.not_running",
    })
  }
})

it("works in a directory with a path longer than a socket name can be", async () => {
  const deep = join(folder.path, "d".repeat(80), "e".repeat(80))
  const inner = openFolder(deep)
  const long = serveControl(inner, { status: async () => "ok" }, () => {})
  expect(await sendCommand(inner, "status")).toBe("ok")
  await long.close()
})
