import { afterAll, beforeAll, expect, test } from "vitest"
import { type MailServerOfTests, mailServer } from "../support/mail-server.ts"
import { openService, type Service } from "./service.ts"

const admin = (name: string) => `core.admin.v1.AdminService/${name}`

let server: MailServerOfTests
let service: Service

beforeAll(async () => {
  server = await mailServer()
  service = await openService(["--outbound-allow", "127.0.0.1"])
})
afterAll(async () => {
  await service?.close()
  await server?.close()
})

test("the binary writes to a new person by a real mail server", async () => {
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
