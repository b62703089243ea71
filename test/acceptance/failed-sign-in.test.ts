// A failed sign-in as the operator of the server and the user see it.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { owner } from "../support/latchkey.ts"
import { until } from "../support/wait.ts"
import { openService, type Service } from "./service.ts"

let service: Service
beforeAll(async () => {
  service = await openService()
})
afterAll(() => service?.close())

const address = "198.51.100.4"
const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

const failToSignIn = (userAgent?: object) => {
  const user = { loginName: owner.loginName }
  const password = { password: "Wrong-Horse-7" }
  return service.call("CreateSession", { checks: { user, password }, userAgent })
}

test("logs one line with the address that the login page sent", async () => {
  const { status } = await failToSignIn({
    ip: address,
    header: { "User-Agent": { values: [agent] } },
  })
  expect(status).toBe(400)
  const line = /failed sign-in from '198\.51\.100\.4': 'password' of user '(\d+)'/
  const [, userId] = (await until(() => line.exec(service.output()))) ?? []
  const { failedSignIns } = await service.get("ListFailedSignIns", { userId })
  expect(failedSignIns).toMatchObject([
    { address, userAgent: agent, check: "FAILED_CHECK_PASSWORD" },
  ])
  expect(service.output()).not.toContain("Wrong-Horse")
  expect(service.output()).not.toContain("Firefox")
})

test("matches the documented fail2ban filter", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/operate/monitoring.md"), "utf8")
  const [, filter = ""] = /^failregex = (.*)$/m.exec(page) ?? []
  const wanted = new RegExp(filter.replace("<ADDR>", "(?<address>[0-9a-f.:]+)"))
  // fail2ban removes the date before it matches.
  const lines = service.output().split("\n")
  const found = lines.flatMap(
    (line) => wanted.exec(line.replace(/^\S+ \S+ \+00:00/, ""))?.groups?.address ?? [],
  )
  expect(found).toEqual([address])
})

test("logs no address if the page sends none", async () => {
  const lines = () => service.output().split("failed sign-in from").length
  const before = lines()
  await failToSignIn()
  await failToSignIn({ ip: address })
  await until(() => lines() > before)
  expect(lines()).toBe(before + 1)
})
