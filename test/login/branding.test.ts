import { afterEach, beforeEach, expect, test } from "vitest"
import { addPolicy, changePolicy, resetPolicy } from "../../src/domain/policy/commands.ts"
import { type Label, label } from "../../src/domain/policy/index.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../oauth/provider.ts"

let provider: Provider
let client: NewClient
beforeEach(async () => {
  provider = await openProvider()
  client = await provider.addClient()
})
afterEach(() => provider.close())

const home = () => provider.setup.orgId

const say = (values: Partial<Label>) => ({ policy: label, say: () => values })

/** The sheet that a page names beside the one that all pages have, and what is in it. */
async function sheetOn(scope = "openid") {
  const { page } = await browserOf(provider).go(authorizePath(client.id, { scope }))
  const found = /<link rel="stylesheet" href="([^"]*branding[^"]*)"/.exec(page)?.[1]
  if (found === undefined) return undefined
  const path = found.replaceAll("&amp;", "&")
  const answer = await provider.send(path)
  return { path, css: await answer.text(), headers: answer.headers, page }
}

const ofHome = () => `openid urn:core:iam:org:id:${home()}`

test("pages have their own look until somebody has said another", async () => {
  expect(await sheetOn()).toBeUndefined()
  await changePolicy(provider.cx(), undefined, say({ hideLoginNameSuffix: true }))
  expect(await sheetOn()).toBeUndefined()
})

test("what the instance says is on its pages at once, under an address of its own", async () => {
  await changePolicy(provider.cx(), undefined, say({ primaryColor: "#5B2A86" }))
  const first = await sheetOn()
  expect(first?.css).toContain("--accent:#5b2a86")
  expect(first?.headers.get("content-type")).toBe("text/css; charset=utf-8")
  expect(first?.headers.get("cache-control")).toContain("immutable")
  await changePolicy(provider.cx(), undefined, say({ themeMode: "dark", disableWatermark: true }))
  const second = await sheetOn()
  expect(second?.path).not.toBe(first?.path)
  expect(second?.css).toContain("color-scheme:dark!important")
  expect(second?.css).toContain(".mark{display:none}")
  const old = await provider.send(first?.path ?? "")
  expect(old.headers.get("cache-control")).toBe("no-cache")
})

test("an organisation has its own on the pages that are for it, until it is reset", async () => {
  await changePolicy(provider.cx(), undefined, say({ primaryColor: "#5b2a86" }))
  await addPolicy(provider.cx(), home(), say({ primaryColor: "#0b6e4f" }))
  expect((await sheetOn())?.css).toContain("#5b2a86")
  const own = await sheetOn(ofHome())
  expect(own?.css).toContain("--accent:#0b6e4f")
  await resetPolicy(provider.cx(), home(), label)
  expect((await sheetOn(ofHome()))?.css).toContain("#5b2a86")
})

test("a sheet of nobody is that of the instance, and holds nothing of its address", async () => {
  await changePolicy(provider.cx(), undefined, say({ primaryColor: "#5b2a86" }))
  const hostile = encodeURIComponent("</style><script>*{}")
  const answer = await provider.send(`/ui/login/branding.css?of=${hostile}&is=${hostile}`)
  expect(answer.status).toBe(200)
  expect(await answer.text()).not.toContain("script")
})
