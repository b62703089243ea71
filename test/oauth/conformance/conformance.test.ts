import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { tableOf } from "../../contract/table.ts"
import { coreModules } from "./core.ts"
import { dynamicModules } from "./dynamic.ts"
import { logoutModules } from "./logout.ts"
import { notifiedLogoutModules } from "./notified-logout.ts"
import { openRelyingParty, type RelyingParty, type Variant } from "./relying-party.ts"

/** The OpenID Foundation's modules that are implemented here, with the same names. */
const modules = { ...coreModules, ...logoutModules, ...notifiedLogoutModules, ...dynamicModules }

type Plan = { readonly variant: Variant; readonly size: number }

const code = { responseType: "code" } as const
const idToken = { responseType: "id_token" } as const
const idTokenAndToken = { responseType: "id_token token" } as const
const responseMode = "form_post" as const

const plans: Readonly<Record<string, Plan>> = {
  Basic: { variant: code, size: 38 },
  Config: { variant: code, size: 1 },
  "RP-Initiated Logout": { variant: code, size: 11 },
  "Front-Channel Logout": { variant: code, size: 2 },
  "Back-Channel Logout": { variant: code, size: 2 },
  "Implicit (id_token token)": { variant: idTokenAndToken, size: 31 },
  // The same without userinfo, because there is no access token.
  "Implicit (id_token)": { variant: idToken, size: 28 },
  Dynamic: { variant: { ...code, isDynamic: true }, size: 24 },
  "Form Post Basic": { variant: { ...code, responseMode }, size: 35 },
  "Form Post Implicit (id_token token)": {
    variant: { ...idTokenAndToken, responseMode },
    size: 30,
  },
  "Form Post Implicit (id_token)": { variant: { ...idToken, responseMode }, size: 27 },
}

/** The modules of the suite's presets Basic and Form Post Basic with static clients. */
const inBothPresets = [
  "oidcc-server",
  "oidcc-server-client-secret-post",
  "oidcc-response-type-missing",
  "oidcc-idtoken-signature",
  "oidcc-userinfo-get",
  "oidcc-userinfo-post-header",
  "oidcc-userinfo-post-body",
  "oidcc-scope-profile",
  "oidcc-scope-email",
  "oidcc-scope-address",
  "oidcc-scope-phone",
  "oidcc-scope-all",
  "oidcc-alternate-happy-flow",
  "oidcc-display-page",
  "oidcc-display-popup",
  "oidcc-prompt-login",
  "oidcc-prompt-none-not-logged-in",
  "oidcc-prompt-none-logged-in",
  "oidcc-max-age-1",
  "oidcc-max-age-10000",
  "oidcc-ensure-request-with-unknown-parameter-succeeds",
  "oidcc-id-token-hint",
  "oidcc-login-hint",
  "oidcc-ui-locales",
  "oidcc-claims-locales",
  "oidcc-ensure-request-with-acr-values-succeeds",
  "oidcc-codereuse",
  "oidcc-codereuse-30seconds",
  "oidcc-ensure-registered-redirect-uri",
  "oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported",
  "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
  "oidcc-ensure-request-object-with-redirect-uri",
  "oidcc-claims-essential",
  "oidcc-refresh-token",
  "oidcc-ensure-request-with-valid-pkce-succeeds",
]

/** The modules of Basic that Form Post Basic omits. */
const inBasicAlone = [
  "oidcc-idtoken-unsigned",
  "oidcc-ensure-request-without-nonce-succeeds-for-code-flow",
  "oidcc-ensure-post-request-succeeds",
]

/** Every module of every plan runs, or has a reason why it doesn't apply. */
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

  test("has the modules of both presets with static clients, by the suite's names", () => {
    const of = (name: string) => rows.flatMap(({ plan, module }) => (plan === name ? module : []))
    expect(of("Basic").toSorted()).toEqual([...inBothPresets, ...inBasicAlone].toSorted())
    expect(of("Form Post Basic").toSorted()).toEqual(inBothPresets.toSorted())
    // Only one doesn't apply: no client can have unsigned ID tokens.
    const skipped = rows.filter(({ plan, reason }) => plan.endsWith("Basic") && reason !== "")
    expect(skipped.map(({ module }) => module)).toEqual(["oidcc-idtoken-unsigned"])
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
