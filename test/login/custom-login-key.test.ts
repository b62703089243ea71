// Passkeys and security keys on a login page of somebody else.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { beginKey, finishKey } from "../../src/domain/factor/key/key.ts"
import { changePolicy } from "../../src/domain/policy/commands.ts"
import { type Login, login } from "../../src/domain/policy/index.ts"
import { UserVerificationRequirement } from "../../src/gen/core/session/v2/challenge_pb.ts"
import { issuer, openProvider, type Provider, password } from "../oauth/provider.ts"
import { type Authenticator, makeKey } from "../support/authenticator.ts"
import {
  type Application,
  applicationAt,
  type CustomLogin,
  customLogin,
  type Kept,
} from "../support/custom-login.ts"
import { openLoginPage } from "../support/login-page.ts"

let provider: Provider
let page: CustomLogin
let app: Application
beforeAll(async () => {
  provider = await openProvider()
  page = customLogin(await openLoginPage(provider))
  app = await applicationAt(provider)
})
afterAll(() => provider.close())

let people = 0
let name: string
let id: string
beforeEach(async () => {
  name = `kim-${++people}`
  id = await provider.addPerson(name)
})

const manner = { origin: issuer }

async function register(kind: "passkey" | "u2f", userId = id): Promise<Authenticator> {
  const { tokenId, options } = await beginKey(provider.cx(), userId, { kind })
  const key = makeKey(options, manner)
  await finishKey(provider.cx(), userId, { kind, tokenId, credential: key.creation, name: "Key" })
  return key
}

const { REQUIRED, DISCOURAGED } = UserVerificationRequirement
const wanted = (
  userVerificationRequirement: UserVerificationRequirement = REQUIRED,
  domain = new URL(issuer).hostname,
) => ({
  webAuthN: { domain, userVerificationRequirement },
})
const byId = (value = id) => ({ user: { search: { case: "userId", value } } })

/** A session that a key was asked for, and what the browser is handed. */
async function asked(checks: object, challenges: object = wanted()) {
  const request = { checks, challenges }
  const answer = await page.call("session.v2.SessionService/CreateSession", request)
  const { publicKey } = answer.challenges.webAuthN.publicKeyCredentialRequestOptions
  return { kept: answer as Kept, publicKey }
}

const proof = (credentialAssertionData: object) => ({ webAuthN: { credentialAssertionData } })

async function claimsBy(kept: Kept) {
  const { path, finish } = await app.begin()
  return (await finish(await page.finish(await page.open(path), kept))).claims
}

describe("a passkey", () => {
  test("lets in by itself, and is told as the factors that it is", async () => {
    const key = await register("passkey")
    const { kept, publicKey } = await asked(byId())
    expect(publicKey.allowCredentials).toMatchObject([{ id: key.credentialId }])
    const next = await page.check(kept, proof(key.assertion(publicKey, manner)))
    expect(await claimsBy(next)).toMatchObject({ sub: id, amr: ["pop", "user", "mfa"] })
    const { session } = await page.call("session.v2.SessionService/GetSession", next)
    expect(session.factors.webAuthN.userVerified).toBe(true)
    expect(session.factors.password).toBeUndefined()
  })

  test("says by itself who it is", async () => {
    const key = await register("passkey")
    const { kept, publicKey } = await asked({})
    const next = await page.check(kept, proof(key.assertion(publicKey, manner)))
    expect((await claimsBy(next)).sub).toBe(id)
  })

  test("of somebody else, of another challenge, or a second time opens nothing", async () => {
    const other = await provider.addPerson(`other-${name}`)
    const [mine, theirs] = [await register("passkey"), await register("passkey", other)]
    const first = await asked(byId())
    const second = await asked(byId())
    const good = proof(mine.assertion(first.publicKey, manner))
    for (const bad of [
      proof(theirs.assertion(first.publicKey, manner)),
      proof(mine.assertion(second.publicKey, manner)),
      proof(mine.assertion(first.publicKey, { origin: "https://evil.example" })),
      proof(mine.assertion(first.publicKey, { ...manner, isVerified: false })),
      proof({}),
    ]) {
      await expect(page.check(first.kept, bad)).rejects.toMatchObject({ id: "session.proof_wrong" })
    }
    const next = await page.check(first.kept, good)
    await expect(page.check(next, good)).rejects.toMatchObject({ id: "session.proof_wrong" })
    await expect(page.check(second.kept, good)).rejects.toMatchObject({
      id: "session.proof_wrong",
    })
    expect((await claimsBy(next)).sub).toBe(id)
  })

  test("is a second factor at most where the policy allows no more", async () => {
    const key = await register("passkey")
    const allow = (allowPasswordless: boolean) =>
      changePolicy(provider.cx(), undefined, { policy: login, say: () => ({ allowPasswordless }) })
    await allow(false)
    const { kept, publicKey } = await asked(byId())
    const next = await page.check(kept, proof(key.assertion(publicKey, manner)))
    const { path } = await app.begin()
    const early = page.finish(await page.open(path), next)
    await expect(early).rejects.toMatchObject({ id: "session.unproven" })
    const both = await page.check(next, { password: { password } })
    expect((await claimsBy(both)).amr).toContain("mfa")
    await allow(true)
  })
})

describe("where passwords are off and multi_factors is empty", () => {
  const setPolicy = (say: () => Partial<Login>) =>
    changePolicy(provider.cx(), undefined, { policy: login, say })
  beforeEach(() => setPolicy(() => ({ allowUsernamePassword: false, multiFactors: [] })))
  afterEach(() =>
    setPolicy(() => ({
      allowUsernamePassword: true,
      multiFactors: login.standard.multiFactors,
    })),
  )

  test("a passkey signs in, which the password of its user does not", async () => {
    const key = await register("passkey")
    const { kept, publicKey } = await asked(byId())
    await expect(page.check(kept, { password: { password } })).rejects.toThrow("webauthn")
    const next = await page.check(kept, proof(key.assertion(publicKey, manner)))
    expect(await claimsBy(next)).toMatchObject({ sub: id, amr: ["pop", "user", "mfa"] })
  })
})

describe("a security key", () => {
  test("is a second factor, and opens nothing alone", async () => {
    const key = await register("u2f")
    const named = await asked(byId(), wanted(DISCOURAGED))
    const touched = { ...manner, isVerified: false }
    const alone = await page.check(named.kept, proof(key.assertion(named.publicKey, touched)))
    const { path } = await app.begin()
    const early = page.finish(await page.open(path), alone)
    await expect(early).rejects.toMatchObject({ id: "session.unproven" })
    const both = await page.check(alone, { password: { password } })
    expect(await claimsBy(both)).toMatchObject({ sub: id, amr: ["pop", "user", "pwd", "mfa"] })
  })
})

test("keys are asked for on the instance's own domains alone", async () => {
  await expect(asked(byId(), wanted(REQUIRED, "evil.example"))).rejects.toMatchObject({
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
  const { kept, publicKey } = await asked(byId())
  const from = { origin: `https://${page2}` }
  const next = await page.check(kept, proof(key.assertion(publicKey, from)))
  expect((await claimsBy(next)).sub).toBe(id)
})
