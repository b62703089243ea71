// Import order for files in another order and in several parts.
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fromJson, toJson } from "@bufbuild/protobuf"
import { afterAll, beforeAll, expect, test } from "vitest"
import { importFile } from "../../../src/boot/transfer/file.ts"
import { isOrgActive, orgExists } from "../../../src/domain/org/index.ts"
import { itemKinds } from "../../../src/domain/transfer/binding/v1-item-kinds.ts"
import {
  type DataOrg,
  DataOrgSchema,
  ImportDataRequestSchema,
} from "../../../src/gen/core/admin/v1/data_pb.ts"
import { linesInOrder } from "../../../src/protocol/transfer/line.ts"
import {
  type OrganizationPiece,
  orderedKinds,
  toPiece,
} from "../../../src/protocol/transfer/order.ts"
import { createFiles } from "../../../src/server/operator/files.ts"
import { createTransfer } from "../../../src/server/operator/transfer.ts"
import { parseFile, splitIntoRequests } from "../../../ui/console/transfer/file.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { everything } from "./everything.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-order-"))
const withCredentials = { withPasswords: true, withOtp: true, withSecrets: true }
/** The order of the console: each organization separately, grantees before grantors. */
const orgOrder = ["partner", "corp"]
const names = [
  "source",
  "console",
  "cut",
  "shell",
  "cut-shell",
  "turned",
  "pipe",
  "place",
  "request",
]
let estate: Tenant
let file: string

beforeAll(async () => {
  estate = await openTenant(names)
  const data = { case: "dataOrgs", value: { orgs: everything } }
  expect(await importData("source", data)).toMatchObject({ errors: [] })
  const lines: string[] = []
  for (const orgId of orgOrder) lines.push(...(await exportData("source", [orgId])))
  file = lines.map((line) => `${line}\n`).join("")
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await estate.close()
})

const outside = { ...unreachableOutside, files: createFiles(folder) }
const importData = (instance: string, data: unknown) =>
  estate.as("owner", "importData", { data }, { cx: { instance, outside } })
async function exportData(
  instance: string,
  orgIds: readonly string[] = orgOrder,
): Promise<string[]> {
  const { orgs } = await estate.as(
    "owner",
    "exportData",
    { orgIds, ...withCredentials },
    { cx: { instance } },
  )
  return orgs.map((org: DataOrg) => JSON.stringify(toJson(DataOrgSchema, org)))
}
const importParts = (instance: string, orgs: readonly OrganizationPiece[]) => {
  const json = JSON.parse(JSON.stringify({ dataOrgs: { orgs } }))
  return importData(instance, fromJson(ImportDataRequestSchema, json).data)
}
const unlimitedParts = { bytes: 1, parts: 1 }
const createTransferer = (cutAfter = Number.POSITIVE_INFINITY) => {
  const { store, clock } = estate
  const whole = createTransfer({
    store,
    clock,
    ids: estate.cx().ids,
    call: (instance, name) => estate.cx({ instance, caller: { kind: "system", name } }),
  })
  let parts = 0
  return {
    ...whole,
    take: (part: Parameters<typeof whole.take>[0]) => {
      if (++parts > cutAfter) throw new Error("cut off")
      return whole.take(part)
    },
  }
}
/** Comparable independently of the order within a kind. */
const sortLines = (lines: readonly string[]) =>
  lines.map((line) =>
    Object.entries(JSON.parse(line)).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((each) => JSON.stringify(each)).toSorted() : value,
    ]),
  )

/** Whether an organization runs; undefined where it does not exist. */
const isRunningOrg = (instance: string, orgId: string): boolean | undefined => {
  const cx = estate.cx({ instance })
  return orgExists(cx, orgId) ? isOrgActive(cx, orgId) : undefined
}

test("the order has every field of an organization, and a row for each", () => {
  const fields = DataOrgSchema.fields.map(({ localName }) => localName)
  expect(orderedKinds.toSorted()).toEqual(fields.filter((name) => name !== "orgId").toSorted())
  expect(itemKinds.map(({ field }) => field)).toEqual(orderedKinds)
})

test("the console's parts are imported one by one, whatever their content", async () => {
  const parts = splitIntoRequests(parseFile(file).pieces, unlimitedParts)
  expect(parts.length).toBeGreaterThan(40)
  for (const part of parts) expect(await importParts("console", part)).toMatchObject({ errors: [] })
  expect(await exportData("console")).toEqual(await exportData("source"))
})

test("an organization that is stopped never runs, however far an import comes", async () => {
  const parts = splitIntoRequests(parseFile(file).pieces, unlimitedParts)
  for (const part of parts) {
    await importParts("cut", part)
    expect(isRunningOrg("cut", "partner")).not.toBe(true)
  }
  expect([isRunningOrg("cut", "partner"), isRunningOrg("cut", "corp")]).toEqual([false, true])
  await expect(
    estate.as(
      "owner",
      "createUser",
      {
        organizationId: "partner",
        username: "late",
        userType: { case: "machine", value: { name: "Late" } },
      },
      { cx: { instance: "cut" } },
    ),
  ).rejects.toMatchObject({ id: "org.inactive" })
})

