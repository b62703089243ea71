// The actions of users and administrators read every policy field; see also policies.test.ts.
import { TOTP } from "otpauth"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { firstPasswordIn, passwordFor, setPassword } from "../../src/domain/credential/commands.ts"
import { registerTotp, verifyTotp } from "../../src/domain/factor/totp.ts"
import { messageReactor } from "../../src/domain/message/reactor.ts"
import { addProvider } from "../../src/domain/message-provider/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { addDomain, org } from "../../src/domain/org/index.ts"
import { addPolicy, changePolicy } from "../../src/domain/policy/commands.ts"
import {
  domainPolicy,
  findPolicy,
  type Label,
  label,
  lockout,
  login,
  notification,
  passwordAge,
  passwordComplexity,
  privacy,
} from "../../src/domain/policy/index.ts"
import { canRename } from "../../src/domain/user/login-name.ts"
import { findByLoginName } from "../../src/domain/user-lookup/find-name.ts"
import * as pb from "../../src/gen/core/policy/v1/policy_pb.ts"
import { appearanceOf } from "../../src/login/appearance/branding.ts"
import { accountOf } from "../../src/login/context.ts"
import { runReactors } from "../../src/store/index.ts"
import { createBrandingStylesheet } from "../../ui/kit/branding.ts"
import {
  authorizePath,
  browserOf,
  type NewClient,
  openProvider,
  type Provider,
} from "../oauth/provider.ts"
import { type PolicyReads, recordPolicyReads } from "../support/policy-reads.ts"
import { tableOf } from "./table.ts"

const policies = {
  DomainPolicy: [pb.DomainPolicySchema, domainPolicy],
  LockoutPolicy: [pb.LockoutPolicySchema, lockout],
  LoginPolicy: [pb.LoginPolicySchema, login],
  NotificationPolicy: [pb.NotificationPolicySchema, notification],
  PasswordAgePolicy: [pb.PasswordAgePolicySchema, passwordAge],
  PasswordComplexityPolicy: [pb.PasswordComplexityPolicySchema, passwordComplexity],
  PrivacyPolicy: [pb.PrivacyPolicySchema, privacy],
} as const

const golden = tableOf("test/contract/policies.tsv")

/** Internal names that differ from the field's name. */
const internalNames: Readonly<Record<string, string>> = { passwordlessType: "allowPasswordless" }

/** Fields that are not values of the policy, and why. */
const otherFields: Readonly<Record<string, string>> = {
  details: "says when the policy was changed, and whose it is",
  isDefault: "says whether the place says anything of its own",
  idps: "is a list of its own; test/domain/idp/idp.test.ts shows its effect",
}

let provider: Provider
let client: NewClient
let reads: PolicyReads
beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  reads = recordPolicyReads(Object.values(policies).map(([, policy]) => policy))
  for (const act of Object.values(userActions)) await act()
})
afterAll(async () => {
  reads.stop()
  await provider.close()
})

const cx = () => provider.cx()
const path = (more = {}) => authorizePath(client.id, more)

/** The actions of users and administrators. */
const userActions = {
  "sign in, wrongly at first": async () => {
    await provider.addPerson("nina")
    await browserOf(provider).signIn(path(), "nina", "Wrong-Horse-7")
    const browser = browserOf(provider)
    await browser.signIn(path(), "nina@example.org")
    await browser.go("/ui/login/signedin")
  },
  "confirm it with a code that is wrong": async () => {
    const id = await provider.addPerson("tom")
    const { secret } = await registerTotp(cx(), id, { issuer: "Home", label: "tom" })
    const timestamp = provider.clock.now() - 30_000
    await verifyTotp(cx(), id, new TOTP({ secret }).generate({ timestamp }))
    const browser = browserOf(provider)
    await browser.post(await browser.signIn(path(), "tom"), { code: "000000" })
  },
  "create an account with an address of another organization": async () => {
    await createOrganization(cx(), "other", { name: "Other" })
    await addPolicy(cx(), undefined, { policy: login, apply: () => ({ allowRegister: true }) })
    const browser = browserOf(provider)
    const first = await browser.go(path())
    const [, href = ""] = /href="([^"]*login\/register[^"]*)"/.exec(first.page) ?? []
    const form = await browser.go(href.replaceAll("&amp;", "&"))
    const { primaryDomain } = cx().store.state(cx(), org, "other")
    const given = { givenName: "Rita", familyName: "R", email: `rita@${primaryDomain}` }
    await browser.post(form, given)
  },
  "choose passwords": async () => {
    const id = await provider.addPerson("paul")
    const names = ["paul"]
    await firstPasswordIn(cx(), provider.setup.orgId, "Another-Horse-8", { names })
    const next = await passwordFor(cx(), id, "Another-Horse-9", { names, previousHashes: [] })
    const reactors = runReactors(provider.store, provider.clock, [
      messageReactor((instance) => cx2(instance)),
    ])
    await reactors.drain()
    await setPassword(cx(), id, next)
    await reactors.drain()
    await reactors.stop()
  },
  "name people and domains": async () => {
    canRename(cx(), provider.setup.orgId)
    await addDomain(cx(), provider.setup.orgId, { domain: "shop.example", isUsed: () => false })
    const server = {
      host: "mail.example.com",
      tls: true,
      user: "",
      auth: { kind: "none" },
    } as const
    const sender = { senderAddress: "a@example.com", senderName: "A", replyToAddress: "" }
    const settings = { kind: "smtp", description: "", ...sender, ...server } as const
    await addProvider(cx(), "email", { settings })
  },
} as const

