import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { queueOtp } from "../../../src/domain/message/index.ts"
import { message } from "../../../src/domain/message/model.ts"
import { messageReactor } from "../../../src/domain/message/reactor.ts"
import { temporaryLabel } from "../../../src/domain/org/index.ts"
import { generateCode } from "../../../src/domain/policy/index.ts"
import { claimUserName } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { systemClock } from "../../../src/kernel/clock.ts"
import { parseAllowedOutbound } from "../../../src/kernel/setting/allow-list.ts"
import { createMailer } from "../../../src/notify/smtp.ts"
import { runReactors } from "../../../src/store/index.ts"
import { startMailServer, type TestMailServer } from "../../support/mail-server.ts"
import { unreachableOutside } from "../../support/outside.ts"
import { onePixel, svgWith } from "../../support/picture.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { driveClock } from "../../support/wait.ts"

let estate: Tenant
let server: TestMailServer
const sent: { body: string }[] = []
beforeEach(async () => {
  sent.length = 0
  estate = await openTenant(["i1"])
  server = await startMailServer()
  const host = `127.0.0.1:${server.port}`
  const smtp = { senderAddress: "konto@example.com", senderName: "Zürich AG", host }
  const { id } = await ask("addEmailProviderSMTP", smtp)
  await ask("activateEmailProvider", { id })
  const twilio = { sid: "AC1", token: "t", senderNumber: "+41790000000" }
  await ask("activateSMSProvider", { id: (await ask("addSMSProviderTwilio", twilio)).id })
})
afterEach(async () => {
  await server.close()
  await estate.close()
})

const ask = (name: string, request: object = {}) => estate.as("owner", name, request)
const verified = { case: "isVerified", value: true }
const sendCode = { verification: { case: "sendCode", value: {} } }

/** Runs the actions and sends the resulting messages. */
async function sendAfter(...acts: readonly (() => Promise<unknown>)[]): Promise<void> {
  const local = parseAllowedOutbound("127.0.0.1")
  const mail = createMailer({
    resolve: async () => ["127.0.0.1"],
    clock: systemClock,
    allow: local ? [local] : [],
  })
  const send = async ({ body = "" }: { readonly body?: string | undefined }) => {
    sent.push({ body })
    return { status: 201, body: "" }
  }
  const outside = { ...unreachableOutside, mail, send }
  const call = (instance: string) => ({ ...estate.cx({ instance }), outside })
  const reactors = runReactors(estate.store, estate.clock, [messageReactor(call)])
  await reactors.drain()
  for (const act of acts) {
    estate.clock.advance(1000)
    await act()
    await driveClock(reactors.drain(), () => estate.clock.advance(100))
  }
  await reactors.stop()
}

/** A name with special characters of every format that it passes through. */
const hostile = '<script>x</script>"&{{.Code}}'

const addEva = (preferredLanguage: string, familyName = hostile) => {
  const value = {
    profile: { givenName: "Eva", familyName, preferredLanguage },
    email: { email: "eva@example.com", ...sendCode },
  }
  const userType = { case: "human", value }
  const request = { organizationId: "org1", userId: "eva", username: "eva@globex.example" }
  return ask("createUser", { ...request, userType })
}

const setPassword = (count: number) => () =>
  ask("setPassword", { userId: "eva", newPassword: { password: `Correct-horse-${count}` } })

const passkeyLink = () =>
  ask("createPasskeyRegistrationLink", { userId: "eva", medium: { case: "sendLink", value: {} } })

const sendOtp = (channel: "email" | "sms") => () => {
  const { plain: code, expires } = generateCode(estate.cx(), `otp_${channel}`)
  return estate.step((tx) => queueOtp(tx, { userId: "eva", channel, code, expires, sessionId: "" }))
}

const temporary = `eva-1@${temporaryLabel}.id.example.com`
const claim = { domain: "globex.example", orgId: "org2", userName: temporary }
const isVerified = { verification: { case: "isVerified", value: true } }

