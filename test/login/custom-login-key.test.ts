// Passkeys and security keys on a custom login page.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { type Login, login } from "../../src/domain/policy/index.ts"
import { UserVerificationRequirement } from "../../src/gen/core/session/v2/challenge_pb.ts"
import { issuer, openProvider, type Provider, password } from "../oauth/provider.ts"
import { type Authenticator, createKey } from "../support/authenticator.ts"
import {
  type Application,
  addCustomLoginApp,
  type CustomLoginPage,
  createCustomLoginPage,
  type StoredSession,
} from "../support/custom-login-page.ts"
import { addLoginPageCaller } from "../support/operation-caller.ts"

let provider: Provider
let page: CustomLoginPage
let app: Application
beforeAll(async () => {
  provider = await openProvider()
  page = createCustomLoginPage(await addLoginPageCaller(provider))
  app = await addCustomLoginApp(provider)
})
afterAll(() => provider.close())

let userCount = 0
let name: string
let id: string
beforeEach(async () => {
  name = `kim-${++userCount}`
  id = await provider.addPerson(name)
})

const authenticatorOptions = { origin: issuer }

async function register(kind: "passkey" | "u2f", userId = id): Promise<Authenticator> {
  const { tokenId, options } = await beginKey(provider.cx(), userId, { kind })
  const key = createKey(options, authenticatorOptions)
  await finishKey(provider.cx(), userId, { kind, tokenId, credential: key.creation, name: "Key" })
  return key
}

const { REQUIRED, DISCOURAGED } = UserVerificationRequirement
const challengeOptions = (
  userVerificationRequirement: UserVerificationRequirement = REQUIRED,
  domain = new URL(issuer).hostname,
) => ({
  webAuthN: { domain, userVerificationRequirement },
})
const userCheck = (value = id) => ({ user: { search: { case: "userId", value } } })

/** A session with a key challenge, and the options for the browser. */
async function requestChallenge(checks: object, challenges: object = challengeOptions()) {
  const request = { checks, challenges }
  const answer = await page.call("session.v2.SessionService/CreateSession", request)
  const { publicKey } = answer.challenges.webAuthN.publicKeyCredentialRequestOptions
  return { kept: answer as StoredSession, publicKey }
}

const assertionCheck = (credentialAssertionData: object) => ({
  webAuthN: { credentialAssertionData },
})

async function claimsFor(session: StoredSession) {
  const { path, finish } = await app.begin()
  return (await finish(await page.finish(await page.open(path), session))).claims
}

describe("a passkey", () => {
  test("signs in alone, and the amr lists its factors", async () => {
    const key = await register("passkey")
    const { kept, publicKey } = await requestChallenge(userCheck())
    expect(publicKey.allowCredentials).toMatchObject([{ id: key.credentialId }])
    const next = await page.check(
      kept,
      assertionCheck(key.assertion(publicKey, authenticatorOptions)),
    )
    expect(await claimsFor(next)).toMatchObject({ sub: id, amr: ["pop", "user", "mfa"] })
    const { session } = await page.call("session.v2.SessionService/GetSession", next)
    expect(session.factors.webAuthN.userVerified).toBe(true)
    expect(session.factors.password).toBeUndefined()
  })

  test("identifies the user", async () => {
    const key = await register("passkey")
    const { kept, publicKey } = await requestChallenge({})
    const next = await page.check(
      kept,
      assertionCheck(key.assertion(publicKey, authenticatorOptions)),
    )
    expect((await claimsFor(next)).sub).toBe(id)
  })

  test("of another user, for another challenge, or used twice is rejected", async () => {
    const other = await provider.addPerson(`other-${name}`)
    const [mine, theirs] = [await register("passkey"), await register("passkey", other)]
    const first = await requestChallenge(userCheck())
    const second = await requestChallenge(userCheck())
    const good = assertionCheck(mine.assertion(first.publicKey, authenticatorOptions))
    for (const bad of [
      assertionCheck(theirs.assertion(first.publicKey, authenticatorOptions)),
      assertionCheck(mine.assertion(second.publicKey, authenticatorOptions)),
      assertionCheck(mine.assertion(first.publicKey, { origin: "https://evil.example" })),
      assertionCheck(
        mine.assertion(first.publicKey, { ...authenticatorOptions, isVerified: false }),
      ),
      assertionCheck({}),
    ]) {
      await expect(page.check(first.kept, bad)).rejects.toMatchObject({ id: "session.proof_wrong" })
    }
    const next = await page.check(first.kept, good)
    await expect(page.check(next, good)).rejects.toMatchObject({ id: "session.proof_wrong" })
    await expect(page.check(second.kept, good)).rejects.toMatchObject({
      id: "session.proof_wrong",
    })
    expect((await claimsFor(next)).sub).toBe(id)
  })

  test("is only a second factor if the policy allows no more", async () => {
    const key = await register("passkey")
    const allow = (allowPasswordless: boolean) =>
      changePolicy(provider.cx(), undefined, {
        policy: login,
        apply: () => ({ allowPasswordless }),
      })
    await allow(false)
    const { kept, publicKey } = await requestChallenge(userCheck())
    const next = await page.check(
      kept,
      assertionCheck(key.assertion(publicKey, authenticatorOptions)),
    )
    const { path } = await app.begin()
    const early = page.finish(await page.open(path), next)
    await expect(early).rejects.toMatchObject({ id: "session.unproven" })
    const both = await page.check(next, { password: { password } })
    expect((await claimsFor(both)).amr).toContain("mfa")
    await allow(true)
  })
})

