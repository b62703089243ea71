// The branding of a request's pages depends on the private labeling setting of the application's
// project, the organization that the request names, and the signed-in user. Emails have the
// branding of the recipient's organization, regardless of the sender.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { contentOf } from "../../src/domain/message/content.ts"
import { message } from "../../src/domain/message/model.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { deactivateOrganization } from "../../src/domain/org/index.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { label } from "../../src/domain/policy/index.ts"
import {
  createProject,
  type PrivateLabeling,
  updateProject,
} from "../../src/domain/project/index.ts"
import { setText } from "../../src/domain/text/commands.ts"
import { messageTemplate } from "../../src/domain/text/message.ts"
import { brandingOrgOf } from "../../src/login/appearance/private-labeling.ts"
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

const setLabeling = (privateLabelingSetting: PrivateLabeling) =>
  updateProject(provider.cx(), project, { privateLabelingSetting })

type Row = {
  readonly setting: PrivateLabeling
  readonly named?: string
  /** The owner of the branding on pages for an unknown user, and for a known user. */
  readonly brandings: readonly [string | undefined, string | undefined]
}

const rows: readonly Row[] = [
  { setting: "unspecified", brandings: [undefined, undefined] },
  { setting: "project_owner", brandings: ["owner", "owner"] },
  { setting: "login_user", brandings: ["owner", "home"] },
  { setting: "unspecified", named: "named", brandings: ["named", "named"] },
  { setting: "project_owner", named: "named", brandings: ["named", "named"] },
  { setting: "login_user", named: "named", brandings: ["named", "named"] },
]

test.each(rows)(
  "$setting, with organization $named",
  async ({ setting, named, brandings: looks }) => {
    if (setting !== "unspecified") await setLabeling(setting)
    const cx = provider.cx()
    const asked = { clientId: client.id, ...(named && { home: named }) }
    expect([brandingOrgOf(cx, asked), brandingOrgOf(cx, asked, person)]).toEqual(looks)
  },
)

test("without a request, and for a deleted client, pages have the instance's branding", () => {
  expect(brandingOrgOf(provider.cx(), undefined)).toBeUndefined()
  expect(brandingOrgOf(provider.cx(), { clientId: "gone" }, person)).toBeUndefined()
})

describe("on the way to an application", () => {
  const colours = { owner: "#0b6e4f", home: "#5b2a86" }
  beforeEach(async () => {
    for (const [id, primaryColor] of Object.entries(colours)) {
      await addPolicy(provider.cx(), id, { policy: label, apply: () => ({ primaryColor }) })
    }
  })

  /** The owner of a page's style sheet. */
  const sheetOf = (page: string): string | undefined => /branding\.css\?of=([^&]+)&/.exec(page)?.[1]

  test("pages have the project's branding until the user is known, then the user's", async () => {
    await setLabeling("login_user")
    const browser = browserOf(provider)
    const first = await browser.go(authorizePath(client.id))
    expect(sheetOf(first.page)).toBe("owner")
    // An entered name is not verified: the page must not reveal that the user exists.
    const named = await browser.post(first, { loginName: "ada" })
    expect(sheetOf(named.page)).toBe("owner")
    expect(named.page).toContain("<title>Enter your password · owner")
    await browser.signIn(authorizePath(client.id), "ada")
    const again = await browser.go(authorizePath(client.id, { prompt: "login" }))
    expect(sheetOf(again.page)).toBe("home")
  })

  test("pages of a deactivated organization have the instance's branding", async () => {
    await deactivateOrganization(provider.cx(), "home")
    const scope = "openid urn:core:iam:org:id:home"
    const { page } = await browserOf(provider).go(authorizePath(client.id, { scope }))
    expect(page).toContain("<title>Sign in · Latchkey")
    expect(sheetOf(page)).toBeUndefined()
  })

  test("a link shows the default branding, whatever organization it names", async () => {
    const link = `/ui/login/password/set?userId=${person}&organization=owner`
    const { page } = await browserOf(provider).go(link)
    expect([sheetOf(page), page.includes("owner</title>")]).toEqual([undefined, false])
  })

  // Otherwise an organization could have other users' codes sent to itself.
  test.each([
    ["whose project it is for", "openid", "owner"],
    ["that the request names", "openid urn:core:iam:org:id:named", "named"],
  ])("the organization %s changes no email to other users", async (_, scope, other) => {
    await setLabeling("project_owner")
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
