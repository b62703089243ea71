import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, statSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  binary,
  freePort,
  type RunningServer,
  run,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { needs } from "../support/prerequisite.ts"

/** Bytes; less than setup alone writes. */
const diskBytes = 4096

describe("an audit log file on a full disk", () => {
  const folder = temporaryFolder()
  const data = `${folder.path}/data`
  let server: RunningServer
  beforeAll(async () => {
    const port = await freePort()
    await setUp(data, `http://localhost:${port}`)
    server = await startLatchkey({ data, port })
  })
  afterAll(async () => {
    await server?.stop()
    folder.remove()
  })

  const exporting = (file: string) => ["events", "export", file, "--data", data]
  const verified = (file: string) => run(["events", "verify", file])
  const positionsIn = (file: string) =>
    [...readFileSync(file, "utf8").matchAll(/"position":(\d+),/g)].map(([, at]) => Number(at))
  const mustGoOn = async (file: string) => {
    expect((await verified(file)).code).toBe(3)
    expect((await run(exporting(file))).code).toBe(0)
    const { code, output } = await verified(file)
    expect([code, output]).toEqual([0, expect.stringContaining("is valid: ")])
    const whole = `${folder.path}/whole`
    await run(exporting(whole))
    const [kept, all] = [positionsIn(file), positionsIn(whole)]
    // The server itself writes events at times.
    expect(kept).toEqual(all.slice(0, kept.length))
    expect(kept.length).toBeGreaterThan(10)
  }

  test.runIf(needs("prlimit"))(
    "ends in a partial line, which is reported, and continues after its last seal",
    async () => {
      const file = `${folder.path}/limited`
      const limited = ["prlimit", `--fsize=${diskBytes}`, binary, ...exporting(file)]
      const { status, stderr } = spawnSync(limited[0] ?? "", limited.slice(1), {
        encoding: "utf8",
      })
      expect(status).toBe(1)
      expect(stderr).toContain(`${file} can't be written`)
      expect(stderr).not.toContain("internal error")
      // The write reported no error; it was short.
      expect(statSync(file).size).toBe(diskBytes)
      await mustGoOn(file)
    },
  )

  test.runIf(needs("unshare"))("the server reports the full disk at startup", async () => {
    const small = `${folder.path}/small`
    const file = `${folder.path}/kept`
    mkdirSync(small)
    const script = `
      mount -t tmpfs -o size=${diskBytes} none "$1" || exit 99
      "$2" events export "$1/file" --data "$3"
      ended=$?
      cp "$1/file" "$4"
      exit $ended`
    const { status, stderr } = spawnSync(
      "unshare",
      ["-Urm", "sh", "-c", script, "sh", small, binary, data, file],
      { encoding: "utf8" },
    )
    expect([status, stderr]).toEqual([1, expect.stringMatching(/can't be written.*disk is full/)])
    expect(statSync(file).size).toBe(diskBytes)
    await mustGoOn(file)
  })
})
