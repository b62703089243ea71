import { afterEach, beforeEach, expect, test } from "vitest"
import { negotiateLanguages } from "../../../src/domain/quota/index.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant(["i1", "i2"])
})
afterEach(() => estate.close())

const expectFault = (created: () => Promise<unknown>, fault: object) =>
  expect((async () => created())()).rejects.toMatchObject(fault)

const setRestrictions = (request: object) => estate.as("owner", "setRestrictions", request)
const getRestrictions = () => estate.as("owner", "getRestrictions")
const onlyLanguages = (...list: string[]) => ({ allowedLanguages: { list } })

test("omitted fields stay, and an empty list allows every language again", async () => {
  expect(await getRestrictions()).toMatchObject({
    disallowPublicOrgRegistration: true,
    allowedLanguages: [],
  })
  expect(await getRestrictions()).not.toHaveProperty("details.resourceOwner")
  await setRestrictions(onlyLanguages("de", "de"))
  await setRestrictions({ disallowPublicOrgRegistration: false })
  expect(await getRestrictions()).toMatchObject({
    allowedLanguages: ["de"],
    details: { sequence: 2n, resourceOwner: "i1" },
  })
  await setRestrictions(onlyLanguages())
  expect(await getRestrictions()).toMatchObject({
    allowedLanguages: [],
  })
})

test("an update requires a change, and returns it", async () => {
  await setRestrictions(onlyLanguages("de", "en"))
  const unchanged = { code: "failed_precondition", id: "restrictions.unchanged" }
  await expectFault(() => setRestrictions(onlyLanguages("de", "en")), unchanged)
  await expectFault(() => setRestrictions({ disallowPublicOrgRegistration: true }), unchanged)
  await expectFault(() => setRestrictions({}), {
    code: "invalid_argument",
    id: "restrictions.empty",
  })
  await setRestrictions(onlyLanguages("en", "de"))
})

test.each(["sv", "de-CH", "DE", "", "constructor"])(
  "rejects an unsupported language: %j",
  async (language) => {
    await expectFault(() => setRestrictions(onlyLanguages("de", language)), {
      id: "restrictions.language_unknown",
    })
    expect((await getRestrictions()).allowedLanguages).toEqual([])
  },
)

test("only instance owners set restrictions", async () => {
  for (const person of ["manager", "stranger", "nobody"] as const) {
    const tried = () => estate.as(person, "setRestrictions", onlyLanguages("de"))
    await expectFault(tried, { code: "permission_denied" })
    const looked = () => estate.as(person, "getRestrictions")
    await expectFault(looked, { code: "permission_denied" })
  }
})

test("users get their first allowed language, on this instance only", async () => {
  const here = estate.cx({ instance: "i1" })
  const there = estate.cx({ instance: "i2" })
  await setRestrictions(onlyLanguages("de"))
  expect(negotiateLanguages(here, ["en-GB", "de-AT"])).toEqual(["de-AT", "de"])
  expect(negotiateLanguages(here, ["en"])).toEqual(["de"])
  expect(negotiateLanguages(there, ["de", "sv"])).toEqual(["de", "en"])
})