/** The actions that lead to each kind, in order. `init` has none: v1 creates no users here. */
const actionsFor = (language: string) => [
  () => addEva(language),
  () => ask("createInviteCode", { userId: "eva" }),
  () => ask("setEmail", { userId: "eva", email: "eva@example.com", ...isVerified }),
  setPassword(7),
  () => ask("passwordReset", { userId: "eva" }),
  passkeyLink,
  sendOtp("email"),
  () => estate.step((tx) => claimUserName.within(tx, "eva", claim)),
  setPassword(8),
  () => ask("setPhone", { userId: "eva", phone: "+41791234567", ...sendCode }),
  sendOtp("sms"),
  () => ask("passwordReset", { userId: "eva", medium: bySms }),
]
const bySms = { case: "sendLink", value: { notificationType: 2 } }

const mails = [
  ["verify_email", "/ui/login/verify?userId=eva&organization=org1#"],
  ["invite_user", "/ui/login/verify?userId=eva&organization=org1&invite=true#"],
  ["password_reset", "/ui/login/password/set?userId=eva&organization=org1#"],
  ["passwordless_registration", "/ui/login/passkey/set?userId=eva&organization=org1&codeId="],
  ["verify_email_otp", ""],
  ["domain_claimed", "/ui/login"],
  ["password_change", "/ui/login"],
  ["phone_changed", "/ui/account"],
] as const

