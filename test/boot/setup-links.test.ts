import { expect, test } from "vitest"
import { setupLinks } from "../../src/server/setup/setup-links.ts"

const link = "http://localhost:8080/setup#code"
const lan = { addresses: () => ["192.0.2.7"], isContained: false }
const at = (host: string) => ({ listen: { host, port: 8080 }, publicUrl: undefined })

test("the set-up link has the addresses by which others reach this machine", () => {
  expect(setupLinks(link, at("0.0.0.0"), lan)).toEqual(["http://192.0.2.7:8080/setup#code", link])
})

test("and only localhost where nobody else reaches it, or a container's address is no use", () => {
  expect(setupLinks(link, at("127.0.0.1"), lan)).toEqual([link])
  expect(setupLinks(link, at("0.0.0.0"), { ...lan, isContained: true })).toEqual([link])
  const socket = { listen: { path: "/run/latchkey", mode: 0o600 }, publicUrl: undefined }
  expect(setupLinks(link, socket, lan)).toEqual([link])
})

test("a public address is the only one", () => {
  const known = { ...at("::"), publicUrl: "https://id.example.com" }
  expect(setupLinks("https://id.example.com/setup#code", known, lan)).toEqual([
    "https://id.example.com/setup#code",
  ])
})
