import { expect, test } from "vitest"
import { originWithSelfCheck } from "../../src/http/origin.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createDataKey, purposes, secretsOf } from "../../src/kernel/crypto/secret.ts"
import { createIds } from "../../src/kernel/id.ts"
import { isSelfCheck, selfCheckId } from "../../src/kernel/self-check.ts"
import {
  createSelfCheckToken,
  findSelfCheckId,
  selfCheckHeader,
} from "../../src/protocol/self-check/self-check.ts"

const master = systemRandom.bytes(32)
const rows = purposes.map((purpose) => ({
  ...createDataKey(systemRandom, master, purpose),
  active: true,
}))
const clock = manualClock(1_795_000_000_000)
const services = {
  clock,
  ids: createIds(clock),
  isProxy: () => false,
  secrets: secretsOf(systemRandom, master, rows),
}
const id = selfCheckId("7")
const withToken = (token: string) => new Headers({ [selfCheckHeader]: token })

test("self-check requests require the keys and expire soon", () => {
  const token = createSelfCheckToken(services, id)
  expect(findSelfCheckId(services, withToken(token))).toBe(id)
  expect(isSelfCheck(id)).toBe(true)
  expect(findSelfCheckId(services, new Headers())).toBeUndefined()
  expect(findSelfCheckId(services, withToken(`${token}x`))).toBeUndefined()
  expect(findSelfCheckId(services, withToken("x".repeat(9000)))).toBeUndefined()
  const other = services.secrets.seal("token", `${clock.now() + 1000} 7`, "self-check")
  expect(findSelfCheckId(services, withToken(other))).toBeUndefined()
  clock.advance(300_001)
  expect(findSelfCheckId(services, withToken(token))).toBeUndefined()
})

test("a self-check token is valid for requests of a sign-in only", () => {
  const headers = withToken(createSelfCheckToken(services, id))
  const request = new Request("https://id.example.com/", { headers })
  const route = { template: "/", group: "other" }
  const named = (isSignIn: boolean) =>
    originWithSelfCheck(services, request, { peer: () => "::1", route: { ...route, isSignIn } })
      .requestId
  expect(named(true)).toBe(id)
  expect(isSelfCheck(named(false))).toBe(false)
})
