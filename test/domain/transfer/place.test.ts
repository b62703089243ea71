import { createHash, createHmac } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { filesIn } from "../../../src/server/operator/files.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { nowhere } from "../../support/outside.ts"
import { everything, hash } from "./everything.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-places-"))
const own = join(folder, "i1")
const objects = new Map<string, string>()
const keys = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "very/secret" }

let estate: Estate
beforeAll(async () => {
  estate = await openEstate(["i1", "i2", "i3"])
  const data = { case: "dataOrgs", value: { orgs: everything } }
  await estate.as("owner", "importData", { data })
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await estate.close()
})

/** AWS, "Signature Version 4": what the service works out by itself. */
function signatureOf({ url, method, headers = {} }: OutboundRequest): string {
  const { host, pathname } = new URL(url)
  const date = headers["x-amz-date"] ?? ""
  const body = headers["x-amz-content-sha256"] ?? ""
  const canonical = [
    method,
    pathname,
    "",
    `host:${host}`,
    `x-amz-content-sha256:${body}`,
    `x-amz-date:${date}`,
    "",
    "host;x-amz-content-sha256;x-amz-date",
    body,
  ].join("\n")
  const scope = `${date.slice(0, 8)}/us-east-1/s3/aws4_request`
  const digest = createHash("sha256").update(canonical).digest("hex")
  const mac = (key: string | Buffer, text: string) =>
    createHmac("sha256", key).update(text).digest()
  const key = scope.split("/").reduce<string | Buffer>(mac, `AWS4${keys.secretAccessKey}`)
  const signature = mac(key, ["AWS4-HMAC-SHA256", date, scope, digest].join("\n")).toString("hex")
  const names = "SignedHeaders=host;x-amz-content-sha256;x-amz-date"
  const credential = `Credential=${keys.accessKeyId}/${scope}`
  return `AWS4-HMAC-SHA256 ${credential}, ${names}, Signature=${signature}`
}

async function bucket(request: OutboundRequest) {
  const { url, method, headers = {}, body = "" } = request
  if (headers.authorization !== signatureOf(request)) return { status: 403, body: "no" }
  const sum = createHash("sha256").update(body).digest("hex")
  if (headers["x-amz-content-sha256"] !== sum) return { status: 400, body: "" }
  if (method === "PUT") objects.set(url, body)
  const found = objects.get(url)
  if (found === undefined) return { status: 404, body: "<Error><Code>NoSuchKey</Code></Error>" }
  return { status: 200, body: method === "PUT" ? "" : found }
}

const outside = { ...nowhere, send: bucket, files: filesIn(folder) }
const at = (instance: string) => ({ cx: { instance, outside } })
const told = (more: object, instance = "i1") => {
  const carried = { withPasswords: true, withOtp: true, withSecrets: true }
  const asked = { orgIds: ["corp", "partner"], ...carried, ...more }
  return estate.as("owner", "exportData", asked, at(instance))
}
const take = (name: string, value: object, instance: string) =>
  estate.as("owner", "importData", { data: { case: name, value } }, at(instance))
const s3 = (more: object = {}) => ({
  path: "a/b c.jsonl",
  endpoint: "s3.example.com",
  ssl: true,
  bucket: "backup",
  ...keys,
  ...more,
})

test("an export goes to a file of the folder, and is taken over from one", async () => {
  const { orgs } = await told({ localOutput: { path: "corp.jsonl" } })
  expect(orgs).toEqual([])
  const text = readFileSync(join(own, "corp.jsonl"), "utf8")
  expect(text).toContain(hash)
  mkdirSync(join(folder, "i2"), { recursive: true })
  writeFileSync(join(folder, "i2", "corp.jsonl"), text)
  const { errors, success } = await take("dataOrgsLocal", { path: "corp.jsonl" }, "i2")
  expect(errors).toEqual([])
  expect(success.orgs).toHaveLength(2)
  await told({ localOutput: { path: "again.jsonl" } }, "i2")
  expect(readFileSync(join(folder, "i2", "again.jsonl"), "utf8")).toBe(text)
})

