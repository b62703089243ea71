// An account registered with a passkey that never has a password.
import { decodeJwt } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { passwordOf } from "../../src/domain/credential/commands.ts"
import { keysOf } from "../../src/domain/factor/ready.ts"
import { listMemberships } from "../../src/domain/member/index.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import { setRestrictions } from "../../src/domain/quota/index.ts"
import { registrationCode } from "../../src/domain/registration/registration.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
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
const registerPath = "/ui/login/register"
const registrationFields = { email: "rita@example.net", givenName: "Rita", familyName: "Roth" }

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  await setLoginPolicy({})
  const cx = provider.cx()
  await setRestrictions(cx, cx.instance, { disallowPublicOrgRegistration: false })
})
afterEach(() => provider.close())

const path = (changes = {}) => authorizePath(client.id, changes)
const createPath = () => path({ prompt: "create" })
const setLoginPolicy = (values: object) =>
  changePolicy(provider.cx(), undefined, {
    policy: login,
    apply: (had) => ({ ...had, allowRegister: true, ...values }),
  })
const idIn = ({ path: at }: VisitedPage) => new URL(at, issuer).searchParams.get("userId") ?? ""
const codeFor = (at: VisitedPage) => registrationCode(provider.cx(), idIn(at))?.plain ?? ""
const passwordFields = { password: ownPassword, repeat: ownPassword }

describe("a passkey in place of a password", () => {
  const offeredBy = ({ page }: VisitedPage) => {
    const read = (pattern: RegExp) =>
      (pattern.exec(page)?.[1] ?? "").replaceAll("&quot;", '"').replaceAll("&amp;", "&")
    const options = read(/data-key-options="([^"]*)"/)
    return {
      options: options === "" ? undefined : JSON.parse(options),
      challenge: read(/name="challenge" value="([^"]*)"/),
    }
  }
  /** Opens the registration up to the choice of the credential. */
  async function chosen(at = createPath(), more = {}) {
    const browser = browserOf(provider)
    const sent = await browser.post(await browser.go(at), { ...registrationFields, ...more })
    return { browser, sent, choice: await browser.post(sent, { code: codeFor(sent) }) }
  }
  const made = (choice: VisitedPage, manner = {}) => {
    const { options, challenge } = offeredBy(choice)
    const key = createKey(options, { origin: issuer, ...manner })
    return { key, fields: { challenge, credential: JSON.stringify(key.creation) } }
  }
  const owned = (id: string) => keysOf(provider.cx().store.state(provider.cx(), user, id))

  test("creates the account, signs in to the application, and later signs in alone", async () => {
    const { browser, sent, choice } = await chosen()
    const { key, fields } = made(choice)
    const { code = "" } = responseOf(await browser.post(choice, fields))
    const { answer } = await sendTokenRequest(
      provider,
      codeFields(code),
      `${client.id}:${client.secret}`,
    )
    expect(decodeJwt(`${answer.id_token}`).amr).toEqual(["pop", "user", "mfa"])
    expect(owned(idIn(sent))).toMatchObject([{ kind: "passkey", credentialId: key.credentialId }])
    const state = provider.cx().store.state(provider.cx(), user, idIn(sent))
    expect(passwordOf(state)).toBeNull()
    const later = browserOf(provider)
    const first = await later.go(path())
    const { options, challenge } = offeredBy(first)
    const credential = JSON.stringify(key.assertion(options, { origin: issuer }))
    const hidden = hiddenFields(first.page)
    const body = new URLSearchParams({ ...hidden, challenge, credential })
    const end = await later.go("/ui/login/passkey", { method: "POST", body })
    expect(responseOf(end)).toHaveProperty("code")
  })

  test("can also create an organization, without an email about it", async () => {
    const cx = provider.cx()
    const reactors = runReactors(provider.store, provider.clock, [messageReactor(() => cx)])
    const { browser, sent, choice } = await chosen(`${registerPath}/org`, { organization: "Roth" })
    const end = await browser.post(choice, made(choice).fields)
    await reactors.drain()
    await reactors.stop()
    expect(end.path).toBe("/ui/login/signedin")
    expect(listMemberships(cx, idIn(sent))).toMatchObject([{ roles: ["ORG_OWNER"] }])
    const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
    expect(events.map(({ data }) => "kind" in data && data.kind)).not.toContain("factor_added")
  })

  test.each([
    ["of another page", { origin: "https://evil.example" }],
    ["that has not seen who uses it", { isVerified: false }],
    ["for another service", { rpId: "evil.example" }],
  ])("%s is rejected on the same page, and another one accepted", async (_, manner) => {
    const { browser, sent, choice } = await chosen()
    const wrong = await browser.post(choice, made(choice, manner).fields)
    expect([wrong.response.status, /role="alert"/.test(wrong.page)]).toEqual([422, true])
    expect(owned(idIn(sent))).toEqual([])
    expect(responseOf(await browser.post(wrong, made(wrong).fields))).toHaveProperty("code")
  })

  test("is rejected for the challenge of another browser, account or hour", async () => {
    const [mine, theirs] = [
      await chosen(),
      await chosen(createPath(), { email: "eve@example.net" }),
    ]
    for (const other of [
      made(theirs.choice).fields,
      { ...made(mine.choice).fields, challenge: "" },
    ])
      expect((await mine.browser.post(mine.choice, other)).response.status).toBe(422)
    const late = made(mine.choice).fields
    provider.clock.advance(10 * 60_000)
    expect((await mine.browser.post(mine.choice, late)).response.status).toBe(422)
    expect(findByLoginName(provider.cx(), registrationFields.email)).toBeUndefined()
  })

  test("that another user has creates no account", async () => {
    const first = await chosen()
    const { fields } = made(first.choice)
    await first.browser.post(first.choice, fields)
    const second = await chosen(createPath(), { email: "eve@example.net" })
    const { options, challenge } = offeredBy(second.choice)
    const again = JSON.parse(fields.credential)
    const { response } = JSON.parse(JSON.stringify(createKey(options, { origin: issuer }).creation))
    again.response.clientDataJSON = response.clientDataJSON
    const end = await second.browser.post(second.choice, {
      challenge,
      credential: JSON.stringify(again),
    })
    expect(end.response.status).toBe(422)
    expect(findByLoginName(provider.cx(), "eve@example.net")).toBeUndefined()
  })

  test("is the only option if the policy says so, and not accepted otherwise", async () => {
    const { browser, choice } = await chosen()
    const { fields } = made(choice)
    await setLoginPolicy({ allowPasswordless: false })
    expect((await browser.post(choice, fields)).response.status).toBe(422)
    expect(findByLoginName(provider.cx(), registrationFields.email)).toBeUndefined()
    const { browser: other, choice: plain } = await chosen(createPath(), {
      email: "ann@example.net",
    })
    expect(offeredBy(plain).options).toBeUndefined()
    expect(responseOf(await other.post(plain, passwordFields))).toHaveProperty("code")
  })

  test("is sufficient if a second factor is required", async () => {
    await setLoginPolicy({ forceMfa: true })
    const { browser, choice } = await chosen()
    expect(responseOf(await browser.post(choice, made(choice).fields))).toHaveProperty("code")
  })
})
