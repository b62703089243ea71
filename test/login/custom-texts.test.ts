// Pages show the texts that an organization or the instance has customized.
import { afterEach, beforeEach, expect, test } from "vitest"
import { putText } from "../../src/domain/text/commands.ts"
import { fieldTemplate, keyTemplate } from "../../src/domain/text/login-templates.ts"
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
const textOnPage = async (more = {}) => {
  const { page } = await browserOf(provider).go(authorizePath(client.id, more))
  return page
}
const setTexts = (location: string | undefined, texts: Record<string, string>) =>
  putText(provider.cx(), location, { template: keyTemplate, language }, texts)
const setV1Texts = (location: string | undefined, texts: Record<string, string>) =>
  putText(provider.cx(), location, { template: fieldTemplate, language }, texts)

test("a page shows the instance's text, and the default once that is removed", async () => {
  expect(await textOnPage()).toContain("<h1>Sign in</h1>")
  await setV1Texts(undefined, { "loginText.title": "Come {in} & <b>be</b>" })
  expect(await textOnPage()).toContain("<h1>Come {in} &amp; &lt;b&gt;be&lt;/b&gt;</h1>")
  expect(await textOnPage({ ui_locales: "de" })).toContain("<h1>Anmelden</h1>")
  await setTexts(undefined, { "login_name.title": "Here we go" })
  expect(await textOnPage()).toContain("<h1>Here we go</h1>")
  await setTexts(undefined, {})
  await setV1Texts(undefined, {})
  expect(await textOnPage()).toContain("<h1>Sign in</h1>")
})

test("an organization's page shows its text, and other pages don't", async () => {
  await setTexts(provider.setup.orgId, { "login_name.title": "Welcome to Acme" })
  await setTexts(undefined, { "login_name.submit": "Onwards" })
  const ours = await textOnPage({ scope: `openid urn:core:iam:org:id:${provider.setup.orgId}` })
  expect(ours).toContain("<h1>Welcome to Acme</h1>")
  expect(ours).toContain("Onwards")
  const others = await textOnPage()
  expect(others).not.toContain("Acme</h1>")
  expect(others).toContain("Onwards")
})

test("a value is inserted at its placeholder", async () => {
  await setTexts(undefined, { "login_name.lead_application": "{$application} waits for you" })
  expect(await textOnPage()).toContain("Example App waits for you")
})
