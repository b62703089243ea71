import { X509Certificate } from "node:crypto"
import { afterEach, beforeEach, expect, test } from "vitest"
import { getSamlKeys, rotateSamlKeys } from "../../../src/domain/key/index.ts"
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

test("the first request for a certificate creates it, and concurrent ones reuse it", async () => {
  await rotateSamlKeys(cx())
  expect(await events()).toEqual([])
  const [one, two] = await Promise.all([getSamlKeys(cx()), getSamlKeys(cx())])
  expect(one.certificate).toBe(two.certificate)
  expect(await events()).toHaveLength(1)
  const certificate = new X509Certificate(Buffer.from(one.certificate, "base64"))
  expect(certificate.subject).toBe("CN=id.example.com")
  expect(certificate.verify(certificate.publicKey)).toBe(true)
})

test("a successor is published in advance, signs later, and outlives the first", async () => {
  const first = await getSamlKeys(cx())
  const name = first.persistentNameId("somebody")
  provider.clock.advance(974 * day)
  await rotateSamlKeys(cx())
  expect((await getSamlKeys(cx())).certificates).toEqual([first.certificate])

  provider.clock.advance(2 * day)
  await rotateSamlKeys(cx())
  await rotateSamlKeys(cx())
  const announced = await getSamlKeys(cx())
  expect(announced.certificates).toHaveLength(2)
  expect(announced.certificate).toBe(first.certificate)

  provider.clock.advance(91 * day)
  await rotateSamlKeys(cx())
  const second = await getSamlKeys(cx())
  expect(second.certificate).toBe(announced.certificates[1])
  expect(second.certificates).toContain(first.certificate)
  expect(second.persistentNameId("somebody")).toBe(name)

  provider.clock.advance(30 * day)
  await rotateSamlKeys(cx())
  expect((await getSamlKeys(cx())).certificates).toEqual([second.certificate])
  const [added] = await events()
  expect(added?.private).toBeNull()
})

test("a certificate is valid immediately after years without use", async () => {
  const first = await getSamlKeys(cx())
  provider.clock.advance(2000 * day)
  await rotateSamlKeys(cx())
  expect((await getSamlKeys(cx())).certificate).not.toBe(first.certificate)
})
