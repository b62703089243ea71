import { expect, test } from "vitest"
import { checkedOrigin } from "../../src/http/origin.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import { createDataKey, purposes, secretsOf } from "../../src/kernel/crypto/secret.ts"
import { idsOf } from "../../src/kernel/id.ts"
import { isSelfCheck, selfCheckId } from "../../src/kernel/self-check.ts"
import {
  selfCheckHeader,
  selfCheckIn,
  selfCheckToken,
} from "../../src/protocol/self-check/self-check.ts"

const master = systemRandom.bytes(32)
const rows = purposes.map((purpose) => ({
  ...createDataKey(systemRandom, master, purpose),
  active: true,
}))
const clock = manualClock(1_795_000_000_000)
const services = {
  clock,
  ids: idsOf(clock),
  isProxy: () => false,
  secrets: secretsOf(systemRandom, master, rows),
}
const id = selfCheckId("7")
const withToken = (token: string) => new Headers({ [selfCheckHeader]: token })

test("only who has the keys names requests as those of a self-check, and not for long", () => {
  const token = selfCheckToken(services, id)
  expect(selfCheckIn(services, withToken(token))).toBe(id)
  expect(isSelfCheck(id)).toBe(true)
  expect(selfCheckIn(services, new Headers())).toBeUndefined()
  expect(selfCheckIn(services, withToken(`${token}x`))).toBeUndefined()
  expect(selfCheckIn(services, withToken("x".repeat(9000)))).toBeUndefined()
  const other = services.secrets.seal("token", `${clock.now() + 1000} 7`, "self-check")
  expect(selfCheckIn(services, withToken(other))).toBeUndefined()
  clock.advance(300_001)
  expect(selfCheckIn(services, withToken(token))).toBeUndefined()
})

test("it names the requests of a sign-in, and of nothing else", () => {
  const headers = withToken(selfCheckToken(services, id))
  const request = new Request("https://id.example.com/", { headers })
  const route = { template: "/", group: "other" }
  const named = (isSignIn: boolean) =>
    checkedOrigin(services, request, { peer: () => "::1", route: { ...route, isSignIn } }).requestId
  expect(named(true)).toBe(id)
  expect(isSelfCheck(named(false))).toBe(false)
})
