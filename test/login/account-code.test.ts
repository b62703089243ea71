// Changes to one's own account confirmed by an emailed code, for users who can't sign in freshly.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createPassword, setPassword } from "../../src/domain/credential/commands.ts"
import { createIdp, linkIdp, updateIdp } from "../../src/domain/idp/commands.ts"
import type { Options } from "../../src/domain/idp/index.ts"
import type { Settings } from "../../src/domain/idp/model.ts"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/index.ts"
import { deactivateProvider } from "../../src/domain/message-provider/commands.ts"
import { providersOf } from "../../src/domain/message-provider/index.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import { user } from "../../src/domain/user-model/model.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  findApiCaller,
  type NewClient,
  openProvider,
  type Provider,
  password,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "../oauth/provider.ts"
import { callAs } from "../support/operation-caller.ts"
import { openUpstream, type Upstream, upstreamIssuer } from "../support/upstream.ts"

let provider: Provider
let client: NewClient
let upstream: Upstream
let idpId: string
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  upstream = await openUpstream()
  idpId = (await createIdp(provider.cx(), undefined, idpInput())).id
  await linkIdp(provider.cx(), undefined, idpId)
})
afterEach(() => provider.close())

const settings: Settings = {
  kind: "oidc",
  issuer: upstreamIssuer,
  clientId: "client",
  scopes: [],
  isIdTokenMapping: false,
  usePkce: true,
}
const idpInput = (changes: Partial<Options> = {}) => ({
  name: "Acme",
  settings,
  options: {
    isLinkingAllowed: true,
    isCreationAllowed: true,
    isAutoCreation: true,
    ...({ isAutoUpdate: false, autoLinking: "off" } as const),
    isTrustedForAddresses: true,
    ...changes,
  },
  secret: "s3cret",
})
const setTrustedForAddresses = (isTrustedForAddresses: boolean) =>
  updateIdp(provider.cx(), undefined, idpId, idpInput({ isTrustedForAddresses }))

async function removeMailServer(): Promise<void> {
  const { active = "" } = providersOf(provider.cx(), "email")
  await deactivateProvider(provider.cx(), "email", active)
}

const ada = {
  sub: "ada-1",
  preferred_username: "ada",
  given_name: "Ada",
  family_name: "Lovelace",
  email: "ada@example.com",
  email_verified: true,
}
const adaId = () => findByLoginName(provider.cx(), "ada") ?? ""

/** Signs in through the provider, which states no time, and calls operations with the token. */
async function signIn() {
  const browser = browserOf({
    send: (path, init) => provider.send(path, init, { outside: upstream.outside }),
  })
  const first = await browser.go(authorizePath(client.id, { scope }))
  const href = /href="([^"]*externalidp[^"]*)"/.exec(first.page)?.[1] ?? ""
  const { path } = await browser.go(href.replaceAll("&amp;", "&"))
  const consent = await browser.go(upstream.signIn(path, { ...ada }))
  return Object.assign(await allowClient(browser, consent, client), { browser })
}

const scope = "openid urn:core:iam:org:project:id:core:aud"

type Browser = ReturnType<typeof browserOf>

/** Calls operations with the token that a client gets once the user has consented. */
async function allowClient(browser: Browser, consent: VisitedPage, { id, secret }: NewClient) {
  const { code = "" } = responseOf(await browser.post(consent, { answer: "allow" }))
  const { answer } = await sendTokenRequest(provider, codeFields(code), `${id}:${secret}`)
  const token = String(answer.access_token)
  return async (name: string, request: object = {}) =>
    callAs(provider, await findApiCaller(provider, token))(name, request)
}

const activity = "activity.v2.ActivityService"
const registerTotp = "user.v2.UserService/RegisterTOTP"
const tooOld = { id: "session.sign_in_too_old" }

async function findMailedCode() {
  const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
  const sent = events.map(({ id }) => provider.store.state(provider.cx(), message, id))
  const last = sent.findLast(({ kind }) => kind === "verify_email_otp")
  if (!last) throw new Error("no email was sent")
  const content = contentOf(provider.cx(), last)
  if ("over" in content) throw new Error(content.over)
  return { code: /\b[0-9A-Z]{6,10}\b/.exec(JSON.stringify(content))?.[0] ?? "", to: last.to }
}