test("what a request would have in it may stand in a file, also in the older form", async () => {
  for (const [name, orgId] of [
    ["dataOrgsLocal", "doc"],
    ["dataOrgsv1Local", "older"],
  ] as const) {
    writeFileSync(join(own, orgId), JSON.stringify({ orgs: [{ orgId, org: { name: orgId } }] }))
    const { errors, success } = await take(name, { path: orgId }, "i1")
    expect(errors).toEqual([])
    expect(success.orgs).toMatchObject([{ orgId }])
  }
  writeFileSync(join(own, "no-json"), "<xml/>")
  await expect(take("dataOrgsLocal", { path: "no-json" }, "i1")).rejects.toThrow("neither lines")
})

test("nothing leads out of the folder, and nothing is written over", async () => {
  writeFileSync(join(folder, "outside"), `{"orgId":"x"}`)
  symlinkSync(join(folder, "outside"), join(own, "link"))
  mkdirSync(join(own, "folder"))
  const cases = [
    ["../outside", /must be the name of a file/],
    ["/etc/passwd", /must be the name of a file/],
    ["a/b", /must be the name of a file/],
    ["..", /must be the name of a file/],
    ["", /must be the name of a file/],
    ["a\0b", /must be the name of a file/],
    ["link", /it is a link/],
    ["folder", /it is no file|it is a folder/],
    ["none", /it is not there/],
  ] as const
  for (const [path, words] of cases) {
    await expect(take("dataOrgsLocal", { path }, "i1"), path).rejects.toThrow(words)
  }
  for (const path of ["link", "folder", "corp.jsonl"]) {
    await expect(told({ localOutput: { path } }), path).rejects.toThrow(/is there already/)
  }
  await expect(take("dataOrgsLocal", { path: "corp.jsonl" }, "i3")).rejects.toThrow("is not there")
  expect(readFileSync(join(folder, "outside"), "utf8")).toBe(`{"orgId":"x"}`)
})

test("an export goes to a bucket, signed, and is taken over from it", async () => {
  await told({ s3Output: s3() })
  expect([...objects.keys()]).toEqual(["https://s3.example.com/backup/a/b%20c.jsonl"])
  const { errors, success } = await take("dataOrgsS3", s3(), "i3")
  expect(errors).toEqual([])
  expect(success.orgs).toHaveLength(2)
})

test("a bucket that refuses is named with its reason, and no secret is told", async () => {
  const cases: readonly [more: object, words: RegExp][] = [
    [{ path: "none" }, /it answers 404 NoSuchKey/],
    [{ secretAccessKey: "wrong-secret" }, /it answers 403/],
    [{ endpoint: "s3.example.com/x?" }, /endpoint must be HOST/],
    [{ endpoint: "u@h" }, /endpoint must be HOST/],
    [{ bucket: "../x" }, /bucket must be the name/],
    [{ path: "../x" }, /path must be names/],
    [{ accessKeyId: "" }, /access_key_id must be there/],
  ]
  for (const [more, words] of cases) {
    const refused = await take("dataOrgsS3", s3(more), "i3").catch((cause: Error) => cause.message)
    expect(refused).toMatch(words)
    expect(refused).not.toContain('secret"')
  }
})

test("where no folder is named, files are refused, and Google's buckets are", async () => {
  const bare = { cx: { outside: nowhere } }
  const data = { case: "dataOrgsLocal", value: { path: "x" } }
  await expect(estate.as("owner", "importData", { data }, bare)).rejects.toThrow(
    "--transfer-folder",
  )
  const gcs = { case: "dataOrgsGcs", value: {} }
  await expect(estate.as("owner", "importData", { data: gcs })).rejects.toThrow("HMAC key")
})
