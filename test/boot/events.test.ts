import { afterAll, beforeAll, expect, test } from "vitest"
import { type EventAnswer, eventCommands } from "../../src/boot/command/events.ts"
import { runCommandLine } from "../../src/boot/command-line.ts"
import { type Control, serveControl } from "../../src/boot/control.ts"
import { folderAt } from "../../src/boot/folder/folder.ts"
import { firstInstance } from "../../src/domain/setup/index.ts"
import { unlockUser } from "../../src/domain/user/commands.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { lockUser } from "../../src/domain/user/index.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { createEventControl } from "../../src/server/operator/events.ts"
import { openServices, type ServerServices } from "../../src/server/services.ts"
import { setUpByRequest } from "../../src/server/setup/setup.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { until } from "../support/wait.ts"

const folder = temporaryFolder()
let services: ServerServices
let control: Control
let userId: string
beforeAll(async () => {
  const flags = { "--log-level": "fatal" }
  const config = parseConfig({ flags, env: {}, file: {} })
  const here = folderAt(folder.path)
  services = openServices({ config, folder: here, master: new Uint8Array(32), started: 0 })
  await setUpByRequest(services, {
    publicUrl: "http://localhost",
    org: "Acme",
    owner: "root@acme.example",
    ownerEmail: "root@acme.example",
    ownerPassword: "Correct horse 7 staples",
  })
  control = serve()
  const [added] = (await runJson("search", "--type", "user.human.added")).events
  userId = added?.id ?? ""
  await createUser(services.call(firstInstance, "test"), "robot", {
    kind: "machine",
    orgId: added?.owner ?? "",
    name: "Robot",
    accessTokenType: "bearer",
  })
})
afterAll(async () => {
  await control?.close()
  await services?.store.close()
  folder.remove()
})

/** The number of event requests the server has answered. */
let requestCount = 0
function serve(): Control {
  const commands = createEventControl(services)
  const events = async (input: unknown) => {
    const answer = await commands.events?.(input)
    requestCount++
    return answer
  }
  return serveControl(folderAt(folder.path), { ...commands, events }, () => undefined)
}

const printed: string[] = []
const clock = manualClock(Date.UTC(2100, 0, 1))
const commands = eventCommands({ env: {}, clock, print: (text) => void printed.push(text) })
const about = { name: "latchkey", help: "", version: "1" }

function run(command: string, ...flags: readonly string[]): Promise<string> {
  let text = ""
  const words = ["events", command, "--data", folder.path, ...flags]
  return runCommandLine(about, commands, words, (values) => {
    text += values
  }).then(() => text)
}

const runJson = async (command: string, ...flags: readonly string[]) =>
  JSON.parse(await run(command, ...flags, "--json")) as Pick<EventAnswer, "events">

test("lists events by every filter, without personal data", async () => {
  const all = await runJson("search", "--limit", "1000")
  expect(all.events.length).toBeGreaterThan(5)
  expect(JSON.stringify(all)).not.toMatch(/root@acme|staples|argon2/)
  const types = async (...flags: string[]) =>
    (await runJson("search", ...flags)).events.map((each) => each.type)
  expect(await types("--id", userId, "--aggregate", "user")).toEqual([
    "user.human.password.changed",
    "user.human.added",
  ])
  expect(await types("--since", "90m")).toEqual([])
  expect(await types("--until", "2001-01-01")).toEqual([])
  expect(await types("--owner", "nobody's")).toEqual([])
  expect(await types("--before", "2")).toHaveLength(1)
  expect(await types("--editor", "setup", "--limit", "2")).toHaveLength(2)
  const line = await run("search", "--type", "user.human.added")
  expect(line).toMatch(/^\d+ {2}\d{4}-.*Z {2}user\.human\.added {2}user\/\d+ {2}setup {2}\{.*\}$/)
})

test("names events as the API does, and accepts the stored aggregate, too", async () => {
  for (const aggregate of ["app", "project"]) {
    const search = ["--aggregate", aggregate, "--type", "project.application.added"]
    const [line = ""] = (await run("search", ...search)).split("\n")
    const [, projectId = "", appId = ""] =
      / project\.application\.added {2}project\/(\d+) .*"appId":"(\d+)"/.exec(line) ?? []
    expect([projectId, appId]).not.toContain("")
    for (const id of [projectId, appId]) {
      const { events } = await runJson("search", "--id", id)
      expect(events).toContainEqual(
        expect.objectContaining({ type: "project.application.added", id: projectId }),
      )
    }
    expect(line).not.toContain("stored")
  }
})

test("follows new events, each of which it prints once", async () => {
  const cx = services.call(firstInstance, "test")
  // Ends only with the process: it continues next to the test until its server has stopped.
  const before = requestCount
  const following = run("tail", "--aggregate", "user", "--json").catch((gone) => gone)
  // The command has requested the end of the log and follows from there.
  await until(() => requestCount > before)
  await lockUser(cx, "robot")
  await unlockUser(cx, "robot")
  await until(() => printed.length >= 2)
  const found = requestCount
  await until(() => requestCount >= found + 2)
  expect(printed.map((line) => JSON.parse(line).type)).toEqual(["user.locked", "user.unlocked"])
  const { position } = JSON.parse(printed[0] ?? "")
  await control.close()
  expect(await following).toMatchObject({ id: "start.not_running" })
  control = serve()
  printed.length = 0
  const again = run("tail", "--type", "user.unlocked", "--after", String(position)).catch(() => {})
  await until(() => printed.length > 0)
  expect(printed[0]).toContain("user.unlocked")
  await control.close()
  await again
})

test("reports invalid flags and requires the instance if there are several", async () => {
  await expect(run("search", "--limit", "1001")).rejects.toThrow("from 1 to 1000")
  await expect(run("search", "--since", "yesterday")).rejects.toThrow("must be a time such as")
  await expect(run("search", "--before", "x")).rejects.toThrow("--before must be an integer")
  control = serve()
  await expect(run("search", "--instance", "other")).rejects.toThrow(
    /name the instance with --instance: /,
  )
})