describe("a user whose provider states no sign-in time", () => {
  test("can change the account for a while after entering an emailed code", async () => {
    const ask = await signIn()
    await expect(ask(registerTotp, { userId: adaId() })).rejects.toMatchObject(tooOld)
    expect(await ask(`${activity}/SendAccountCode`)).toMatchObject({ email: ada.email })
    const { code } = await findMailedCode()
    const wrong = ask(`${activity}/VerifyAccountCode`, { code: `${code}1` })
    await expect(wrong).rejects.toMatchObject({ id: "session.account_code_wrong" })
    await expect(ask(registerTotp, { userId: adaId() })).rejects.toMatchObject(tooOld)
    await ask(`${activity}/VerifyAccountCode`, { code })
    await ask(registerTotp, { userId: adaId() })
    const again = ask(`${activity}/VerifyAccountCode`, { code })
    await expect(again).rejects.toMatchObject({ id: "session.account_code_wrong" })
    provider.clock.advance(901_000)
    await expect(ask(registerTotp, { userId: adaId() })).rejects.toMatchObject(tooOld)
  })

  test("has no fresh sign-in for applications, or in other sessions", async () => {
    const ask = await signIn()
    const other = await signIn()
    await ask(`${activity}/SendAccountCode`)
    await ask(`${activity}/VerifyAccountCode`, { code: (await findMailedCode()).code })
    await expect(other(registerTotp, { userId: adaId() })).rejects.toMatchObject(tooOld)
    const silent = (more: object) =>
      ask.browser.go(authorizePath(client.id, { prompt: "none", ...more }))
    expect(responseOf(await silent({}))).toHaveProperty("code")
    expect(responseOf(await silent({ max_age: "3600" })).error).toBe("login_required")
  })

  test("permits no other client of the same sign-in", async () => {
    const ask = await signIn()
    const added = await provider.addClient()
    const consent = await ask.browser.go(authorizePath(added.id, { scope }))
    const other = await allowClient(ask.browser, consent, added)
    await ask(`${activity}/SendAccountCode`)
    await ask(`${activity}/VerifyAccountCode`, { code: (await findMailedCode()).code })
    await expect(other(registerTotp, { userId: adaId() })).rejects.toMatchObject(tooOld)
    await ask(registerTotp, { userId: adaId() })
  })

  test("must contact an administrator if no email can be sent", async () => {
    await removeMailServer()
    const ask = await signIn()
    await expect(ask(`${activity}/SendAccountCode`)).rejects.toMatchObject({
      id: "session.account_code_no_mail",
      message: expect.stringContaining("ask an administrator"),
    })
  })

  test("must contact an administrator if only others have verified the address", async () => {
    const ask = await signIn()
    await setTrustedForAddresses(false)
    const unproven = { id: "session.account_code_unproven" }
    await expect(ask(`${activity}/SendAccountCode`)).rejects.toMatchObject(unproven)
    const verified = async (by: "user" | "instance") =>
      provider.store.transact(provider.cx(), (tx) =>
        tx.append(user, adaId(), [
          { type: "user.human.email.verified", data: { verifier: { by } } },
        ]),
      )
    await verified("instance")
    await expect(ask(`${activity}/SendAccountCode`)).rejects.toMatchObject(unproven)
    await verified("user")
    expect(await ask(`${activity}/SendAccountCode`)).toMatchObject({ email: ada.email })
  })

  test("must sign in again if they have a password", async () => {
    const ask = await signIn()
    await ask(`${activity}/SendAccountCode`)
    const { code } = await findMailedCode()
    await setPassword(provider.cx(), adaId(), await createPassword(password, { names: [] }))
    const other = await signIn()
    const notNeeded = { id: "session.account_code_not_needed" }
    await expect(other(`${activity}/SendAccountCode`)).rejects.toMatchObject(notNeeded)
    await expect(other(`${activity}/VerifyAccountCode`, { code })).rejects.toBeDefined()
  })
})