/** Enough users that a command-line import has several parts. */
const manyUsers = (orgId: string) =>
  Array.from({ length: 150 }, (_, at) => ({
    userId: `${orgId}-${at}`,
    user: {
      userName: `${orgId}-${at}`,
      email: { email: `${orgId}-${at}@example.com` },
      profile: {
        firstName: "C".repeat(190),
        lastName: "D".repeat(190),
        displayName: "E".repeat(190),
      },
    },
  }))

/** The file of the console with these users. */
const fileWithUsers = (): string =>
  file
    .trimEnd()
    .split("\n")
    .map((line) => {
      const org = JSON.parse(line)
      return JSON.stringify({ ...org, humanUsers: [...org.humanUsers, ...manyUsers(org.orgId)] })
    })
    .join("\n")

/** One record on each line, in reverse order of dependencies. */
const reversedLines = (): string =>
  splitIntoRequests(parseFile(fileWithUsers()).pieces, unlimitedParts)
    .flatMap((part) => part.map(({ orgId, ...rest }) => JSON.stringify({ orgId, ...rest })))
    .toReversed()
    .join("\n")

function writeImportFile(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test("the console's files are imported on the command line, too", async () => {
  const path = writeImportFile("shell.jsonl", fileWithUsers())
  const done = await importFile(createTransferer(), { instance: "shell", dryRun: false }, path)
  expect(done.refused).toEqual([])
  expect([isRunningOrg("shell", "partner"), isRunningOrg("shell", "corp")]).toEqual([false, true])
})

test("an interrupted import can be repeated, and deactivated organizations were never active", async () => {
  const path = writeImportFile("cut.jsonl", fileWithUsers())
  const cut = importFile(createTransferer(1), { instance: "cut-shell", dryRun: false }, path)
  await expect(cut).rejects.toThrow("cut off")
  expect(isRunningOrg("cut-shell", "partner")).toBe(false)
  const { refused } = await importFile(
    createTransferer(),
    { instance: "cut-shell", dryRun: false },
    path,
  )
  expect(refused.map(({ type }) => type)).toContain("org_state")
  expect(isRunningOrg("cut-shell", "partner")).toBe(false)
  const [partner = "{}"] = await exportData("cut-shell", ["partner"])
  expect(JSON.parse(partner).humanUsers).toHaveLength(151)
})

test("lines with one record each can have any order", async () => {
  const path = writeImportFile("turned.jsonl", reversedLines())
  const done = await importFile(createTransferer(), { instance: "turned", dryRun: false }, path)
  expect(done.refused).toEqual([])
  expect(sortLines(await exportData("turned"))).toEqual(sortLines(await exportData("shell")))
})

test("lines of other programs can have any order once", async () => {
  const path = join(folder, "pipe")
  expect(spawnSync("mkfifo", [path]).status).toBe(0)
  const writing = writeFile(path, file)
  const done = await importFile(createTransferer(), { instance: "pipe", dryRun: false }, path)
  await writing
  expect(done.refused).toEqual([])
  expect(await exportData("pipe")).toEqual(await exportData("source"))
})

test("a file named by a request is imported in the same order", async () => {
  mkdirSync(join(folder, "place"))
  writeImportFile("place/turned.jsonl", reversedLines())
  const data = { case: "dataOrgsLocal", value: { path: "turned.jsonl" } }
  expect(await importData("place", data)).toMatchObject({ errors: [] })
  expect(sortLines(await exportData("place"))).toEqual(sortLines(await exportData("shell")))
})

test("an organization is deactivated before users are added, wherever the request says so", async () => {
  const [dee] = manyUsers("twice")
  const orgs = [
    { orgId: "twice", org: { name: "Twice" }, humanUsers: [dee] },
    { orgId: "twice", orgState: 2 },
  ]
  const { log } = estate.store
  const head = log.durable()
  expect(await importParts("request", orgs)).toMatchObject({ errors: [] })
  expect((await log.read(head, 100)).map(({ type }) => type)).toEqual([
    "org.added",
    "org.domain.added",
    "org.domain.verified",
    "org.domain.primary.set",
    "org.deactivated",
    "user.human.added",
    "transfer.imported",
  ])
})

test("lines in order are passed on unchanged, each with its number", async () => {
  const given = ['{"orgId":"a","org":{}}', "", "{", '{ "org_id": "a", "human_users": [] }']
  const inOrderOf = (lines: readonly string[]) =>
    Array.fromAsync(
      linesInOrder(async function* () {
        yield* lines
      }),
    )
  const numbered = given.map((text, at) => ({ number: at + 1, text }))
  expect(await inOrderOf(given)).toEqual(numbered.filter(({ text }) => text !== ""))
  expect(await inOrderOf(given.toReversed())).toEqual([
    { number: 2, text: "{" },
    { number: 4, text: '{"org":{},"orgId":"a"}' },
    { number: 1, text: '{"human_users":[],"orgId":"a"}' },
  ])
  // From older versions of `latchkey export`: deactivations at the end.
  const people = '{"orgId":"a","humanUsers":[]}'
  const older = ['{"orgId":"a","org":{}}', people, '{"orgId":"a","orgState":2}']
  expect(await inOrderOf(older)).toEqual([
    { number: 1, text: '{"org":{},"orgId":"a","orgState":2}' },
    { number: 2, text: '{"humanUsers":[],"orgId":"a"}' },
  ])
  expect(toPiece(["a"])).toBeUndefined()
})
