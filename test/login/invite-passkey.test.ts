// An invitation accepted with a passkey, a password, or whatever the policy allows.
import { decodeJwt } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createCode } from "../../src/domain/credential/code.ts"
import { checkCode } from "../../src/domain/credential/code-check.ts"
import { passwordOf } from "../../src/domain/credential/commands.ts"
import { keysOf } from "../../src/domain/factor/ready.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { inviteUser } from "../../src/domain/registration/invite.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { findProfile } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { runReactors } from "../../src/store/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  hiddenFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "../oauth/provider.ts"
import { createKey } from "../support/authenticator.ts"

const ownPassword = "Own-Battery-9"
const choicePath = "/ui/login/verify/password"
const userId = "nina"

let provider: Provider
let client: NewClient
let code: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  await createUser(provider.cx(), userId, {
    kind: "human",
    orgId: provider.setup.orgId,
    userName: "nina",
    profile: { givenName: "Nina", familyName: "Novak" },
    email: { value: "nina@example.org", verified: false },
  })
  code = await sendInvitation()
})
afterEach(() => provider.close())

async function sendInvitation(): Promise<string> {
  const made = createCode(provider.cx(), userId, { of: "invite", returned: true })
  await inviteUser(provider.cx(), userId, { code: made })
  return made.plain
}

const setLoginPolicy = (values: object) =>
  changePolicy(provider.cx(), undefined, { policy: login, apply: (had) => ({ ...had, ...values }) })
const state = () => provider.cx().store.state(provider.cx(), user, userId)
const passwordFields = { password: ownPassword, repeat: ownPassword }
const listCredentials = () => ({
  keys: keysOf(state()).length,
  password: passwordOf(state()) !== null,
})
const noCredentials = { keys: 0, password: false }

/** A browser at the choice of the credential, with a pending application. */
async function openChoice() {
  const browser = browserOf(provider)
  const { page } = await browser.go(authorizePath(client.id))
  const [, request = ""] = /name="authRequest" value="(\d+)"/.exec(page) ?? []
  const at = `/ui/login/verify?userId=${userId}&invite=true&authRequest=${request}`
  return { browser, choice: await browser.post(await browser.go(at), { code }) }
}

function listOffers({ page }: VisitedPage) {
  const read = (pattern: RegExp) => (pattern.exec(page)?.[1] ?? "").replaceAll("&quot;", '"')
  const options = read(/data-key-options="([^"]*)"/)
  return {
    options: options === "" ? undefined : JSON.parse(options),
    challenge: read(/name="challenge" value="([^"]*)"/),
  }
}

function createPasskey(choice: VisitedPage, manner = {}) {
  const { options, challenge } = listOffers(choice)
  const key = createKey(options, { origin: issuer, ...manner })
  return { key, fields: { challenge, credential: JSON.stringify(key.creation) } }
}

describe("an invitation", () => {
  test("offers a passkey first and a password second", async () => {
    const { choice } = await openChoice()
    const passkey = choice.page.indexOf("Create a passkey")
    expect(passkey).toBeGreaterThan(0)
    expect(choice.page.indexOf('name="password"')).toBeGreaterThan(passkey)
    expect(choice.page).not.toContain("autofocus")
  })

  test("can be accepted with a passkey, which signs in then and later", async () => {
    const { browser, choice } = await openChoice()
    const { key, fields } = createPasskey(choice)
    const answer = responseOf(await browser.post(choice, fields))
    const tokens = await sendTokenRequest(
      provider,
      codeFields(answer.code ?? ""),
      `${client.id}:${client.secret}`,
    )
    expect(decodeJwt(`${tokens.answer.id_token}`).amr).toEqual(["pop", "user", "mfa"])
    expect(listCredentials()).toEqual({ keys: 1, password: false })
    expect(findProfile(provider.cx(), userId)?.emailVerified).toBe(true)
    expect(await checkCode(provider.cx(), userId, { of: "invite", given: code })).toBe("wrong")
    const later = browserOf(provider)
    const first = await later.go(authorizePath(client.id))
    const { options, challenge } = listOffers(first)
    const credential = JSON.stringify(key.assertion(options, { origin: issuer }))
    const body = new URLSearchParams({ ...hiddenFields(first.page), challenge, credential })
    const end = await later.go("/ui/login/passkey", { method: "POST", body })
    expect(responseOf(end)).toHaveProperty("code")
  })

  test("can be accepted with a password on the same page", async () => {
    const { browser, choice } = await openChoice()
    expect(responseOf(await browser.post(choice, passwordFields))).toHaveProperty("code")
    expect(listCredentials()).toEqual({ keys: 0, password: true })
  })

  test("sends no email about an added passkey, because the user started it", async () => {
    const cx = provider.cx()
    const reactors = runReactors(provider.store, provider.clock, [messageReactor(() => cx)])
    const { browser, choice } = await openChoice()
    await browser.post(choice, createPasskey(choice).fields)
    await reactors.drain()
    await reactors.stop()
    const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
    expect(events.map(({ data }) => "kind" in data && data.kind)).not.toContain("factor_added")
  })

  test.each([
    ["of another page", { origin: "https://evil.example" }],
    ["that has not seen who uses it", { isVerified: false }],
  ])("rejects a passkey %s on the same page, and accepts another", async (_, manner) => {
    const { browser, choice } = await openChoice()
    const wrong = await browser.post(choice, createPasskey(choice, manner).fields)
    expect([wrong.response.status, /role="alert"/.test(wrong.page)]).toEqual([422, true])
    expect(listCredentials()).toEqual(noCredentials)
    expect(responseOf(await browser.post(wrong, createPasskey(wrong).fields))).toHaveProperty(
      "code",
    )
  })

  test("retried asks no authenticator for a second key", async () => {
    const first = await openChoice()
    const { key, fields } = createPasskey(first.choice)
    await first.browser.post(first.choice, fields)
    code = await sendInvitation()
    const { options } = listOffers((await openChoice()).choice)
    expect(options.excludeCredentials).toMatchObject([{ id: key.credentialId }])
  })

  test("creates one credential for a double click", async () => {
    const { browser, choice } = await openChoice()
    const [one, other] = [createPasskey(choice).fields, createPasskey(choice).fields]
    await Promise.all([browser.post(choice, one), browser.post(choice, other)])
    expect(listCredentials()).toEqual({ keys: 1, password: false })
  })
})

describe("the login policy", () => {
  test("without passkeys offers the password only, and accepts no passkey", async () => {
    const early = await openChoice()
    const { fields } = createPasskey(early.choice)
    await setLoginPolicy({ allowPasswordless: false })
    const { choice } = await openChoice()
    expect(listOffers(choice).options).toBeUndefined()
    expect(choice.page).toContain("Choose your password")
    const again = await early.browser.post(early.choice, fields)
    expect(again.path).toContain(choicePath)
    expect(listCredentials()).toEqual(noCredentials)
    expect(responseOf(await early.browser.post(again, passwordFields))).toHaveProperty("code")
  })

  test("without passwords offers the passkey only, and accepts no password", async () => {
    await setLoginPolicy({ allowUsernamePassword: false })
    const { browser, choice } = await openChoice()
    expect(choice.page).not.toContain('name="password"')
    const again = await browser.post(choice, passwordFields)
    expect(again.path).toContain(choicePath)
    expect(listCredentials()).toEqual(noCredentials)
    expect(responseOf(await browser.post(again, createPasskey(again).fields))).toHaveProperty(
      "code",
    )
  })
})
