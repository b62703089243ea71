import { expect, test } from "vitest"
import { setupLinks } from "../../src/server/setup/setup-links.ts"

const link = "http://localhost:8080/setup#code"
const lan = { addresses: () => ["192.0.2.7"], isContained: false }
const listenAt = (host: string) => ({ listen: { host, port: 8080 }, publicUrl: undefined })

test("the setup link has the addresses at which others reach this machine", () => {
  expect(setupLinks(link, listenAt("0.0.0.0"), lan)).toEqual([
    "http://192.0.2.7:8080/setup#code",
    link,
  ])
})

test("the setup link has localhost only if others can't reach it, or in a container", () => {
  expect(setupLinks(link, listenAt("127.0.0.1"), lan)).toEqual([link])
  expect(setupLinks(link, listenAt("0.0.0.0"), { ...lan, isContained: true })).toEqual([link])
  const socket = { listen: { path: "/run/latchkey", mode: 0o600 }, publicUrl: undefined }
  expect(setupLinks(link, socket, lan)).toEqual([link])
})

test("the setup link has only the public address if there is one", () => {
  const known = { ...listenAt("::"), publicUrl: "https://id.example.com" }
  expect(setupLinks("https://id.example.com/setup#code", known, lan)).toEqual([
    "https://id.example.com/setup#code",
  ])
})
