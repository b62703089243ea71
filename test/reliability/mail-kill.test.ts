import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { connect, type Reply } from "../acceptance/service.ts"
import {
  freePort,
  serviceToken,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { startMailServer } from "../support/mail-server.ts"

const rounds = 4
const perRound = 25

const folder = temporaryFolder()
afterAll(() => folder.remove())

/**
 * The mail server delays each email, so that kills find some delivered but not recorded, some in
 * flight and some not started.
 */
test("killed while it sends: no email is lost, and repetitions have the same ID", async () => {
  const mails = await startMailServer({ delayMs: 60 })
  const data = join(folder.path, "data")
  const port = await freePort()
  const key = await setUp(data, `http://localhost:${port}`)
  const run = () => startLatchkey({ data, port, args: ["--outbound-allow", "127.0.0.1"] })
  let server = await run()
  const token = await serviceToken(server.url, key)
  const ask = (name: string, request: object): Promise<Reply> =>
    connect(server.url, name, { request, token })
  const get = async (name: string, request: object) => (await ask(name, request)).body

  const admin = (name: string) => `core.admin.v1.AdminService/${name}`
  const smtp = { senderAddress: "id@example.com", senderName: "Acme" }
  const host = `127.0.0.1:${mails.port}`
  const { id } = await get(admin("AddEmailProviderSMTP"), { ...smtp, host })
  await get(admin("ActivateEmailProvider"), { id })
  const organizationId = (await get("ListOrganizations", {})).result[0].id

  const added: string[] = []
  const add = async (name: string) => {
    const profile = { givenName: "Eva", familyName: name }
    const human = { profile, email: { email: `${name}@example.com`, sendCode: {} } }
    const { status } = await ask("CreateUser", { organizationId, username: name, human })
    if (status === 200) added.push(name)
  }
  for (let round = 0; round < rounds; round++) {
    const names = Array.from({ length: perRound }, (_, at) => `eva-${round}-${at}`)
    // Requests without a response may or may not have succeeded; only confirmed ones are required.
    const work = names.map((name) => add(name).catch(() => {}))
    await expect
      .poll(() => mails.received.length, { interval: 5, timeout: 60_000 })
      .toBeGreaterThan(round * 20)
    await server.stop("SIGKILL")
    await Promise.all(work)
    server = await run()
  }

  const recipients = () => new Set(mails.received.flatMap((each) => each.recipients))
  const missing = () => added.filter((name) => !recipients().has(`${name}@example.com`))
  await expect.poll(missing, { timeout: 60_000 }).toEqual([])
  const settled = async () => {
    const { messages } = await get("ListMessages", { pagination: { limit: 1000 } })
    const states = messages.map(({ status }: { status: string }) => status)
    return states.filter((status: string) => status !== "MESSAGE_STATUS_SENT")
  }
  await expect.poll(settled, { timeout: 60_000 }).toEqual([])
  await server.stop()
  await mails.close()

  expect(added.length).toBeGreaterThan(rounds * 5)
  const ids = new Map<string, Set<string>>()
  for (const { recipients: to, mail } of mails.received) {
    const known = ids.get(to.join()) ?? new Set()
    ids.set(to.join(), known.add(mail.messageId ?? ""))
  }
  const several = [...ids].filter(([, known]) => known.size !== 1)
  expect(several).toEqual([])
  // No ID belongs to two emails: a receiver that deduplicates by ID drops repetitions only.
  expect(new Set([...ids.values()].flatMap((current) => [...current])).size).toBe(ids.size)
})
