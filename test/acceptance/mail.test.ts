import { afterAll, beforeAll, expect, test } from "vitest"
import { startMailServer, type TestMailServer } from "../support/mail-server.ts"
import { openService, type Service } from "./service.ts"

const admin = (name: string) => `core.admin.v1.AdminService/${name}`

let server: TestMailServer
let service: Service
let isGreylisting = true

beforeAll(async () => {
  server = await startMailServer({
    judge: (to) =>
      to.startsWith("grey") && isGreylisting
        ? { status: 451, text: "4.7.1 Greylisted" }
        : undefined,
  })
  service = await openService(["--outbound-allow", "127.0.0.1"])
})
afterAll(async () => {
  await service?.close()
  await server?.close()
})

test("sends an email to a new user through a real mail server", async () => {
  const sender = { senderAddress: "id@example.com", senderName: "Acme" }
  const smtp = { ...sender, host: `127.0.0.1:${server.port}` }
  const { steps } = await service.get(admin("TestEmailProviderSMTP"), {
    ...smtp,
    receiverAddress: "ada@example.com",
  })
  expect(steps).toMatchObject([{ name: "resolved" }, { name: "connected" }, { name: "accepted" }])
  const { id } = await service.get(admin("AddEmailProviderSMTP"), smtp)
  await service.get(admin("ActivateEmailProvider"), { id })
  const organizationId = (await service.get("ListOrganizations")).result[0].id
  const profile = { givenName: "Eva", familyName: "Müller", preferredLanguage: "de" }
  const human = { profile, email: { email: "eva@example.com", sendCode: {} } }
  await service.get("CreateUser", { organizationId, username: "eva", human })
  await expect.poll(() => server.received.length, { timeout: 60_000 }).toBe(2)
  expect(server.received.map(({ recipients }) => recipients)).toEqual([
    ["ada@example.com"],
    ["eva@example.com"],
  ])
  const sent = async () => (await service.get("ListMessages")).messages
  await expect.poll(sent, { timeout: 60_000 }).toMatchObject([{ status: "MESSAGE_STATUS_SENT" }])
})

test("delivers to a greylisted recipient later, and delays no other recipient", async () => {
  const organizationId = (await service.get("ListOrganizations")).result[0].id
  const add = (name: string) => {
    const profile = { givenName: name, familyName: "Person" }
    const human = { profile, email: { email: `${name}@example.com`, sendCode: {} } }
    return service.get("CreateUser", { organizationId, username: name, human })
  }
  const isSent = (name: string) =>
    server.received.some(({ recipients }) => recipients.includes(`${name}@example.com`))
  for (let each = 0; each < 6; each++) await add(`grey${each}`)
  const waiting = async () => {
    const { messages } = await service.get("ListMessages")
    return messages.filter(({ error = "" }) => error.includes("451 4.7.1 Greylisted")).length
  }
  await expect.poll(waiting, { timeout: 60_000 }).toBe(6)
  await add("ida")
  await expect.poll(() => isSent("ida"), { timeout: 4_000 }).toBe(true)
  isGreylisting = false
  await expect.poll(() => isSent("grey5"), { timeout: 60_000 }).toBe(true)
})

test("lets an instance use a local mail server if the operator allows it", async () => {
  const other = await startMailServer()
  const allowed = await openService(["--mail-allow", `1=127.0.0.1:${server.port}`])
  const sender = { senderAddress: "id@example.com", senderName: "Acme" }
  const tryAt = (port: number) =>
    allowed.call(admin("TestEmailProviderSMTP"), {
      ...sender,
      host: `127.0.0.1:${port}`,
      receiverAddress: "ada@example.com",
    })
  expect(await tryAt(server.port)).toMatchObject({ status: 200 })
  const refused = await tryAt(other.port)
  expect(refused.status).toBe(400)
  expect(refused.body.message).toContain("allow it with the setting mail_allow")
  await Promise.all([allowed.close(), other.close()])
})
