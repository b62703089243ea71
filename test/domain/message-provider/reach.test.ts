import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { activeProvider, deliver } from "../../../src/domain/message-provider/index.ts"
import type { MailServer } from "../../../src/kernel/port/mail.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { certificate } from "../../support/mail-certificate.ts"
import { nowhere } from "../../support/outside.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate(["i1"])
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
const ask = (name: string, request: object = {}) => estate.as("owner", name, request)

/** Sends a mail by the active provider; what came of it, and to which server it went. */
async function sent() {
  const servers: MailServer[] = []
  const mail = async (server: MailServer) => {
    servers.push(server)
    return { done: true, steps: [] } as const
  }
  const cx = estate.cx({ outside: { ...nowhere, mail } })
  const provider = activeProvider(cx, "email")
  if (!provider) throw new Error("no provider is active")
  const message = { messageId: "m1@id", to: "ada@example.com", subject: "Hallo", text: "Hallo" }
  const more = { channel: "email", html: "", kind: "verify_email", values: {} } as const
  return { result: await deliver(cx, provider, { ...message, ...more }), servers }
}

describe("how a mail server is reached", () => {
  const reached = { implicitTls: true, caCertificate: certificate, privateNetwork: true }
  const shown = async () => (await ask("listEmailProviders")).result[0].config.value

  test("is stored, stays in an update without it, and applies to each mail", async () => {
    const { id } = await ask("addEmailProviderSMTP", { ...smtp, ...reached })
    const pem = certificate.trim()
    expect(await shown()).toMatchObject({ ...reached, caCertificate: pem })
    await ask("updateEmailProviderSMTP", { ...smtp, id, senderName: "Other" })
    await ask("updateSMTPConfig", { ...smtp, id, senderName: "Third" })
    expect(await shown()).toMatchObject({ ...reached, caCertificate: pem, senderName: "Third" })
    await ask("activateEmailProvider", { id })
    const { servers } = await sent()
    const given = { implicitTls: true, authorities: pem, isPrivate: true }
    expect(servers).toMatchObject([given])
    const none = { implicitTls: false, caCertificate: "", privateNetwork: false }
    await ask("updateEmailProviderSMTP", { ...smtp, id, ...none, password: "new" })
    expect(await shown()).toMatchObject(none)
  })

  test("another authority requires the password again", async () => {
    const { id } = await ask("addEmailProviderSMTP", smtp)
    await ask("activateEmailProvider", { id })
    await ask("updateEmailProviderSMTP", { ...smtp, id, password: "", caCertificate: certificate })
    expect((await sent()).result).toMatchObject({ done: false })
  })

  test.each(["x", `${certificate}x`, "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"])(
    "what is no certificate is refused: %#",
    async (caCertificate) => {
      const added = ask("addEmailProviderSMTP", { ...smtp, caCertificate })
      await expect(added).rejects.toMatchObject({ id: "message_provider.field_invalid" })
    },
  )

  test("a private network is not opened to one of several instances", async () => {
    const several = await openEstate(["i1", "i2"])
    const added = several.as("owner", "addEmailProviderSMTP", { ...smtp, privateNetwork: true })
    await expect(added).rejects.toMatchObject({ id: "message_provider.private_network" })
    await several.close()
  })
})
