// An invitation that is accepted with a passkey, with a password, or with what the policy allows.
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
import { profile } from "../../src/domain/user-lookup/query.ts"
import { user } from "../../src/domain/user-model/model.ts"
import { runReactors } from "../../src/store/index.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  hiddenFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  type Visited,
} from "../oauth/provider.ts"
import { makeKey } from "../support/authenticator.ts"

const own = "Own-Battery-9"
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
  code = await invited()
})
afterEach(() => provider.close())

async function invited(): Promise<string> {
  const made = createCode(provider.cx(), userId, { of: "invite", returned: true })
  await inviteUser(provider.cx(), userId, { code: made })
  return made.plain
}

const says = (values: object) =>
  changePolicy(provider.cx(), undefined, { policy: login, say: (had) => ({ ...had, ...values }) })
const state = () => provider.cx().store.state(provider.cx(), user, userId)
const twice = { password: own, repeat: own }
const has = () => ({ keys: keysOf(state()).length, password: passwordOf(state()) !== null })
const nothing = { keys: 0, password: false }

/** A browser that has come to the choice, for an application that waits. */
async function chosen() {
  const browser = browserOf(provider)
  const { page } = await browser.go(authorizePath(client.id))
  const [, request = ""] = /name="authRequest" value="(\d+)"/.exec(page) ?? []
  const at = `/ui/login/verify?userId=${userId}&invite=true&authRequest=${request}`
  return { browser, choice: await browser.post(await browser.go(at), { code }) }
}

function offeredBy({ page }: Visited) {
  const read = (pattern: RegExp) => (pattern.exec(page)?.[1] ?? "").replaceAll("&quot;", '"')
  const options = read(/data-key-options="([^"]*)"/)
  return {
    options: options === "" ? undefined : JSON.parse(options),
    challenge: read(/name="challenge" value="([^"]*)"/),
  }
}

function made(choice: Visited, manner = {}) {
  const { options, challenge } = offeredBy(choice)
  const key = makeKey(options, { origin: issuer, ...manner })
  return { key, fields: { challenge, credential: JSON.stringify(key.creation) } }
}

describe("an invitation", () => {
  test("offers a passkey first and a password second", async () => {
    const { choice } = await chosen()
    const passkey = choice.page.indexOf("Create a passkey")
    expect(passkey).toBeGreaterThan(0)
    expect(choice.page.indexOf('name="password"')).toBeGreaterThan(passkey)
    expect(choice.page).not.toContain("autofocus")
  })

  test("is accepted with a passkey, which signs in then and later by itself", async () => {
    const { browser, choice } = await chosen()
    const { key, fields } = made(choice)
    const answer = answerOf(await browser.post(choice, fields))
    const tokens = await askToken(
      provider,
      codeFields(answer.code ?? ""),
      `${client.id}:${client.secret}`,
    )
    expect(decodeJwt(`${tokens.answer.id_token}`).amr).toEqual(["pop", "user", "mfa"])
    expect(has()).toEqual({ keys: 1, password: false })
    expect(profile(provider.cx(), userId)?.emailVerified).toBe(true)
    expect(await checkCode(provider.cx(), userId, { of: "invite", given: code })).toBe("wrong")
    const later = browserOf(provider)
    const first = await later.go(authorizePath(client.id))
    const { options, challenge } = offeredBy(first)
    const credential = JSON.stringify(key.assertion(options, { origin: issuer }))
    const body = new URLSearchParams({ ...hiddenFields(first.page), challenge, credential })
    const end = await later.go("/ui/login/passkey", { method: "POST", body })
    expect(answerOf(end)).toHaveProperty("code")
  })

  test("is accepted with a password, in the same place", async () => {
    const { browser, choice } = await chosen()
    expect(answerOf(await browser.post(choice, twice))).toHaveProperty("code")
    expect(has()).toEqual({ keys: 0, password: true })
  })

  test("sends no mail that a passkey was added: the user began with it", async () => {
    const cx = provider.cx()
    const reactors = runReactors(provider.store, provider.clock, [messageReactor(() => cx)])
    const { browser, choice } = await chosen()
    await browser.post(choice, made(choice).fields)
    await reactors.drain()
    await reactors.stop()
    const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
    expect(events.map(({ data }) => "kind" in data && data.kind)).not.toContain("factor_added")
  })

  test.each([
    ["of another page", { origin: "https://evil.example" }],
    ["that has not seen who uses it", { isVerified: false }],
  ])("refuses a passkey %s where it stands, and takes another", async (_, manner) => {
    const { browser, choice } = await chosen()
    const wrong = await browser.post(choice, made(choice, manner).fields)
    expect([wrong.response.status, /role="alert"/.test(wrong.page)]).toEqual([422, true])
    expect(has()).toEqual(nothing)
    expect(answerOf(await browser.post(wrong, made(wrong).fields))).toHaveProperty("code")
  })

  test("again asks no authenticator for a second key", async () => {
    const first = await chosen()
    const { key, fields } = made(first.choice)
    await first.browser.post(first.choice, fields)
    code = await invited()
    const { options } = offeredBy((await chosen()).choice)
    expect(options.excludeCredentials).toMatchObject([{ id: key.credentialId }])
  })

  test("gives one credential to a double click", async () => {
    const { browser, choice } = await chosen()
    const [one, other] = [made(choice).fields, made(choice).fields]
    await Promise.all([browser.post(choice, one), browser.post(choice, other)])
    expect(has()).toEqual({ keys: 1, password: false })
  })
})

describe("the login policy", () => {
  test("without passkeys leaves the password alone, and none is taken", async () => {
    const early = await chosen()
    const { fields } = made(early.choice)
    await says({ allowPasswordless: false })
    const { choice } = await chosen()
    expect(offeredBy(choice).options).toBeUndefined()
    expect(choice.page).toContain("Choose your password")
    const again = await early.browser.post(early.choice, fields)
    expect(again.path).toContain(choicePath)
    expect(has()).toEqual(nothing)
    expect(answerOf(await early.browser.post(again, twice))).toHaveProperty("code")
  })

  test("without passwords leaves the passkey alone, and none is taken", async () => {
    await says({ allowUsernamePassword: false })
    const { browser, choice } = await chosen()
    expect(choice.page).not.toContain('name="password"')
    const again = await browser.post(choice, twice)
    expect(again.path).toContain(choicePath)
    expect(has()).toEqual(nothing)
    expect(answerOf(await browser.post(again, made(again).fields))).toHaveProperty("code")
  })
})
