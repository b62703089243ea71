import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { tableOf } from "../../contract/table.ts"
import { coreModules } from "./core.ts"
import { dynamicModules } from "./dynamic.ts"
import { logoutModules } from "./logout.ts"
import { openRelyingParty, type RelyingParty, type Variant } from "./relying-party.ts"
import { toldLogoutModules } from "./told-logout.ts"

/** The OpenID Foundation's modules that are built here, by the names that they have there. */
const modules = { ...coreModules, ...logoutModules, ...toldLogoutModules, ...dynamicModules }

type Plan = { readonly variant: Variant; readonly size: number }

const code = { responseType: "code" } as const
const idToken = { responseType: "id_token" } as const
const both = { responseType: "id_token token" } as const
const responseMode = "form_post" as const

const plans: Readonly<Record<string, Plan>> = {
  Basic: { variant: code, size: 38 },
  Config: { variant: code, size: 1 },
  "RP-Initiated Logout": { variant: code, size: 11 },
  "Front-Channel Logout": { variant: code, size: 2 },
  "Back-Channel Logout": { variant: code, size: 2 },
  "Implicit (id_token token)": { variant: both, size: 31 },
  // The same without userinfo: there is no access token.
  "Implicit (id_token)": { variant: idToken, size: 28 },
  Dynamic: { variant: { ...code, isDynamic: true }, size: 24 },
  "Form Post Basic": { variant: { ...code, responseMode }, size: 35 },
  "Form Post Implicit (id_token token)": { variant: { ...both, responseMode }, size: 30 },
  "Form Post Implicit (id_token)": { variant: { ...idToken, responseMode }, size: 27 },
}

/** Every module of every plan: it runs, or says why it can't apply. */
const rows = tableOf("test/oauth/conformance/plans.tsv").map((row) => {
  expect(Object.keys(row)).toEqual(["plan", "module", "reason"])
  const { plan = "", module = "", reason = "" } = row
  return { plan, module, reason }
})

describe("the table of plans", () => {
  test("has every module of every plan once", () => {
    const names = rows.map(({ plan, module }) => `${plan}: ${module}`)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
    const sizes = Object.keys(plans).map((name) => [
      name,
      rows.filter(({ plan }) => plan === name).length,
    ])
    expect(sizes).toEqual(Object.entries(plans).map(([name, { size }]) => [name, size]))
    expect(rows.filter(({ plan }) => !(plan in plans))).toEqual([])
  })

  test("has a test or a reason in every row", () => {
    const bare = rows.filter(({ module, reason }) => !(module in modules) && reason === "")
    expect(bare).toEqual([])
    const thin = rows.filter(({ reason }) => reason !== "" && reason.split(" ").length < 4)
    expect(thin).toEqual([])
  })
})

describe.each(Object.entries(plans))("%s", (name, { variant }) => {
  let rp: RelyingParty
  beforeAll(async () => {
    rp = await openRelyingParty(variant)
  })
  afterAll(() => rp.provider.close())

  const run = rows.filter(({ plan, reason }) => plan === name && reason === "")
  test.each(run.map(({ module }) => module))("%s", async (module) => {
    await modules[module]?.(rp)
  })
})
