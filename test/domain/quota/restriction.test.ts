import { afterEach, beforeEach, expect, test } from "vitest"
import { allowedOf } from "../../../src/domain/quota/index.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate(["i1", "i2"])
})
afterEach(() => estate.close())

const refused = (made: () => Promise<unknown>, fault: object) =>
  expect((async () => made())()).rejects.toMatchObject(fault)

const set = (request: object) => estate.as("owner", "setRestrictions", request)
const shown = () => estate.as("owner", "getRestrictions")
const only = (...list: string[]) => ({ allowedLanguages: { list } })

test("what is not given stays, and an empty list allows every language again", async () => {
  expect(await shown()).toMatchObject({
    disallowPublicOrgRegistration: true,
    allowedLanguages: [],
  })
  expect(await shown()).not.toHaveProperty("details.resourceOwner")
  await set(only("de", "de"))
  await set({ disallowPublicOrgRegistration: false })
  expect(await shown()).toMatchObject({
    allowedLanguages: ["de"],
    details: { sequence: 2n, resourceOwner: "i1" },
  })
  await set(only())
  expect(await shown()).toMatchObject({
    allowedLanguages: [],
  })
})

test("setting changes something, and says what", async () => {
  await set(only("de", "en"))
  const unchanged = { code: "failed_precondition", id: "restrictions.unchanged" }
  await refused(() => set(only("de", "en")), unchanged)
  await refused(() => set({ disallowPublicOrgRegistration: true }), unchanged)
  await refused(() => set({}), { code: "invalid_argument", id: "restrictions.empty" })
  await set(only("en", "de"))
})

test.each(["sv", "de-CH", "DE", "", "constructor"])(
  "a language that no page is written in is refused: %j",
  async (language) => {
    await refused(() => set(only("de", language)), { id: "restrictions.language_unknown" })
    expect((await shown()).allowedLanguages).toEqual([])
  },
)

test("only who owns the instance sets them", async () => {
  for (const person of ["manager", "stranger", "nobody"] as const) {
    const tried = () => estate.as(person, "setRestrictions", only("de"))
    await refused(tried, { code: "permission_denied" })
    const looked = () => estate.as(person, "getRestrictions")
    await refused(looked, { code: "permission_denied" })
  }
})

test("readers get the first of theirs that is allowed, here and nowhere else", async () => {
  const here = estate.cx({ instance: "i1" })
  const there = estate.cx({ instance: "i2" })
  await set(only("de"))
  expect(allowedOf(here, ["en-GB", "de-AT"])).toEqual(["de-AT", "de"])
  expect(allowedOf(here, ["en"])).toEqual(["de"])
  expect(allowedOf(there, ["de", "sv"])).toEqual(["de", "en"])
})