describe("if passwords are off and multi_factors is empty", () => {
  const setPolicy = (say: () => Partial<Login>) =>
    changePolicy(provider.cx(), undefined, { policy: login, apply: say })
  beforeEach(() => setPolicy(() => ({ allowUsernamePassword: false, multiFactors: [] })))
  afterEach(() =>
    setPolicy(() => ({
      allowUsernamePassword: true,
      multiFactors: login.standard.multiFactors,
    })),
  )

  test("a passkey signs in, which the password of its user does not", async () => {
    const key = await register("passkey")
    const { kept, publicKey } = await requestChallenge(userCheck())
    await expect(page.check(kept, { password: { password } })).rejects.toThrow("webauthn")
    const next = await page.check(
      kept,
      assertionCheck(key.assertion(publicKey, authenticatorOptions)),
    )
    expect(await claimsFor(next)).toMatchObject({ sub: id, amr: ["pop", "user", "mfa"] })
  })
})

describe("a security key", () => {
  test("is a second factor, and signs nobody in alone", async () => {
    const key = await register("u2f")
    const named = await requestChallenge(userCheck(), challengeOptions(DISCOURAGED))
    const touched = { ...authenticatorOptions, isVerified: false }
    const alone = await page.check(
      named.kept,
      assertionCheck(key.assertion(named.publicKey, touched)),
    )
    const { path } = await app.begin()
    const early = page.finish(await page.open(path), alone)
    await expect(early).rejects.toMatchObject({ id: "session.unproven" })
    const both = await page.check(alone, { password: { password } })
    expect(await claimsFor(both)).toMatchObject({ sub: id, amr: ["pop", "user", "pwd", "mfa"] })
  })
})

test("keys work on the instance's own domains only", async () => {
  await expect(
    requestChallenge(userCheck(), challengeOptions(REQUIRED, "evil.example")),
  ).rejects.toMatchObject({
    id: "user.domain_unknown",
  })
  const page2 = "login.example.net"
  const { ownerId: userId, orgId } = provider.setup
  const owner = { kind: "user", userId, orgId, clientId: "console" } as const
  await page.call(
    "instance.v2.InstanceService/AddTrustedDomain",
    { trustedDomain: page2 },
    {
      caller: owner,
    },
  )
  const key = await register("passkey")
  const { kept, publicKey } = await requestChallenge(userCheck())
  const from = { origin: `https://${page2}` }
  const next = await page.check(kept, assertionCheck(key.assertion(publicKey, from)))
  expect((await claimsFor(next)).sub).toBe(id)
})
