// In which order files are taken over that have it another way, and that come in several parts.
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fromJson, toJson } from "@bufbuild/protobuf"
import { afterAll, beforeAll, expect, test } from "vitest"
import { readIn } from "../../../src/boot/transfer/file.ts"
import { isOrgActive, isOrgThere } from "../../../src/domain/org/index.ts"
import { rows } from "../../../src/domain/transfer/binding/v1-rows.ts"
import {
  type DataOrg,
  DataOrgSchema,
  ImportDataRequestSchema,
} from "../../../src/gen/core/admin/v1/data_pb.ts"
import { linesInOrder } from "../../../src/protocol/transfer/line.ts"
import { kinds, type Piece, pieceOf } from "../../../src/protocol/transfer/order.ts"
import { filesIn } from "../../../src/server/operator/files.ts"
import { carrierOf } from "../../../src/server/operator/transfer.ts"
import { partsOf, piecesIn } from "../../../ui/console/transfer/file.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"
import { everything } from "./everything.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-order-"))
const carried = { withPasswords: true, withOtp: true, withSecrets: true }
/** As the console asks: each organisation by itself, who is granted to before who grants. */
const asked = ["partner", "corp"]
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
let estate: Estate
let file: string

beforeAll(async () => {
  estate = await openEstate(names)
  const data = { case: "dataOrgs", value: { orgs: everything } }
  expect(await taken("source", data)).toMatchObject({ errors: [] })
  const lines: string[] = []
  for (const orgId of asked) lines.push(...(await told("source", [orgId])))
  file = lines.map((line) => `${line}\n`).join("")
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await estate.close()
})

const outside = { ...nowhere, files: filesIn(folder) }
const taken = (instance: string, data: unknown) =>
  estate.as("owner", "importData", { data }, { cx: { instance, outside } })
