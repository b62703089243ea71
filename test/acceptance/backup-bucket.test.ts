// The binary backs up to an S3-compatible store on schedule, and restores from it.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { startBucketStore } from "../support/bucket-store.ts"
import { run, temporaryFolder } from "../support/latchkey.ts"
import { until } from "../support/wait.ts"
import { openService } from "./service.ts"

const folder = temporaryFolder()
const storage = startBucketStore()
afterAll(() => {
  storage.close()
  folder.remove()
})

test("a server backs up to the bucket, and the backup can be verified and restored", async () => {
  const secretFile = join(folder.path, "secret")
  writeFileSync(secretFile, storage.key.secret)
  const place = `s3://${storage.bucket}/mine`
  const flags = [...Object.entries({ ...storage.settings, "--s3-secret-file": secretFile }).flat()]
  const service = await openService(["--backup-folder", place, ...flags])
  try {
    await until(() => storage.objects.size > 0, { limitMs: 60_000 })
    const [name = ""] = [...storage.objects.keys()]
    expect(name).toMatch(/^mine\/latchkey-[0-9a-f]{8}-\d{8}T\d{6}Z\.backup$/)
    const from = `s3://${storage.bucket}/${name}`
    const drill = ["restore", from, "--drill", "--data", service.data, ...flags]
    expect(await run(drill)).toMatchObject({
      code: 0,
      output: expect.stringContaining("All events and rows are intact"),
    })
    const doctor = ["doctor", "--data", service.data, "--backup-folder", place, ...flags, "--json"]
    const { findings } = JSON.parse((await run(doctor)).output)
    expect(findings).toContainEqual({
      check: "backups",
      state: "ok",
      said: `the newest backup in ${place} is 0 hours old`,
    })
    expect(service.output()).not.toContain(storage.key.secret)
    const more = await run(["backup", `${place}/now`, "--data", service.data, ...flags])
    expect(more).toMatchObject({ code: 0, output: expect.stringContaining(`Saved ${place}/now`) })
    const there = join(folder.path, "there")
    const back = await run(["restore", `${place}/now`, "--data", there, ...flags])
    expect(back.code).toBe(0)
  } finally {
    await service.close()
  }
})
