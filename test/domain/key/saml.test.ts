import { X509Certificate } from "node:crypto"
import { afterEach, beforeEach, expect, test } from "vitest"
import { rotateSamlKeys, samlKeys } from "../../../src/domain/key/index.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"

const day = 86_400_000
let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
})
afterEach(() => provider.close())

const cx = () => provider.cx()
const events = async () =>
  (await provider.store.log.read(0, 10_000)).filter(({ stream }) => stream === "key_pair")

test("the first to ask for a certificate has it made, and nobody a second one", async () => {
  await rotateSamlKeys(cx())
  expect(await events()).toEqual([])
  const [one, two] = await Promise.all([samlKeys(cx()), samlKeys(cx())])
  expect(one.certificate).toBe(two.certificate)
  expect(await events()).toHaveLength(1)
  const certificate = new X509Certificate(Buffer.from(one.certificate, "base64"))
  expect(certificate.subject).toBe("CN=id.example.com")
  expect(certificate.verify(certificate.publicKey)).toBe(true)
})

test("a successor is published ahead of time, signs later, and outlives the first", async () => {
  const first = await samlKeys(cx())
  const name = first.lastingName("somebody")
  provider.clock.advance(974 * day)
  await rotateSamlKeys(cx())
  expect((await samlKeys(cx())).certificates).toEqual([first.certificate])

  provider.clock.advance(2 * day)
  await rotateSamlKeys(cx())
  await rotateSamlKeys(cx())
  const announced = await samlKeys(cx())
  expect(announced.certificates).toHaveLength(2)
  expect(announced.certificate).toBe(first.certificate)

  provider.clock.advance(91 * day)
  await rotateSamlKeys(cx())
  const second = await samlKeys(cx())
  expect(second.certificate).toBe(announced.certificates[1])
  expect(second.certificates).toContain(first.certificate)
  expect(second.lastingName("somebody")).toBe(name)

  provider.clock.advance(30 * day)
  await rotateSamlKeys(cx())
  expect((await samlKeys(cx())).certificates).toEqual([second.certificate])
  const [added] = await events()
  expect(added?.private).toBeNull()
})

test("who comes back after years has one that counts at once", async () => {
  const first = await samlKeys(cx())
  provider.clock.advance(2000 * day)
  await rotateSamlKeys(cx())
  expect((await samlKeys(cx())).certificate).not.toBe(first.certificate)
})