describe.each(["en", "de", "fr"])("each kind is delivered to a real server, in %s", (language) => {
  test("as mails that an independent parser reads, and as SMS", async () => {
    await sendAfter(...actionsFor(language))
    const { events } = await estate.store.log.find(0, 1000, ["message.added"])
    const outbox = events.map(({ id }) => estate.store.state(estate.cx(), message, id))
    expect(outbox.map(({ kind, status }) => [kind, status])).toEqual(
      [...mails.map(([kind]) => kind), "verify_phone", "verify_sms_otp", "password_reset"].map(
        (kind) => [kind, "sent"],
      ),
    )
    expect(server.received).toHaveLength(mails.length)
    const ids = server.received.map(({ mail: { messageId } }) => messageId)
    expect(new Set(ids).size).toBe(mails.length)
    for (const [at, { mail, raw, recipients }] of server.received.entries()) {
      const [kind, link] = mails[at] ?? []
      expect(recipients).toEqual(["eva@example.com"])
      expect(mail.from?.value).toEqual([{ name: "Zürich AG", address: "konto@example.com" }])
      expect(mail.messageId).toMatch(/^<\d+\.1\.\d{13}@id\.example\.com>$/)
      expect(raw, kind).toMatch(/^content-type: multipart\/alternative/im)
      const html = String(mail.html)
      expect(html, kind).toContain(`lang="${language}"`)
      // The name is escaped everywhere and never interpreted. It is omitted until the address is
      // verified.
      const isNamed = !["verify_email", "invite_user"].includes(`${kind}`)
      const name = "&lt;script&gt;x&lt;/script&gt;&quot;&amp;{{.Code}}"
      expect(html.includes(name), kind).toBe(isNamed)
      expect(html, kind).not.toContain("<script")
      expect(mail.text?.includes(hostile), kind).toBe(isNamed)
      expect(mail.text?.replace(hostile, ""), kind).not.toContain("{{")
      expect(mail.subject, kind).not.toMatch(/\{\{|[\r\n]/)
      if (link) expect(mail.text, kind).toContain(`https://id.example.com${link}`)
      else expect(mail.text, kind).not.toContain("https://")
    }
    const texts = sent.map(({ body }) => new URLSearchParams(body).get("Body") ?? "")
    expect(texts).toEqual([
      expect.stringMatching(/^\w{6} .*\nhttps:.*&phone=true#\w{6}&key=[\w-]{22}$/),
      expect.stringMatching(/\n@id\.example\.com #\d{8}$/),
      expect.stringMatching(
        /^.*\nhttps:[^ ]*\/ui\/login\/password\/set\?[^#]*#\w{6}&key=[\w-]{22}$/,
      ),
    ])
  })
})

test("the mail about a claimed login name contains the old and the new name", async () => {
  await sendAfter(
    () => addEva("en", "Müller"),
    () => estate.step((tx) => claimUserName.within(tx, "eva", claim)),
  )
  const text = server.received.at(-1)?.mail.text ?? ""
  expect(text).toContain("verified that it owns globex.example")
  expect(text).toContain(`is now ${temporary}.`)
})

test("a first password sends no notification, later ones do unless the policy disables them", async () => {
  const count = () =>
    server.received.filter(({ mail: { subject } }) => subject?.includes("changed")).length
  await sendAfter(() => addEva("en"), setPassword(1))
  expect(count()).toBe(0)
  await sendAfter(setPassword(2))
  expect(count()).toBe(1)
  await ask("updateNotificationPolicy", { passwordChange: false })
  await sendAfter(setPassword(3))
  expect(count()).toBe(1)
})

test("a changed address is reported to the previous one if that was verified", async () => {
  const email = (address: string) => () =>
    ask("setEmail", {
      userId: "eva",
      email: address,
      verification: { case: "isVerified", value: true },
    })
  await sendAfter(() => addEva("en"), email("first@example.com"), email("second@example.com"))
  const told = server.received.filter(({ mail }) => mail.subject?.includes("email address was"))
  expect(told.map(({ recipients }) => recipients)).toEqual([["first@example.com"]])
  expect(told[0]?.mail.text).not.toContain("second@example.com")
})

test("added and removed factors are reported to the user, whoever changed them", async () => {
  const subjects = () => server.received.map(({ mail: { subject } }) => subject)
  await sendAfter(
    () => addEva("en"),
    () => ask("setEmail", { userId: "eva", email: "eva@example.com", verification: verified }),
    () => ask("addOTPEmail", { userId: "eva" }),
    () => ask("removeOTPEmail", { userId: "eva" }),
  )
  expect(subjects()).toContain("A sign-in method was added")
  expect(subjects()).toContain("A sign-in method was removed")
})

test("added and removed links are reported to the user, except those of the registration", async () => {
  const subjects = () =>
    server.received
      .map(({ mail: { subject = "" } }) => subject)
      .filter((each) => each.includes("sign-in method"))
  const oauth = {
    name: "Acme",
    clientId: "c",
    clientSecret: "s",
    idAttribute: "id",
    authorizationEndpoint: "https://idp.example.com/authorize",
    tokenEndpoint: "https://idp.example.com/token",
    userEndpoint: "https://idp.example.com/user",
  }
  const { id: idpId } = await ask("addGenericOAuthProvider", oauth)
  const link = { idpId, userId: "eva-1", userName: "eva" }
  const finn = {
    organization: { org: { case: "orgId", value: "org1" } },
    profile: { givenName: "Finn", familyName: "Berg" },
    email: { email: "finn@example.com", verification: { case: "isVerified", value: true } },
    idpLinks: [{ ...link, userId: "finn-1" }],
  }
  await sendAfter(
    () => addEva("en"),
    () => ask("addHumanUser", finn),
  )
  expect(subjects()).toEqual([])
  await sendAfter(() => ask("addIDPLink", { userId: "eva", idpLink: link }))
  expect(subjects()).toEqual(["A sign-in method was added"])
  expect(server.received.at(-1)?.mail.text).toContain("linked account")
  await sendAfter(() => ask("removeIDPLink", { userId: "eva", idpId, linkedUserId: "eva-1" }))
  expect(subjects()).toEqual(["A sign-in method was added", "A sign-in method was removed"])
})

test("a user who loses an address to another user is notified without a name", async () => {
  const superseded = { type: "user.human.email.changed", data: { isSuperseded: true } } as const
  await sendAfter(
    () => addEva("en"),
    () => ask("setEmail", { userId: "eva", email: "eva@example.com", ...isVerified }),
    () =>
      estate.step((tx) =>
        tx.append(user, "eva", [{ ...superseded, private: { email: "eva@example.com" } }]),
      ),
  )
  const { mail, recipients } = server.received.at(-1) ?? {}
  expect(recipients).toEqual(["eva@example.com"])
  expect(mail?.subject).toBe("Your email address now belongs to another account")
  expect(mail?.text).not.toContain(hostile)
})

test("no user data can add a header or a line", async () => {
  const custom = { language: "en", subject: "For {{.DisplayName}}", text: "Hi {{.LastName}}" }
  await ask("setDefaultPasswordResetMessageText", custom)
  // Values that fields reject today, but an old import may contain.
  await sendAfter(
    () => addEva("en", "Bcc: x@evil.example"),
    () => ask("setEmail", { userId: "eva", email: "eva@example.com", ...isVerified }),
    () => ask("passwordReset", { userId: "eva" }),
  )
  const reset = server.received.at(-1)
  expect(reset?.mail.subject).toBe("For Eva Bcc: x@evil.example")
  expect(reset?.mail.bcc).toBeUndefined()
  for (const familyName of ["a\r\nBcc: x@evil.example", "a\nb", "a\u2028b"]) {
    const profile = { givenName: "Eva", familyName }
    await expect(ask("updateHumanUser", { userId: "eva", profile }), familyName).rejects.toThrow()
  }
  const email = { userId: "eva", email: "eva@example.com\r\nBcc: x@evil.example", ...sendCode }
  await expect(ask("setEmail", email)).rejects.toMatchObject({ id: "user.email_invalid" })
})

test("a mail has the logo and colors of the applicable branding, and no inline images", async () => {
  const own = (name: string, request: object = {}) =>
    estate.as("manager", name, request, name.includes("Label") ? { of: "management.v1" } : {})
  const logo = (data: Uint8Array) => own("uploadOrgFile", { kind: "logo", file: { data } })
  await own("addCustomLabelPolicy", { primaryColor: "#0b6e4f" })
  await logo(onePixel)
  await own("activateCustomLabelPolicy")
  const reset = () => ask("passwordReset", { userId: "eva" })
  const email = { userId: "eva", email: "eva@example.com", ...isVerified }
  await sendAfter(
    () => addEva("en"),
    () => ask("setEmail", email),
    reset,
  )
  const html = String(server.received.at(-1)?.mail.html)
  expect(html).toMatch(
    /src="https:\/\/id\.example\.com\/assets\/v1\/org1\/policy\/label\/[^"]*png"/,
  )
  expect(html).toContain("background-color:#0b6e4f")
  await logo(svgWith('<rect width="1" height="1"/>'))
  await own("activateCustomLabelPolicy")
  await sendAfter(reset)
  expect(String(server.received.at(-1)?.mail.html)).not.toContain("<img")
})

test("an organization's texts, name, and logo are sent to verified addresses only", async () => {
  const own = (name: string, request: object = {}) =>
    estate.as("manager", name, request, { of: "management.v1" })
  await own("addCustomLabelPolicy", { primaryColor: "#0b6e4f" })
  await own("activateCustomLabelPolicy")
  const texts = { language: "en", subject: "You won", text: "Visit prize dot example" }
  await own("setCustomVerifyEmailMessageText", texts)
  await own("setCustomPasswordResetMessageText", texts)
  const last = () => {
    const { mail } = server.received.at(-1) ?? {}
    return { subject: mail?.subject, html: String(mail?.html) }
  }
  const reset = () => ask("passwordReset", { userId: "eva" })
  await sendAfter(() => addEva("en"))
  for (const act of [undefined, reset]) {
    if (act) await sendAfter(act)
    const { subject, html } = last()
    expect(subject).toMatch(/./)
    expect(subject).not.toBe("You won")
    expect(html).not.toMatch(/prize|#0b6e4f/)
  }
  const email = { userId: "eva", email: "eva@example.com", ...isVerified }
  await sendAfter(() => ask("setEmail", email), reset)
  expect(last()).toEqual({ subject: "You won", html: expect.stringMatching(/prize/) })
  expect(last().html).toContain("#0b6e4f")
})