async function told(instance: string, orgIds: readonly string[] = asked): Promise<string[]> {
  const { orgs } = await estate.as(
    "owner",
    "exportData",
    { orgIds, ...carried },
    { cx: { instance } },
  )
  return orgs.map((org: DataOrg) => JSON.stringify(toJson(DataOrgSchema, org)))
}
const sent = (instance: string, orgs: readonly Piece[]) => {
  const json = JSON.parse(JSON.stringify({ dataOrgs: { orgs } }))
  return taken(instance, fromJson(ImportDataRequestSchema, json).data)
}
const each = { bytes: 1, parts: 1 }
const carrier = (cutAfter = Number.POSITIVE_INFINITY) => {
  const { store, clock } = estate
  const whole = carrierOf({
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
/** The same, whichever of a kind came first. */
const sorted = (lines: readonly string[]) =>
  lines.map((line) =>
    Object.entries(JSON.parse(line)).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map((each) => JSON.stringify(each)).toSorted() : value,
    ]),
  )

/** Whether an organisation runs; undefined where it is not there. */
const runs = (instance: string, orgId: string): boolean | undefined => {
  const cx = estate.cx({ instance })
  return isOrgThere(cx, orgId) ? isOrgActive(cx, orgId) : undefined
}

test("the order has every field of an organisation, and a row for each", () => {
  const fields = DataOrgSchema.fields.map(({ localName }) => localName)
  expect(kinds.toSorted()).toEqual(fields.filter((name) => name !== "orgId").toSorted())
  expect(rows.map(({ field }) => field)).toEqual(kinds)
})

test("the console's parts are taken over one by one, whatever is in each", async () => {
  const parts = partsOf(piecesIn(file).pieces, each)
  expect(parts.length).toBeGreaterThan(40)
  for (const part of parts) expect(await sent("console", part)).toMatchObject({ errors: [] })
  expect(await told("console")).toEqual(await told("source"))
})

test("an organisation that is stopped never runs, however far an import comes", async () => {
  const parts = partsOf(piecesIn(file).pieces, each)
  for (const part of parts) {
    await sent("cut", part)
    expect(runs("cut", "partner")).not.toBe(true)
  }
  expect([runs("cut", "partner"), runs("cut", "corp")]).toEqual([false, true])
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

/** So many people that an import on the command line comes in several parts. */
const crowd = (orgId: string) =>
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

/** The file of the console, with these. */
const crowded = (): string =>
  file
    .trimEnd()
    .split("\n")
    .map((line) => {
      const org = JSON.parse(line)
      return JSON.stringify({ ...org, humanUsers: [...org.humanUsers, ...crowd(org.orgId)] })
    })
    .join("\n")

/** One thing on each line, whatever the last needs first. */
const turned = (): string =>
  partsOf(piecesIn(crowded()).pieces, each)
    .flatMap((part) => part.map(({ orgId, ...rest }) => JSON.stringify({ orgId, ...rest })))
    .toReversed()
    .join("\n")

function written(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

test("so are the console's files on the command line", async () => {
  const path = written("shell.jsonl", crowded())
  const done = await readIn(carrier(), { instance: "shell", dryRun: false }, path)
  expect(done.refused).toEqual([])
  expect([runs("shell", "partner"), runs("shell", "corp")]).toEqual([false, true])
})

test("cut off there, it is run again, and who is stopped never ran", async () => {
  const path = written("cut.jsonl", crowded())
  const cut = readIn(carrier(1), { instance: "cut-shell", dryRun: false }, path)
  await expect(cut).rejects.toThrow("cut off")
  expect(runs("cut-shell", "partner")).toBe(false)
  const { refused } = await readIn(carrier(), { instance: "cut-shell", dryRun: false }, path)
  expect(refused.map(({ type }) => type)).toContain("org_state")
  expect(runs("cut-shell", "partner")).toBe(false)
  const [partner = "{}"] = await told("cut-shell", ["partner"])
  expect(JSON.parse(partner).humanUsers).toHaveLength(151)
})

test("lines of one thing each may stand in any order", async () => {
  const path = written("turned.jsonl", turned())
  const done = await readIn(carrier(), { instance: "turned", dryRun: false }, path)
  expect(done.refused).toEqual([])
  expect(sorted(await told("turned"))).toEqual(sorted(await told("shell")))
})

test("so may those that another program writes, once", async () => {
  const path = join(folder, "pipe")
  expect(spawnSync("mkfifo", [path]).status).toBe(0)
  const writing = writeFile(path, file)
  const done = await readIn(carrier(), { instance: "pipe", dryRun: false }, path)
  await writing
  expect(done.refused).toEqual([])
  expect(await told("pipe")).toEqual(await told("source"))
})

test("a file that a request names is taken over in the same order", async () => {
  mkdirSync(join(folder, "place"))
  written("place/turned.jsonl", turned())
  const data = { case: "dataOrgsLocal", value: { path: "turned.jsonl" } }
  expect(await taken("place", data)).toMatchObject({ errors: [] })
  expect(sorted(await told("place"))).toEqual(sorted(await told("shell")))
})

test("it is stopped before anybody is in it, wherever a request says so", async () => {
  const [dee] = crowd("twice")
  const orgs = [
    { orgId: "twice", org: { name: "Twice" }, humanUsers: [dee] },
    { orgId: "twice", orgState: 2 },
  ]
  const { log } = estate.store
  const head = log.durable()
  expect(await sent("request", orgs)).toMatchObject({ errors: [] })
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

test("lines that are in order are handed over as they are, each by its number", async () => {
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
  // As `latchkey export` had them once: what is stopped at the very end.
  const people = '{"orgId":"a","humanUsers":[]}'
  const older = ['{"orgId":"a","org":{}}', people, '{"orgId":"a","orgState":2}']
  expect(await inOrderOf(older)).toEqual([
    { number: 1, text: '{"org":{},"orgId":"a","orgState":2}' },
    { number: 2, text: '{"humanUsers":[],"orgId":"a"}' },
  ])
  expect(pieceOf(["a"])).toBeUndefined()
})
