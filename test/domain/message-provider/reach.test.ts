import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { activeProvider, deliver } from "../../../src/domain/message-provider/index.ts"
import type { MailServer } from "../../../src/kernel/port/mail.ts"
import { certificate } from "../../support/mail-certificate.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1"])
})
afterEach(() => estate.close())

const smtp = {
  senderAddress: "konto@example.com",
  senderName: "Acme",
  tls: true,
  user: "konto",
  host: "mail.lan:2465",
  password: "s3cret",
}
const callAsOwner = (name: string, request: object = {}) => estate.as("owner", name, request)

/** Sends a mail with the active provider; returns the result and the contacted server. */
async function sendMail() {
  const servers: MailServer[] = []
  const mail = async (server: MailServer) => {
    servers.push(server)
    return { done: true, steps: [] } as const
  }
  const cx = estate.cx({ outside: { ...unreachableOutside, mail } })
  const provider = activeProvider(cx, "email")
  if (!provider) throw new Error("no provider is active")
  const message = { messageId: "m1@id", to: "ada@example.com", subject: "Hallo", text: "Hallo" }
  const more = { channel: "email", html: "", kind: "verify_email", values: {} } as const
  return { result: await deliver(cx, provider, { ...message, ...more }), servers }
}

describe("the connection to a mail server", () => {
  const reached = { implicitTls: true, caCertificate: certificate, privateNetwork: true }
  const shown = async () => (await callAsOwner("listEmailProviders")).result[0].config.value

  test("is stored, stays in an update without it, and applies to each mail", async () => {
    const { id } = await callAsOwner("addEmailProviderSMTP", { ...smtp, ...reached })
    const pem = certificate.trim()
    expect(await shown()).toMatchObject({ ...reached, caCertificate: pem })
    await callAsOwner("updateEmailProviderSMTP", { ...smtp, id, senderName: "Other" })
    await callAsOwner("updateSMTPConfig", { ...smtp, id, senderName: "Third" })
    expect(await shown()).toMatchObject({ ...reached, caCertificate: pem, senderName: "Third" })
    await callAsOwner("activateEmailProvider", { id })
    const { servers } = await sendMail()
    const given = { implicitTls: true, authorities: pem, isPrivate: true }
    expect(servers).toMatchObject([given])
    const none = { implicitTls: false, caCertificate: "", privateNetwork: false }
    await callAsOwner("updateEmailProviderSMTP", { ...smtp, id, ...none, password: "new" })
    expect(await shown()).toMatchObject(none)
  })

  test("a different CA requires the password again", async () => {
    const { id } = await callAsOwner("addEmailProviderSMTP", smtp)
    await callAsOwner("activateEmailProvider", { id })
    await callAsOwner("updateEmailProviderSMTP", {
      ...smtp,
      id,
      password: "",
      caCertificate: certificate,
    })
    expect((await sendMail()).result).toMatchObject({ done: false })
  })

  test.each(["x", `${certificate}x`, "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"])(
    "rejects an invalid certificate: %#",
    async (caCertificate) => {
      const added = callAsOwner("addEmailProviderSMTP", { ...smtp, caCertificate })
      await expect(added).rejects.toMatchObject({ id: "message_provider.field_invalid" })
    },
  )

  test("a private network is not allowed if instances share the service", async () => {
    const several = await openTenant(["i1", "i2"])
    const added = several.as("owner", "addEmailProviderSMTP", { ...smtp, privateNetwork: true })
    await expect(added).rejects.toMatchObject({ id: "message_provider.private_network" })
    await several.close()
  })
})
