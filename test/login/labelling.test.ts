// Whose look the pages of a request have: what the project of the application says of it, the
// organisation that the request names, and who has shown who they are. Mails have that of the
// person whom they go to, whoever had them sent.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/model.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { deactivateOrganization } from "../../src/domain/org/index.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { label } from "../../src/domain/policy/index.ts"
import {
  changeProject,
  createProject,
  type PrivateLabeling,
} from "../../src/domain/project/index.ts"
import { setText } from "../../src/domain/text/commands.ts"
import { messageTemplate } from "../../src/domain/text/message.ts"
import { lookOrgOf } from "../../src/login/look/labelling.ts"
import { runReactors } from "../../src/store/index.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../oauth/provider.ts"

const project = "p-other"
let provider: Provider
let client: NewClient
let person: string
beforeEach(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  for (const id of ["owner", "home", "named"]) await createOrganization(cx, id, { name: id })
  await createProject(cx, project, { orgId: "owner", name: "Shop" })
  client = await provider.addClient({}, project)
  person = await provider.addPerson("ada", "home")
})
afterEach(() => provider.close())

const saying = (privateLabelingSetting: PrivateLabeling) =>
  changeProject(provider.cx(), project, { privateLabelingSetting })

type Row = {
  readonly setting: PrivateLabeling
  readonly named?: string
  /** Whose look has the page of somebody unknown, and of somebody known. */
  readonly looks: readonly [string | undefined, string | undefined]
}

const rows: readonly Row[] = [
  { setting: "unspecified", looks: [undefined, undefined] },
  { setting: "project_owner", looks: ["owner", "owner"] },
  { setting: "login_user", looks: ["owner", "home"] },
  { setting: "unspecified", named: "named", looks: ["named", "named"] },
  { setting: "project_owner", named: "named", looks: ["named", "named"] },
  { setting: "login_user", named: "named", looks: ["named", "named"] },
]

test.each(rows)("$setting, asking for $named", async ({ setting, named, looks }) => {
  if (setting !== "unspecified") await saying(setting)
  const cx = provider.cx()
  const asked = { clientId: client.id, ...(named && { home: named }) }
  expect([lookOrgOf(cx, asked), lookOrgOf(cx, asked, person)]).toEqual(looks)
})

test("without a request, and for a client that is gone, pages are everybody's", () => {
  expect(lookOrgOf(provider.cx(), undefined)).toBeUndefined()
  expect(lookOrgOf(provider.cx(), { clientId: "gone" }, person)).toBeUndefined()
})

describe("on the way to an application", () => {
  const colours = { owner: "#0b6e4f", home: "#5b2a86" }
  beforeEach(async () => {
    for (const [id, primaryColor] of Object.entries(colours)) {
      await addPolicy(provider.cx(), id, { policy: label, say: () => ({ primaryColor }) })
    }
  })

  /** Whose sheet a page has. */
  const sheetOf = (page: string): string | undefined => /branding\.css\?of=([^&]+)&/.exec(page)?.[1]

  test("pages are the project's until somebody is known, then their own", async () => {
    await saying("login_user")
    const browser = browserOf(provider)
    const first = await browser.go(authorizePath(client.id))
    expect(sheetOf(first.page)).toBe("owner")
    // A name that is typed is nobody's yet: the page must not tell that there is such a person.
    const named = await browser.post(first, { loginName: "ada" })
    expect(sheetOf(named.page)).toBe("owner")
    expect(named.page).toContain("<title>Enter your password · owner")
    await browser.signIn(authorizePath(client.id), "ada")
    const again = await browser.go(authorizePath(client.id, { prompt: "login" }))
    expect(sheetOf(again.page)).toBe("home")
  })

  test("pages of an organisation that was stopped are everybody's", async () => {
    await deactivateOrganization(provider.cx(), "home")
    const scope = "openid urn:core:iam:org:id:home"
    const { page } = await browserOf(provider).go(authorizePath(client.id, { scope }))
    expect(page).toContain("<title>Sign in · Latchkey")
    expect(sheetOf(page)).toBeUndefined()
  })

  test("a link shows nobody's look, whatever organisation it names", async () => {
    const link = `/ui/login/password/set?userId=${person}&organization=owner`
    const { page } = await browserOf(provider).go(link)
    expect([sheetOf(page), page.includes("owner</title>")]).toEqual([undefined, false])
  })

  // Else whoever has an organisation could have the codes of other people sent to themself.
  test.each([
    ["whose project it is for", "openid", "owner"],
    ["that the request names", "openid urn:core:iam:org:id:named", "named"],
  ])("the organisation %s words no mail to others", async (_, scope, other) => {
    await saying("project_owner")
    const cx = provider.cx()
    const template = messageTemplate("password_reset")
    const texts = { text: "Open https://other.example/?code={{.Code}}" }
    await setText(cx, other, { template, language: "en" }, texts)
    const browser = browserOf(provider)
    const first = await browser.go(authorizePath(client.id, { scope }))
    const named = await browser.post(first, { loginName: "ada" })
    const forgot = /href="([^"]*password\/forgot[^"]*)"/.exec(named.page)?.[1] ?? ""
    const reactors = runReactors(provider.store, provider.clock, [messageReactor(() => cx)])
    await reactors.drain()
    await browser.post(await browser.go(forgot.replaceAll("&amp;", "&")), { loginName: "ada" })
    await reactors.drain()
    await reactors.stop()
    const { events } = await provider.store.log.find(0, 10_000, ["message.added"])
    const content = contentOf(cx, provider.store.state(cx, message, events.at(-1)?.id ?? ""))
    expect(content).toMatchObject({ orgId: "home", text: expect.not.stringContaining("other") })
  })
})
