// A server that is killed during uploads.
import { afterAll, expect, test } from "vitest"
import { connect } from "../acceptance/service.ts"
import {
  freePort,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { pngOf } from "../support/picture.ts"

const rounds = 5
const senders = 4

const folder = temporaryFolder()
afterAll(() => folder.remove())

test("killed during uploads: the image is complete, and nothing confirmed is lost", async () => {
  const data = `${folder.path}/data`
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`)
  let server = await startLatchkey({ data, port })
  const token = await serviceToken(server.url, key)
  const headers = { authorization: `Bearer ${token}` }
  const at = `${server.url}/assets/v1/instance/policy/label/logo`

  // The images are identified by their width; one counter orders uploads and confirmations.
  let time = 0
  const sent = new Map<number, number>()
  const confirmed = new Map<number, number>()
  const send = async () => {
    const width = sent.size + 1
    sent.set(width, time++)
    // Random data does not compress, so a file is sent in several pieces.
    const more = [["tEXt", crypto.getRandomValues(new Uint8Array(60_000))] as const]
    const form = new FormData()
    form.append("file", new Blob([new Uint8Array(pngOf({ width, height: 1, more }))]))
    const { status } = await fetch(at, { method: "POST", headers, body: form })
    expect(status).toBe(200)
    confirmed.set(width, time++)
  }
  /** The width of the previewed image; the whole image is decoded. */
  const shown = async () => {
    const bytes = await (await fetch(`${at}/_preview`, { headers })).bytes()
    const whole = await new Bun.Image(bytes).png().bytes()
    return (await new Bun.Image(whole).metadata()).width
  }

  let cut = 0
  for (let round = 0; round < rounds; round += 1) {
    const before = confirmed.size
    let isOver = false
    const sending = Array.from({ length: senders }, async () => {
      while (!isOver) {
        const isThere = await send().then(
          () => true,
          () => false,
        )
        if (isThere) continue
        cut += 1
        return
      }
    })
    await expect.poll(() => confirmed.size, { interval: 5 }).toBeGreaterThan(before + 5)
    await server.stop("SIGKILL")
    isOver = true
    await Promise.all(sending)
    server = await startLatchkey({ data, port })
    const found = await shown()
    expect(sent.has(found)).toBe(true)
    // Anything uploaded after this one was confirmed would have replaced it.
    const until = confirmed.get(found) ?? time
    const lost = [...confirmed.keys()].filter((width) => (sent.get(width) ?? 0) > until)
    expect(lost).toEqual([])
  }
  expect(cut).toBeGreaterThan(0)

  const ask = async (name: string) =>
    (await connect(server.url, `core.admin.v1.AdminService/${name}`, { request: {}, token })).body
  await ask("ActivateLabelPolicy")
  const { policy } = await ask("GetLabelPolicy")
  expect((await fetch(policy.logoUrl)).status).toBe(200)
  await server.stop()
})
