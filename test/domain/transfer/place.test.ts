import { createHash, createHmac } from "node:crypto"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { OutboundRequest } from "../../../src/kernel/port/outbound.ts"
import { createFiles } from "../../../src/server/operator/files.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { everything, hash } from "./everything.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-places-"))
const ownFolder = join(folder, "i1")
const objects = new Map<string, string>()
const keys = { accessKeyId: "AKIAEXAMPLE", secretAccessKey: "very/secret" }

let estate: Tenant
beforeAll(async () => {
  estate = await openTenant(["i1", "i2", "i3"])
  const data = { case: "dataOrgs", value: { orgs: everything } }
  await estate.as("owner", "importData", { data })
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await estate.close()
})

/** AWS Signature Version 4, computed independently as the service does. */
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

async function fakeBucket(request: OutboundRequest) {
  const { url, method, headers = {}, body = "" } = request
  if (headers.authorization !== signatureOf(request)) return { status: 403, body: "no" }
  const sum = createHash("sha256").update(body).digest("hex")
  if (headers["x-amz-content-sha256"] !== sum) return { status: 400, body: "" }
  if (method === "PUT") objects.set(url, body)
  const found = objects.get(url)
  if (found === undefined) return { status: 404, body: "<Error><Code>NoSuchKey</Code></Error>" }
  return { status: 200, body: method === "PUT" ? "" : found }
}

const outside = { ...unreachableOutside, send: fakeBucket, files: createFiles(folder) }
const callOn = (instance: string) => ({ cx: { instance, outside } })
const exportData = (more: object, instance = "i1") => {
  const carried = { withPasswords: true, withOtp: true, withSecrets: true }
  const asked = { orgIds: ["corp", "partner"], ...carried, ...more }
  return estate.as("owner", "exportData", asked, callOn(instance))
}
const importData = (name: string, value: object, instance: string) =>
  estate.as("owner", "importData", { data: { case: name, value } }, callOn(instance))
const s3Input = (more: object = {}) => ({
  path: "a/b c.jsonl",
  endpoint: "s3.example.com",
  ssl: true,
  bucket: "backup",
  ...keys,
  ...more,
})

test("an export is written to a file of the directory and can be imported", async () => {
  const { orgs } = await exportData({ localOutput: { path: "corp.jsonl" } })
  expect(orgs).toEqual([])
  const text = readFileSync(join(ownFolder, "corp.jsonl"), "utf8")
  expect(text).toContain(hash)
  mkdirSync(join(folder, "i2"), { recursive: true })
  writeFileSync(join(folder, "i2", "corp.jsonl"), text)
  const { errors, success } = await importData("dataOrgsLocal", { path: "corp.jsonl" }, "i2")
  expect(errors).toEqual([])
  expect(success.orgs).toHaveLength(2)
  await exportData({ localOutput: { path: "again.jsonl" } }, "i2")
  expect(readFileSync(join(folder, "i2", "again.jsonl"), "utf8")).toBe(text)
})

test("a file can contain the body of a request, also in the older format", async () => {
  for (const [name, orgId] of [
    ["dataOrgsLocal", "doc"],
    ["dataOrgsv1Local", "older"],
  ] as const) {
    writeFileSync(
      join(ownFolder, orgId),
      JSON.stringify({ orgs: [{ orgId, org: { name: orgId } }] }),
    )
    const { errors, success } = await importData(name, { path: orgId }, "i1")
    expect(errors).toEqual([])
    expect(success.orgs).toMatchObject([{ orgId }])
  }
  writeFileSync(join(ownFolder, "no-json"), "<xml/>")
  await expect(importData("dataOrgsLocal", { path: "no-json" }, "i1")).rejects.toThrow(
    "neither JSON lines nor",
  )
})

test("paths can't leave the directory, and files are not overwritten", async () => {
  writeFileSync(join(folder, "outside"), `{"orgId":"x"}`)
  symlinkSync(join(folder, "outside"), join(ownFolder, "link"))
  mkdirSync(join(ownFolder, "folder"))
  const cases = [
    ["../outside", /path must be a file name/],
    ["/etc/passwd", /path must be a file name/],
    ["a/b", /path must be a file name/],
    ["..", /path must be a file name/],
    ["", /path must be a file name/],
    ["a\0b", /path must be a file name/],
    ["link", /it is a symbolic link/],
    ["folder", /it is not a regular file|it is a directory/],
    ["none", /it does not exist/],
  ] as const
  for (const [path, words] of cases) {
    await expect(importData("dataOrgsLocal", { path }, "i1"), path).rejects.toThrow(words)
  }
  for (const path of ["link", "folder", "corp.jsonl"]) {
    await expect(exportData({ localOutput: { path } }), path).rejects.toThrow(/already exists/)
  }
  await expect(importData("dataOrgsLocal", { path: "corp.jsonl" }, "i3")).rejects.toThrow(
    "it does not exist",
  )
  expect(readFileSync(join(folder, "outside"), "utf8")).toBe(`{"orgId":"x"}`)
})

test("an export is sent to a bucket, signed, and can be imported", async () => {
  await exportData({ s3Output: s3Input() })
  expect([...objects.keys()]).toEqual(["https://s3.example.com/backup/a/b%20c.jsonl"])
  const { errors, success } = await importData("dataOrgsS3", s3Input(), "i3")
  expect(errors).toEqual([])
  expect(success.orgs).toHaveLength(2)
})

test("a bucket's error is reported without secrets", async () => {
  const cases: readonly [more: object, words: RegExp][] = [
    [{ path: "none" }, /the storage returned 404 NoSuchKey/],
    [{ secretAccessKey: "wrong-secret" }, /the storage returned 403/],
    [{ endpoint: "s3.example.com/x?" }, /endpoint must be HOST/],
    [{ endpoint: "u@h" }, /endpoint must be HOST/],
    [{ bucket: "../x" }, /bucket must be 3 to 63 lowercase letters/],
    [{ path: "../x" }, /path must be names/],
    [{ accessKeyId: "" }, /access_key_id is required/],
  ]
  for (const [more, words] of cases) {
    const refused = await importData("dataOrgsS3", s3Input(more), "i3").catch(
      (cause: Error) => cause.message,
    )
    expect(refused).toMatch(words)
    expect(refused).not.toContain('secret"')
  }
})

test("files are rejected without a configured directory, and Google buckets are rejected", async () => {
  const bare = { cx: { outside: unreachableOutside } }
  const data = { case: "dataOrgsLocal", value: { path: "x" } }
  await expect(estate.as("owner", "importData", { data }, bare)).rejects.toThrow(
    "--transfer-folder",
  )
  const gcs = { case: "dataOrgsGcs", value: {} }
  await expect(estate.as("owner", "importData", { data: gcs })).rejects.toThrow("HMAC key")
})
