// The pages say what an organisation, or the instance, says otherwise.
import { afterEach, beforeEach, expect, test } from "vitest"
import { putText } from "../../src/domain/text/commands.ts"
import { fieldTemplate, keyTemplate } from "../../src/domain/text/login.ts"
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

const language = "en"
const onPage = async (more = {}) => {
  const { page } = await browserOf(provider).go(authorizePath(client.id, more))
  return page
}
const say = (place: string | undefined, texts: Record<string, string>) =>
  putText(provider.cx(), place, { template: keyTemplate, language }, texts)
const sayOlder = (place: string | undefined, texts: Record<string, string>) =>
  putText(provider.cx(), place, { template: fieldTemplate, language }, texts)

test("a page says what the instance says, and again ours once that is taken back", async () => {
  expect(await onPage()).toContain("<h1>Sign in</h1>")
  await sayOlder(undefined, { "loginText.title": "Come {in} & <b>be</b>" })
  expect(await onPage()).toContain("<h1>Come {in} &amp; &lt;b&gt;be&lt;/b&gt;</h1>")
  expect(await onPage({ ui_locales: "de" })).toContain("<h1>Anmelden</h1>")
  await say(undefined, { "login_name.title": "Here we go" })
  expect(await onPage()).toContain("<h1>Here we go</h1>")
  await say(undefined, {})
  await sayOlder(undefined, {})
  expect(await onPage()).toContain("<h1>Sign in</h1>")
})

test("a page of an organisation says what that says, and no other page does", async () => {
  await say(provider.setup.orgId, { "login_name.title": "Welcome to Acme" })
  await say(undefined, { "login_name.submit": "Onwards" })
  const ours = await onPage({ scope: `openid urn:core:iam:org:id:${provider.setup.orgId}` })
  expect(ours).toContain("<h1>Welcome to Acme</h1>")
  expect(ours).toContain("Onwards")
  const others = await onPage()
  expect(others).not.toContain("Acme</h1>")
  expect(others).toContain("Onwards")
})

test("a value stands where its text puts it", async () => {
  await say(undefined, { "login_name.lead_application": "{$application} waits for you" })
  expect(await onPage()).toContain("Example App waits for you")
})