const cx2 = (instance: string) => provider.cx({ instance })

describe.each(Object.entries(policies))("%s", (_, [schema, policy]) => {
  const fields = schema.fields.map(({ localName }) => localName)
  const values = fields.filter((name) => !(name in otherFields))

  test.each(values)("%s is read by the file that the table names", (field) => {
    const inside = internalNames[field] ?? field
    const seen = [...(reads.seen.get(`${policy.kind}.${inside}`) ?? [])]
    const name = schema.fields.find(({ localName }) => localName === field)?.name
    const row = golden.find((each) => each.policy === schema.name && each.field === name)
    const [asked = "", as = inside] = row?.asked?.split("#") ?? []
    expect(seen).toContain(asked)
    expect(as).toBe(inside)
  })
})

describe("LabelPolicy", () => {
  /** Values that differ from the defaults. */
  const other: Readonly<Record<keyof Label, string | boolean>> = {
    primaryColor: "#112233",
    backgroundColor: "#223344",
    warnColor: "#881111",
    fontColor: "#334455",
    primaryColorDark: "#aabbcc",
    backgroundColorDark: "#010203",
    warnColorDark: "#ff8888",
    fontColorDark: "#eeeedd",
    hideLoginNameSuffix: true,
    disableWatermark: true,
    themeMode: "dark",
    logo: "logo-1",
    logoDark: "logo-2",
    icon: "icon-1",
    iconDark: "icon-2",
    font: "font-1",
  }
  const names = pb.LabelPolicySchema.fields
    .map(({ localName }) => localName.replace(/^(logo|icon|font)Url/, "$1"))
    .filter((name) => !(name in otherFields))

  /** The content of a page without the version of its style sheet. */
  async function shownWith(values: Partial<Label>): Promise<string> {
    const say = () => ({ ...label.standard, logo: "logo-0", icon: "icon-0", ...values })
    await changePolicy(cx(), undefined, { policy: label, apply: say }).catch(() =>
      addPolicy(cx(), undefined, { policy: label, apply: say }),
    )
    const { values: said } = findPolicy(cx(), undefined, label)
    const { sheet: _, ...look } = appearanceOf(cx(), undefined, "en")
    const userId = findByLoginName(cx(), "nina@example.org") ?? ""
    return JSON.stringify([createBrandingStylesheet(said), look, accountOf(cx(), userId)])
  }

  beforeAll(() =>
    addPolicy(cx(), undefined, {
      policy: domainPolicy,
      apply: () => ({ userLoginMustBeDomain: true }),
    }),
  )

  test.each(names)("%s changes the pages", async (name) => {
    expect(Object.keys(other)).toContain(name)
    const before = await shownWith({})
    expect(await shownWith({ [name]: Reflect.get(other, name) })).not.toBe(before)
  })
})

test("each value of a policy has a field", () => {
  const missing = Object.values(policies).flatMap(([schema, policy]) => {
    const fields = schema.fields.map(({ localName }) => internalNames[localName] ?? localName)
    return Object.keys(policy.standard).filter((name) => !fields.includes(name))
  })
  expect(missing).toEqual([])
})
